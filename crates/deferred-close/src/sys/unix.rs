//! Unix: `close(2)` with its answer, the NOFILE limit, the executable bit.

#![expect(unsafe_code, reason = "std has no close that returns the error (rust-lang/rust#98338)")]

use std::fs::File;
use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Closes `fd` and returns what the file system said.
///
/// The number is free for reuse whatever the answer, so there is never a second try. `EINTR` means
/// "closed, the wait was cut short" (Linux `fs/open.c`, POSIX.1-2024) and is no error.
pub(crate) fn close(fd: OwnedFd) -> io::Result<()> {
    let raw = fd.into_raw_fd();
    // SAFETY: `into_raw_fd` gave up ownership of `raw`, so this is its only close.
    match unsafe { rustix::io::try_close(raw) } {
        Ok(()) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The soft limit of open handles, if there is one.
pub(crate) fn open_handles_max() -> Option<usize> {
    let soft = getrlimit(Resource::Nofile).current?;
    Some(usize::try_from(soft).unwrap_or(usize::MAX))
}

/// True when any execute bit is set. A file that cannot be asked is taken for one.
///
/// On Linux the question is answered from the kernel's cache: a plain `fstat` of a file with unsaved
/// data makes NFS write all of it back, which is the very wait that is to be deferred.
#[cfg(target_os = "linux")]
pub(crate) fn is_executable(file: &File, _path: &Path) -> bool {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    statx(file, "", flags, StatxFlags::MODE).map_or(true, |stat| stat.stx_mode & 0o111 != 0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_executable(file: &File, _path: &Path) -> bool {
    rustix::fs::fstat(file).map_or(true, |stat| stat.st_mode & 0o111 != 0)
}
