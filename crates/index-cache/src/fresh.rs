//! A new file that takes the place of the old one: first commit, replacement, compaction.
//!
//! It is written under a temporary name beside the real one and renamed when it is complete, so
//! nobody ever opens a file without a header.

use crate::error::{Error, Result};
use crate::hash::random;
use crate::header::Header;
use crate::layout::LOG_START;
use crate::medium::{Disk, Medium};
use crate::put::wide;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// Between the file's name and the random part of a temporary name.
const TEMPORARY: &str = ".tmp-";
/// Hexadecimal digits of the random part.
const RANDOM_LEN: usize = 32;

/// A file that is being written. Dropped before [`Fresh::publish`], it removes itself.
#[derive(Debug)]
pub(crate) struct Fresh<'a> {
    disk: &'a dyn Disk,
    path: &'a Path,
    temporary: PathBuf,
    medium: Option<Box<dyn Medium>>,
    /// Where the next append goes.
    pub(crate) at: u64,
}

/// The header of a file that does not exist yet.
pub(crate) fn header(schema: [u8; 32]) -> Header {
    Header::empty(random(), random(), schema)
}

impl<'a> Fresh<'a> {
    /// Creates the temporary file, after removing those of writers that were killed: the caller
    /// holds the lock, so nobody else is writing one.
    pub(crate) fn create(disk: &'a dyn Disk, path: &'a Path) -> io::Result<Self> {
        for sibling in disk.siblings(path)? {
            if is_temporary(&sibling, path) {
                disk.remove(&sibling)?;
            }
        }
        let temporary = temporary_path(path);
        let medium = Some(disk.create_new(&temporary)?);
        Ok(Self { disk, path, temporary, medium, at: LOG_START })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let at = self.at;
        self.write(bytes, at)?;
        self.at += wide(bytes.len());
        Ok(())
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<()> {
        let Some(medium) = &self.medium else { return Ok(()) };
        medium.write_all_at(bytes, at).map_err(|error| self.failed("write", error))
    }

    /// Writes the header and moves the file to its place; durably if the header says so.
    pub(crate) fn publish(mut self, header: &Header) -> Result<()> {
        // Both slots, so that no single fault makes the file unreadable.
        let page = header.encode();
        self.write(&[page, page].concat(), 0)?;
        if header.synced
            && let Some(medium) = &self.medium
        {
            medium.sync().map_err(|error| self.failed("sync", error))?;
        }
        self.disk
            .rename(&self.temporary, self.path)
            .map_err(|error| self.failed("rename", error))?;
        self.medium = None;
        if header.synced {
            self.disk.sync_folder_of(self.path).map_err(|error| self.failed("sync", error))?;
        }
        Ok(())
    }

    fn failed(&self, verb: &'static str, error: io::Error) -> Error {
        Error::io(verb, &self.temporary, error)
    }
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        if self.medium.take().is_some() {
            // What cannot be removed now is removed by the next writer.
            let _left_for_later = self.disk.remove(&self.temporary);
        }
    }
}

fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(TEMPORARY);
    let mut suffix = String::new();
    for byte in random() {
        // Writing to a string cannot fail.
        let _infallible = write!(suffix, "{byte:02x}");
    }
    name.push(suffix);
    name.into()
}

fn is_temporary(sibling: &Path, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
    let sibling = name(sibling);
    let rest = sibling.strip_prefix(&*name(path));
    let random = rest.and_then(|rest| rest.strip_prefix(TEMPORARY.as_bytes()));
    // Whatever else begins like this is somebody's own file.
    random.is_some_and(|r| r.len() == RANDOM_LEN && r.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_writer_makes_are_removed() {
        let path = Path::new("/cache/index-v1.ixc");
        assert!(is_temporary(&temporary_path(path), path));
        for other in ["", ".lock", ".tmp-", ".tmp-notes", ".tmp-00112233445566778899aabbccddeeff0"]
        {
            assert!(!is_temporary(Path::new(&format!("/cache/index-v1.ixc{other}")), path));
        }
        assert!(!is_temporary(&temporary_path(Path::new("/cache/other.ixc")), path));
    }
}
