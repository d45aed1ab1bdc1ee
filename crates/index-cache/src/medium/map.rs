//! The only unsafe code of this crate: a read-only map of a file.
//!
//! A map is a borrow that the type system cannot see: whoever writes to the file, in any process,
//! changes bytes under a shared reference, and whoever shortens it turns the next read into a
//! signal (`SIGBUS`). This crate keeps both halves of the bargain for its own part. No process that
//! uses it ever changes a byte below the `end` of a published snapshot or shortens a file, and only
//! that prefix is mapped. It cannot keep it for a stranger with write permission, which is why the
//! only way to a map is [`Options::mapped`](crate::Options::mapped), an unsafe function, and why
//! the default reads by system call.

#![expect(unsafe_code, reason = "memmap2 cannot promise that the file stays as it is")]

use std::fs::File;
use std::io;

/// A read-only map of a file's first bytes.
#[derive(Debug)]
pub(crate) struct Map(memmap2::Mmap);

impl Map {
    pub(crate) fn new(file: &File, len: usize) -> io::Result<Self> {
        // SAFETY: maps are made only for caches opened with `Options::mapped`, whose caller vouches
        // that nobody modifies or truncates the file but this crate. This crate never writes below
        // a published `end` nor shortens a file, and `len` is at most such an `end`.
        let map = unsafe { memmap2::MmapOptions::new().len(len).map(file)? };
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
