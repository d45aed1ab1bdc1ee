//! The bytes of one entry: stored or deflated, verified against all that is known when they end.

use flate2::{Decompress, FlushDecompress, Status};

use super::layout::Signature;
use super::local::{Local, STORED};
use super::{descriptor, end};
use crate::entry::Done;
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::Body;

pub(crate) struct Data<'a, 'i> {
    input: &'a mut Input<'i>,
    inflate: &'a mut Decompress,
    local: &'a Local,
    start: u64,
    /// Compressed bytes that may still be read; unknown when a descriptor will tell.
    left: Option<u64>,
    produced: u64,
    ended: bool,
    /// Compressed size and the signature behind the entry, once it was finished.
    behind: (u64, Signature),
}

impl<'a, 'i> Data<'a, 'i> {
    /// `packed` is the compressed size if it is known.
    pub(crate) fn new(
        input: &'a mut Input<'i>,
        inflate: &'a mut Decompress,
        local: &'a Local,
        packed: Option<u64>,
    ) -> Result<Self> {
        if local.method == STORED && packed.is_none() {
            let what = "the size of a stored entry is only in its data descriptor";
            return Err(Error::new(Class::NeedsSeek, what));
        }
        inflate.reset(false);
        let start = input.offset();
        let behind = (0, [0; 4]);
        Ok(Self { input, inflate, local, start, left: packed, produced: 0, ended: false, behind })
    }

    fn fill_stored(&mut self, out: &mut [u8]) -> Result<usize> {
        let left = self.left.unwrap_or(0);
        let count = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        self.input.read_exact(&mut out[..count])?;
        self.left = Some(left - count as u64);
        Ok(count)
    }

    fn fill_deflated(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.ended {
            filled += self.inflate_some(&mut out[filled..])?;
        }
        Ok(filled)
    }

    fn inflate_some(&mut self, out: &mut [u8]) -> Result<usize> {
        let at = self.input.offset();
        let bytes = self.input.peek()?;
        let available = bytes.len();
        let allowed = self.left.map_or(available, |left| cap(available, left));
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(&bytes[..allowed], out, FlushDecompress::None)
            .map_err(|_| corrupt("the deflate stream is invalid").at(at))?;
        let consumed = self.inflate.total_in() - before_in;
        let produced = self.inflate.total_out() - before_out;
        self.ended = status == Status::StreamEnd;
        self.input.consume(cap(allowed, consumed));
        self.left = self.left.map(|left| left - consumed);
        if consumed == 0 && produced == 0 && !self.ended {
            return Err(self.stalled(available));
        }
        Ok(cap(out.len(), produced))
    }

    #[cold]
    fn stalled(&self, available: usize) -> Error {
        if available == 0 {
            return self.input.truncated();
        }
        corrupt("the deflate stream is longer than the compressed size").at(self.input.offset())
    }

    fn check_size(&mut self, count: usize) -> Result<()> {
        self.produced += count as u64;
        match self.local.size_known() {
            Some(size) if self.produced > size => {
                let found = "more";
                Err(Error::mismatch(Class::Corrupt, "size of the entry", size, found)
                    .at(self.input.offset()))
            }
            _ => Ok(()),
        }
    }

    /// The compressed size, and the signature of the record behind the entry; valid after `finish`.
    pub(crate) fn behind(&self) -> (u64, Signature) {
        self.behind
    }
}

impl Body for Data<'_, '_> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let count = match self.local.method {
            STORED => self.fill_stored(out),
            _ => self.fill_deflated(out),
        }?;
        self.check_size(count)?;
        Ok(count)
    }

    fn finish(&mut self, done: &Done) -> Result<()> {
        let offset = self.input.offset();
        self.check(done).map_err(|error| error.at(offset))?;
        let packed = offset - self.start;
        let next = if self.local.has_descriptor() {
            descriptor::read(self.input, done, packed)?
        } else {
            end::read_signature(self.input)?
        };
        self.behind = (packed, next);
        Ok(())
    }

    fn offset(&self) -> u64 {
        self.input.offset()
    }
}

impl Data<'_, '_> {
    fn check(&self, done: &Done) -> Result<()> {
        if let Some(left) = self.left.filter(|&left| left != 0) {
            let found = format!("{left} more bytes");
            let what = "end of the deflate stream";
            return Err(Error::mismatch(Class::Corrupt, what, "end of the entry", found));
        }
        if let Some(size) = self.local.size_known().filter(|&size| size != done.size) {
            return Err(Error::mismatch(Class::Corrupt, "size of the entry", size, done.size));
        }
        let told = !self.local.has_descriptor() || self.local.crc32 != 0;
        match done.crc32 {
            Some(found) if told && found != self.local.crc32 => {
                let expected = format!("{:08x}", self.local.crc32);
                let found = format!("{found:08x}");
                Err(Error::mismatch(Class::Corrupt, "checksum of the entry", expected, found))
            }
            _ => Ok(()),
        }
    }
}

/// `count`, at most `max`; lossless because `max` fits.
fn cap(max: usize, count: u64) -> usize {
    usize::try_from(count).map_or(max, |count| count.min(max))
}

#[cold]
fn corrupt(what: &'static str) -> Error {
    Error::new(Class::Corrupt, what)
}
