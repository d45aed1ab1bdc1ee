//! Windows: positioned reads move the handle's cursor, which nobody here uses.

use super::super::Residence;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::windows::fs::FileExt;
use std::path::Path;

pub(super) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn will_need(_file: &File, _offset: u64, _len: u64) {
    // Windows prefetches mapped ranges only, and this crate does not map there.
}

/// Maps keep a file from being replaced on Windows, so none are made: the file counts as one that
/// can be locked and not mapped.
pub(super) fn file_residence(_file: &File) -> Residence {
    Residence::User
}

pub(super) fn folder_residence(_folder: &Path) -> Residence {
    Residence::User
}

#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
pub(super) fn sync_folder(_folder: &Path) -> io::Result<()> {
    // NTFS journals names; there is no handle to sync.
    Ok(())
}

pub(super) fn is_lockless(error: &io::Error) -> bool {
    const ERROR_NOT_SUPPORTED: i32 = 50;
    const ERROR_INVALID_FUNCTION: i32 = 1;
    matches!(error.raw_os_error(), Some(ERROR_NOT_SUPPORTED | ERROR_INVALID_FUNCTION))
}

/// Another program opened the file without sharing it, or locked a part of it: a backup, a scanner.
pub(super) fn is_held(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    const ERROR_LOCK_VIOLATION: i32 = 33;
    matches!(error.raw_os_error(), Some(ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION))
}
