//! What a tree takes on disk, each inode once.
//!
//! A sum over names counts a file with three hard links three times: that is how a cache cleaner
//! can claim to free 79 GiB of a 30 GB disk. Blocks that two *inodes* share (reflinks) are still
//! counted twice: no portable call tells.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::Path;

use fs_err as fs;

use crate::error::{Error, Result};

/// Sizes and counts of one tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskUsage {
    /// Sum of the file lengths, each inode once.
    pub apparent_bytes: u64,
    /// Blocks allocated to files and folders, each inode once; equal to `apparent_bytes` where
    /// the platform does not tell.
    pub allocated_bytes: u64,
    /// File names, so a file with two links in the tree counts twice.
    pub names: u64,
    /// Different files.
    pub files: u64,
    /// Folders, the top one included.
    pub folders: u64,
}

/// Measures the tree under `top` without following links.
///
/// # Errors
///
/// When a folder cannot be read.
///
/// # Examples
///
/// ```
/// let top = tempfile::tempdir()?;
/// std::fs::write(top.path().join("one"), b"12345")?;
/// # #[cfg(unix)] {
/// std::fs::hard_link(top.path().join("one"), top.path().join("two"))?;
/// let usage = bench_util::disk_usage(top.path())?;
/// assert_eq!((usage.names, usage.files, usage.apparent_bytes), (2, 1, 5));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn disk_usage(top: &Path) -> Result<DiskUsage> {
    let mut usage = DiskUsage::default();
    let mut seen = HashSet::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |error| Error::io("measure", &folder, error);
        usage.folders += 1;
        usage.allocated_bytes += allocated_bytes(&fs::metadata(&folder).map_err(failed)?);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let metadata = entry.metadata().map_err(failed)?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                usage.add_name(&metadata, &mut seen);
            }
        }
    }
    Ok(usage)
}

impl DiskUsage {
    fn add_name(&mut self, metadata: &Metadata, seen: &mut HashSet<(u64, u64)>) {
        self.names += 1;
        if identity(metadata).is_none_or(|identity| seen.insert(identity)) {
            self.files += 1;
            self.apparent_bytes += metadata.len();
            self.allocated_bytes += allocated_bytes(metadata);
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "same signature as on platforms without inodes")]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(unix)]
fn allocated_bytes(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.blocks() * 512
}

#[cfg(not(unix))]
fn allocated_bytes(metadata: &Metadata) -> u64 {
    metadata.len()
}
