//! A central directory header: the description of a file at the end of the archive.

use super::layout::central as at;
use super::{extra, local};
use crate::error::{Class, Error, Result};
use crate::policy::Policy;

const MADE_BY_UNIX: u16 = 3;
const MADE_BY_MACOS: u16 = 19;

const FILE_TYPE: u32 = 0o17_0000;
const REGULAR: u32 = 0o10_0000;
const FOLDER: u32 = 0o04_0000;
const LINK: u32 = 0o12_0000;
const ANY_EXECUTE: u32 = 0o111;

/// A checked central header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Central {
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) crc32: u32,
    pub(crate) size: u64,
    pub(crate) packed: u64,
    pub(crate) offset: u64,
    pub(crate) directory: bool,
    pub(crate) executable: bool,
}

/// Lengths of the three fields after the fixed part.
pub(crate) fn lengths(fixed: &[u8; at::LEN]) -> (usize, usize, usize) {
    let comment = at::COMMENT_LEN.get(fixed);
    (at::NAME_LEN.get(fixed).into(), at::EXTRA_LEN.get(fixed).into(), comment.into())
}

pub(crate) fn parse(
    fixed: &[u8; at::LEN],
    name: &[u8],
    extra: &[u8],
    policy: &Policy,
) -> Result<Central> {
    let flags = at::FLAGS.get(fixed);
    local::check_flags(flags, policy)?;
    if at::DISK.get(fixed) != 0 {
        return Err(Error::new(Class::Unsupported, "the archive has several parts"));
    }
    let extra = extra::parse(extra)?;
    extra.check_name(name)?;
    let narrow = [at::SIZE.get(fixed), at::PACKED.get(fixed), at::OFFSET.get(fixed)];
    let [size, packed, offset] = extra.central_sizes(narrow)?;
    let directory = name.ends_with(b"/");
    let mode = unix_mode(fixed);
    check_type(mode, directory)?;
    Ok(Central {
        flags,
        method: at::METHOD.get(fixed),
        crc32: at::CRC32.get(fixed),
        size,
        packed,
        offset,
        directory,
        executable: !directory && mode & ANY_EXECUTE != 0,
    })
}

/// The Unix mode, or 0 when the archive was made elsewhere.
fn unix_mode(fixed: &[u8; at::LEN]) -> u32 {
    match at::MADE_BY.get(fixed) >> 8 {
        MADE_BY_UNIX | MADE_BY_MACOS => at::EXTERNAL.get(fixed) >> 16,
        _ => 0,
    }
}

fn check_type(mode: u32, directory: bool) -> Result<()> {
    match (mode & FILE_TYPE, directory) {
        (0, _) | (REGULAR, false) | (FOLDER, true) => Ok(()),
        (REGULAR, true) | (FOLDER, false) => {
            Err(Error::new(Class::Corrupt, "the name and the mode disagree on what the entry is"))
        }
        (LINK, _) => Err(Error::new(Class::Refused, "the entry is a symbolic link")),
        (other, _) => {
            let found = format!("{other:#o}");
            Err(Error::mismatch(Class::Unsupported, "type of the entry", "file or folder", found))
        }
    }
}
