//! Zip archives: one reader of records, two orders of reading them.
//!
//! A zip says everything twice: in a local header before each file and in the central directory at the
//! end. Attacks live where the two disagree and readers differ in whom they believe. Here nobody is
//! believed: each entry must be described by both, equally, and the entries must cover the archive
//! from its first byte to the directory without a gap or an overlap. A stream reads local headers first
//! and settles with the directory at the end; a seekable archive reads the directory first. Both run
//! the same parsers and the same comparison, so they accept the same archives with the same result.
//!
//! The `zip` crate writes archives for the tests and is their oracle; it does not read the directory
//! here, because what it hides cannot be checked on top. Of entries with one name it shows the last, it
//! steps over bytes in front of the archive, and it passes by files that the directory does not list
//! and headers that the end record does not count (`tests/it/oracle.rs` holds it to each of these). It
//! also keeps every name, where 64 bytes per entry are promised.
//!
//! Absent: encryption, multi-part archives, methods other than stored and deflate, and repair.

mod central;
mod chunks;
#[cfg(feature = "zstd")]
mod conda;
mod data;
mod descriptor;
mod directory;
mod end;
mod entry;
mod extra;
mod layout;
mod local;
mod locate;
mod parallel;
mod read;
mod shares;
mod table;

#[cfg(feature = "zstd")]
pub(crate) use conda::conda;
pub(crate) use parallel::{Shared, check_start, read as read_parallel};
pub(crate) use read::{load, read_loaded, stream};
pub(crate) use table::Table;
