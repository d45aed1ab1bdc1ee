//! What the operating system does, behind equal signatures: one file per platform.
//!
//! Names in a [`Dir`] are text with `/` between components, relative to an open folder. No call
//! follows a symbolic link in the last component. Nothing above this module uses `std::fs` to change
//! a store or a destination.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(windows)]
mod windows;
#[cfg(windows)]
pub(crate) use windows::*;

use crate::fingerprint::Instant;

/// What one `stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: FileKind,
    pub(crate) size: u64,
    pub(crate) modified: Instant,
    /// When the inode last changed (link count and mode included); nobody can set it.
    pub(crate) changed_s: i64,
    /// Permission and set-id bits.
    pub(crate) mode: u32,
    pub(crate) links: u64,
    pub(crate) inode: Inode,
    pub(crate) owner: u32,
    /// Bytes that the file takes on the medium.
    pub(crate) disk_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    Regular,
    Folder,
    Other,
}

/// A file's identity while it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Inode {
    pub(crate) device: u64,
    pub(crate) number: u64,
}

/// Which pairs of folders behave alike when linked: same file system *and* same mount.
///
/// `st_dev` alone is not enough: two bind mounts of one file system share it and refuse links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MountId {
    pub(crate) device: u64,
    pub(crate) mount: u64,
}

/// Why `link` did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkFailure {
    /// The source, or the folder of the new name, is not there.
    Missing,
    /// The new name is taken.
    Exists,
    /// The file has as many names as the file system allows.
    Crowded,
    /// These two places, or this owner, cannot be linked; a copy may still work.
    Refused,
    /// Anything else, such as an I/O error or a full disk.
    Other,
}

/// Makes names that no other process and no other call of this one uses.
///
/// Process ids repeat between containers that share a store, so names carry a random token.
#[derive(Debug)]
pub(crate) struct UniqueNames {
    token: u64,
    next: AtomicU64,
}

/// What every temporary name begins with.
pub(crate) const TEMPORARY_PREFIX: &str = ".cas-";

impl UniqueNames {
    pub(crate) fn new() -> Self {
        let token = RandomState::new().hash_one(std::process::id());
        Self { token, next: AtomicU64::new(0) }
    }

    pub(crate) fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{TEMPORARY_PREFIX}{:016x}-{number:x}", self.token)
    }
}

/// No such file, or no folder to hold it.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Treats "it is already gone" as done.
pub(crate) fn gone_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Treats "it is already there" as done.
pub(crate) fn there_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}
