//! Makes files cold: out of the kernel's page cache, so that the next read goes to the medium.
//!
//! A dirty page cannot be dropped, so each way syncs first. On tmpfs the page cache *is* the
//! medium and nothing gets cold; on a loop mount over tmpfs a cold read costs the file system's
//! work but no disk.

use std::fs::File;
use std::io;
use std::path::Path;

use fs_err as fs;

use crate::error::{Error, Result};

/// Drops one tree's files from the page cache and returns how many files that were.
///
/// Needs no privilege. The kernel keeps pages that another process maps.
///
/// # Errors
///
/// When a file cannot be opened or synced, or the platform has no `posix_fadvise`.
pub fn evict_tree(top: &Path) -> Result<u64> {
    let mut count = 0;
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |error| Error::io("evict", &folder, error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                evict(&entry.path()).map_err(failed)?;
                count += 1;
            }
        }
    }
    Ok(count)
}

/// Drops all clean pages, folder entries and inodes of the machine.
///
/// # Errors
///
/// `is_unavailable` without root, or on another system than Linux.
pub fn drop_all() -> Result<()> {
    sync();
    fs::write("/proc/sys/vm/drop_caches", "3")
        .map_err(|_| Error::unavailable("the right to drop the page cache", "run as root on Linux"))
}

/// Writes all dirty pages, so that the next case does not pay for the last one.
pub fn sync() {
    #[cfg(unix)]
    rustix::fs::sync();
}

fn evict(path: &Path) -> io::Result<()> {
    let file = fs::File::open(path)?.into_file();
    file.sync_data()?;
    forget(&file)
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn forget(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn forget(_file: &File) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
