//! A local header: the description of a file in front of its bytes.

use super::extra;
use super::layout::local as at;
use crate::error::{Class, Error, Result};
use crate::policy::Policy;

pub(crate) const STORED: u16 = 0;
pub(crate) const DEFLATED: u16 = 8;

const ENCRYPTED: u16 = 1;
const DESCRIPTOR: u16 = 1 << 3;
const PATCH: u16 = 1 << 5;
const STRONG_ENCRYPTION: u16 = 1 << 6;
const MASKED: u16 = 1 << 13;

/// A checked local header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Local {
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc32: u32,
    pub(crate) size: u64,
    pub(crate) packed: u64,
    pub(crate) directory: bool,
}

/// Lengths of the two fields after the fixed part.
pub(crate) fn lengths(fixed: &[u8; at::LEN]) -> (usize, usize) {
    (at::NAME_LEN.get(fixed).into(), at::EXTRA_LEN.get(fixed).into())
}

pub(crate) fn parse(
    fixed: &[u8; at::LEN],
    name: &[u8],
    extra: &[u8],
    policy: &Policy,
) -> Result<Local> {
    let (flags, method) = (at::FLAGS.get(fixed), at::METHOD.get(fixed));
    check_flags(flags, policy)?;
    check_method(method)?;
    let extra = extra::parse(extra)?;
    extra.check_name(name)?;
    let (size, packed) = extra.local_sizes(at::SIZE.get(fixed), at::PACKED.get(fixed))?;
    let crc32 = at::CRC32.get(fixed);
    let directory = name.ends_with(b"/");
    Ok(Local { flags, method, crc32, size, packed, directory })
}

impl Local {
    /// True when sizes and checksum follow the bytes.
    pub(crate) fn has_descriptor(&self) -> bool {
        self.flags & DESCRIPTOR != 0
    }

    /// The compressed size, when this header tells it.
    pub(crate) fn packed_known(&self) -> Option<u64> {
        let told = !self.has_descriptor() || self.packed != 0 || self.is_empty_folder();
        told.then_some(self.packed)
    }

    /// The size, when this header tells it.
    pub(crate) fn size_known(&self) -> Option<u64> {
        let told = !self.has_descriptor() || self.size != 0 || self.is_empty_folder();
        told.then_some(self.size)
    }

    fn is_empty_folder(&self) -> bool {
        self.directory && self.method == STORED
    }
}

/// Refuses what no reader here can decode, and what the policy refuses.
pub(crate) fn check_flags(flags: u16, policy: &Policy) -> Result<()> {
    if flags & (ENCRYPTED | STRONG_ENCRYPTION | MASKED) != 0 {
        return Err(Error::new(Class::Unsupported, "the entry is encrypted"));
    }
    if flags & PATCH != 0 {
        return Err(Error::new(Class::Unsupported, "the entry is a patch"));
    }
    if flags & DESCRIPTOR != 0 && !policy.data_descriptors {
        return Err(Error::new(Class::Refused, "the entry has a data descriptor"));
    }
    Ok(())
}

fn check_method(method: u16) -> Result<()> {
    if matches!(method, STORED | DEFLATED) {
        return Ok(());
    }
    let name = match method {
        1..=6 => "an obsolete method",
        9 => "deflate64",
        12 => "bzip2",
        14 => "LZMA",
        93 => "Zstandard",
        95 => "XZ",
        99 => "AES encryption",
        _ => "an unknown method",
    };
    let found = format!("{method} ({name})");
    Err(Error::mismatch(Class::Unsupported, "compression method", "0 or 8", found))
}
