//! Conda packages: a zip of stored members, of which two are tars in Zstandard.
//!
//! The one documented exception to "never recurse": the members have fixed names, each may occur once,
//! and nothing inside them is opened again. Both tars unpack into one tree; the zip's own names never
//! become paths.

use super::data::Data;
use super::entry::{measured, read_header};
use super::layout::Signature;
use super::read::{check_settled, read_locals};
use super::{directory, local};
use crate::entry::{Done, EntryId};
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::{Body as _, Job};
use crate::scratch::Scratch;
use crate::sink::{Sink, VerifySink};
use crate::tar::{self, Upstream as _};

/// Bytes that the description of the format may have.
const METADATA_BYTES_MAX: u64 = 64 << 10;

/// A member of the zip, as a decoder reads it.
struct Member<'a, 'b, 'i> {
    data: &'a mut Data<'b, 'i>,
    crc32: crc32fast::Hasher,
    size: u64,
    peeked: Option<u8>,
}

/// Which members were seen: each may occur once.
#[derive(Default)]
struct Seen {
    metadata: bool,
    package: bool,
    info: bool,
}

/// Reads a conda package from front to back.
pub(crate) fn conda<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    scratch.table.clear();
    scratch.names.reset(job, true);
    let mut seen = Seen::default();
    let signature = read_locals(input, job, scratch, |input, job, scratch, _| {
        member(input, job, scratch, sink, &mut seen)
    })?;
    let trailing = directory::settle(input, signature, job, scratch, &mut VerifySink::new())?;
    job.summary.trailing_zeros = trailing;
    check_settled(scratch)?;
    if seen.package && seen.info && seen.metadata {
        return Ok(());
    }
    Err(Error::new(Class::Corrupt, "a conda package needs metadata.json, pkg-* and info-*"))
}

/// Reads one member from behind its signature; returns the signature behind it.
fn member<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
    seen: &mut Seen,
) -> Result<Signature> {
    let offset = input.offset() - 4;
    let header = read_header(input, job, scratch)?;
    if header.method != local::STORED {
        return Err(Error::new(Class::Corrupt, "a member of a conda package is compressed twice"));
    }
    let name = scratch.names.hash(&scratch.name);
    let tar = seen.admit(&scratch.name)?;
    let Scratch { buffers, inflate, name: inner, extra, path, names, .. } = scratch;
    let mut data = Data::new(input, inflate, &header, header.packed_known())?;
    let mut member = Member::new(&mut data);
    if tar {
        let work = tar::Work { buffers, name: inner, record: extra, path, names };
        tar::unzstd(&mut member, job, work, sink)?;
    } else {
        member.skip(METADATA_BYTES_MAX)?;
    }
    let done = member.done();
    data.finish(&done)?;
    let (packed, next) = data.behind();
    scratch.table.push(measured(offset, packed, name, &header, &done));
    Ok(next)
}

impl Seen {
    /// Whether the member is a tar; an error when it may not be here.
    fn admit(&mut self, name: &[u8]) -> Result<bool> {
        let tar = name.strip_suffix(b".tar.zst").unwrap_or_default();
        let (slot, is_tar) = match name {
            b"metadata.json" => (&mut self.metadata, false),
            _ if tar.starts_with(b"pkg-") => (&mut self.package, true),
            _ if tar.starts_with(b"info-") => (&mut self.info, true),
            _ => return Err(Error::new(Class::Corrupt, "not a member of a conda package")),
        };
        if std::mem::replace(slot, true) {
            return Err(Error::new(Class::Conflict, "a conda package has two members of one kind"));
        }
        Ok(is_tar)
    }
}

impl<'a, 'b, 'i> Member<'a, 'b, 'i> {
    fn new(data: &'a mut Data<'b, 'i>) -> Self {
        Self { data, crc32: crc32fast::Hasher::new(), size: 0, peeked: None }
    }

    fn skip(&mut self, max: u64) -> Result<()> {
        while !self.at_end()? {
            self.read_some(&mut [0; 512])?;
            if self.size > max {
                return Err(Error::mismatch(Class::Limit, "bytes of metadata.json", max, "more"));
            }
        }
        Ok(())
    }

    fn done(self) -> Done {
        let crc32 = Some(self.crc32.finalize());
        Done { id: EntryId(0), size: self.size, crc32, blake3: None, sha256: None }
    }
}

impl tar::Upstream for Member<'_, '_, '_> {
    fn read_some(&mut self, out: &mut [u8]) -> Result<usize> {
        if let (Some(byte), Some(first)) = (self.peeked, out.first_mut()) {
            *first = byte;
            self.peeked = None;
            return Ok(1);
        }
        let count = self.data.fill(out)?;
        self.crc32.update(&out[..count]);
        self.size += count as u64;
        Ok(count)
    }

    fn offset(&self) -> u64 {
        self.data.offset()
    }

    fn at_end(&mut self) -> Result<bool> {
        let mut byte = [0];
        if self.peeked.is_none() && self.read_some(&mut byte)? == 1 {
            self.peeked = Some(byte[0]);
        }
        Ok(self.peeked.is_none())
    }
}
