//! The archive's bytes on their way in: counted, digested, reported, and stoppable.
//!
//! Only this module reads. It never asks the reader for more than it needs, so a failed download ends
//! the extraction with the download's error, not with the truncation that it causes. An end of the
//! stream where bytes were due is `is_truncated`.

use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest as _, Sha256};

use crate::entry::Progress;
use crate::error::{Class, Error, Result};

/// Bytes handed out at once: bounds the time to notice a cancellation, and keeps the digest's bytes
/// in the processor's cache when the reader is one huge slice.
const SLICE_BYTES: usize = 64 << 10;

/// Bytes between two progress reports.
const REPORT_BYTES: u64 = 256 << 10;

pub(crate) struct Input<'a> {
    reader: &'a mut dyn BufRead,
    offset: u64,
    /// Bytes of the reader's buffer that are digested but not consumed.
    digested: usize,
    sha256: Option<Sha256>,
    cancel: Option<&'a AtomicBool>,
    progress: Option<&'a mut dyn FnMut(Progress)>,
    reported: u64,
}

impl<'a> Input<'a> {
    pub(crate) fn new(reader: &'a mut dyn BufRead) -> Self {
        Self::at(reader, 0)
    }

    /// An input whose next byte is byte `offset` of the archive.
    pub(crate) fn at(reader: &'a mut dyn BufRead, offset: u64) -> Self {
        Self {
            reader,
            offset,
            digested: 0,
            sha256: None,
            cancel: None,
            progress: None,
            reported: offset,
        }
    }

    pub(crate) fn watch(
        &mut self,
        digest: bool,
        cancel: Option<&'a AtomicBool>,
        progress: Option<&'a mut dyn FnMut(Progress)>,
    ) {
        self.sha256 = digest.then(Sha256::new);
        self.cancel = cancel;
        self.progress = progress;
    }

    /// The byte of the archive that comes next.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Some bytes that come next; none at the end of the archive.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        self.check_cancel()?;
        let offset = self.offset;
        let bytes = fill(self.reader).map_err(|error| Error::read(error).at(offset))?;
        let bytes = &bytes[..bytes.len().min(SLICE_BYTES)];
        if let (Some(sha256), true) = (&mut self.sha256, bytes.len() > self.digested) {
            sha256.update(&bytes[self.digested..]);
            self.digested = bytes.len();
        }
        Ok(bytes)
    }

    /// Takes `count` of the bytes that `peek` showed.
    pub(crate) fn consume(&mut self, count: usize) {
        self.reader.consume(count);
        self.digested = self.digested.saturating_sub(count);
        self.offset += count as u64;
        if self.offset - self.reported >= REPORT_BYTES {
            self.report();
        }
    }

    /// Fills `out` unless the archive ends first; returns the count.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            let bytes = self.peek()?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.len().min(out.len() - filled);
            out[filled..filled + count].copy_from_slice(&bytes[..count]);
            self.consume(count);
            filled += count;
        }
        Ok(filled)
    }

    /// Fills `out`.
    pub(crate) fn read_exact(&mut self, out: &mut [u8]) -> Result<()> {
        if self.read(out)? == out.len() { Ok(()) } else { Err(self.truncated()) }
    }

    /// Replaces the content of `out` by `count` bytes.
    pub(crate) fn read_into(&mut self, out: &mut Vec<u8>, count: usize) -> Result<()> {
        out.clear();
        out.resize(count, 0);
        self.read_exact(out)
    }

    #[cold]
    pub(crate) fn truncated(&self) -> Error {
        Error::new(Class::Truncated, "the archive ends too early").at(self.offset)
    }

    /// Reads to the end, which must be all zeros; returns how many there were.
    pub(crate) fn drain_zeros(&mut self, max: u64) -> Result<u64> {
        let start = self.offset;
        loop {
            let at = self.offset;
            let bytes = self.peek()?;
            let count = bytes.len();
            if count == 0 {
                self.report();
                return Ok(at - start);
            }
            let garbage = bytes.iter().position(|&byte| byte != 0).map(|first| at + first as u64);
            self.consume(count);
            let excess = (self.offset - start > max).then_some(start + max);
            if let Some(first) = garbage.or(excess) {
                let what = "there are bytes after the end of the archive";
                return Err(Error::new(Class::Corrupt, what).at(first));
            }
        }
    }

    /// Reads to the end, whatever comes.
    pub(crate) fn drain(&mut self) -> Result<()> {
        loop {
            let count = self.peek()?.len();
            if count == 0 {
                self.report();
                return Ok(());
            }
            self.consume(count);
        }
    }

    /// The digest of everything that was read, if it was asked for.
    pub(crate) fn take_sha256(&mut self) -> Option<[u8; 32]> {
        self.sha256.take().map(|sha256| sha256.finalize().into())
    }

    fn check_cancel(&self) -> Result<()> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => {
                Err(Error::new(Class::Cancelled, "the caller stopped the extraction"))
            }
            _ => Ok(()),
        }
    }

    fn report(&mut self) {
        self.reported = self.offset;
        if let Some(progress) = &mut self.progress {
            progress(Progress { archive_bytes: self.offset });
        }
    }
}

/// `fill_buf`, repeated when a signal interrupts it.
fn fill(reader: &mut dyn BufRead) -> io::Result<&[u8]> {
    loop {
        match reader.fill_buf() {
            Ok([]) => return Ok(&[]),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The buffer holds something now, so this cannot read: it returns what the first call saw.
    reader.fill_buf()
}
