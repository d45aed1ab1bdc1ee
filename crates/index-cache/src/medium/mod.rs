//! What the cache asks of a disk, as two traits, so that tests can put a failing one in its place.
//!
//! [`Disk`] knows paths: open, create, rename, lock. [`Medium`] is one open file: positioned reads
//! and writes, one sync. Nothing above this module names a `std::fs` function, so a simulated disk
//! sees every operation that a crash could fall between.

mod map;
mod os;

pub(crate) use map::Map;
pub(crate) use os::{OsDisk, is_held};

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One open file.
pub(crate) trait Medium: Debug + Send + Sync {
    fn len(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`; a file that ends before is an error, never a short read.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns when everything written so far survives a power cut.
    fn sync(&self) -> io::Result<()>;

    /// Asks for a range to be brought into the page cache. Advice: failures are of no interest.
    fn will_need(&self, offset: u64, len: u64);

    /// Maps the first `len` bytes for reading; none where maps are not wanted.
    fn map(&self, len: u64) -> io::Result<Option<Map>>;

    /// What kind of file system this is on.
    fn residence(&self) -> Residence;
}

/// Where a file lives, as far as maps and locks care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Residence {
    /// Maps and locks work.
    Local,
    /// Locks work on this machine, maps may fail half way: FUSE.
    User,
    /// Another machine may change the file: neither maps nor locks can be relied on.
    Network,
}

/// The operations on names.
pub(crate) trait Disk: Debug + Send + Sync {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Medium>>;

    fn open_writable(&self, path: &Path) -> io::Result<Box<dyn Medium>>;

    /// Creates a file that must not exist.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn Medium>>;

    fn create_folder_of(&self, path: &Path) -> io::Result<()>;

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Files in the same folder whose names start with this file's name.
    fn siblings(&self, path: &Path) -> io::Result<Vec<PathBuf>>;

    /// What kind of file system the file's folder is on.
    fn residence(&self, path: &Path) -> Residence;

    /// Makes a rename in the file's folder survive a power cut, where the platform can.
    fn sync_folder_of(&self, path: &Path) -> io::Result<()>;

    /// Takes the exclusive advisory lock on `path`, creating the file when it is absent.
    fn lock(&self, path: &Path, wait: Wait) -> io::Result<Lock>;
}

/// Whether to wait for another writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Block,
    Try,
}

/// The outcome of [`Disk::lock`].
#[derive(Debug)]
pub(crate) enum Lock {
    /// Held until the guard is dropped.
    Held(Box<dyn Debug + Send>),
    /// Somebody else holds it.
    Busy,
    /// This file system has no locks.
    Unsupported,
}

/// A disk that can be shared by caches and threads.
pub(crate) type SharedDisk = Arc<dyn Disk>;
