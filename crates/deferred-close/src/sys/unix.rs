//! Unix: `close(2)` with its answer, NOFILE, the executable bit, syncfs, leases.

#![expect(
    unsafe_code,
    reason = "std has no close with an answer (rust-lang/rust#98338), no leases"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
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
pub(crate) fn is_executable(file: impl AsFd, _path: &Path) -> bool {
    mode(file.as_fd()).is_none_or(|mode| mode & 0o111 != 0)
}

/// Answered from the kernel's cache where it can be: a plain `fstat` of a file with unsaved data makes
/// NFS write all of it back, which is the very wait that is to be deferred.
#[cfg(target_os = "linux")]
fn mode(file: BorrowedFd<'_>) -> Option<u32> {
    use rustix::fs::{AtFlags, StatxFlags, fstat, statx};
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    match statx(file, "", flags, StatxFlags::MODE) {
        Ok(stat) => Some(u32::from(stat.stx_mode)),
        // Kernels before 4.11, and sandboxes that do not know the call.
        Err(_) => fstat(file).ok().map(|stat| stat.st_mode),
    }
}

#[cfg(not(target_os = "linux"))]
fn mode(file: BorrowedFd<'_>) -> Option<u32> {
    rustix::fs::fstat(file).ok().map(|stat| u32::from(stat.st_mode))
}

/// No error of a rename on Unix passes by itself.
pub(crate) fn is_passing(_error: &io::Error) -> bool {
    false
}

/// True for `ETXTBSY`.
pub(crate) fn is_busy_program(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ExecutableFileBusy
}

pub(crate) fn open_folder(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

#[cfg(target_os = "linux")]
pub(crate) fn sync_file_system(folder: &File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn sync_file_system(_folder: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// From Linux' `asm-generic/fcntl.h`; missing in libc.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// True when `file`, open for reading, is open for writing as well, anywhere.
#[cfg(target_os = "linux")]
pub(crate) fn has_writers(file: &File) -> io::Result<bool> {
    // A writer who comes while the lease is held has the kernel send a signal. The default one kills
    // the process; this one is ignored unless somebody listens.
    fcntl(file, F_SETSIG, libc::SIGURG)?;
    match fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => fcntl(file, libc::F_SETLEASE, libc::F_UNLCK).map(|()| false),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        Err(error) => Err(error),
    }
}

#[cfg(target_os = "linux")]
fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: the descriptor is open while `file` is borrowed, and these commands take an integer.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn has_writers(_file: &File) -> io::Result<bool> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The process would die here without `F_SETSIG`.
    #[test]
    fn a_writer_who_comes_during_the_lease_kills_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "x").unwrap();
        let file = File::open(&path).unwrap();
        fcntl(&file, F_SETSIG, libc::SIGURG).unwrap();
        fcntl(&file, libc::F_SETLEASE, libc::F_RDLCK).unwrap();
        let nonblocking = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        let blocked = rustix::fs::open(&path, nonblocking, rustix::fs::Mode::empty());
        assert_eq!(blocked.unwrap_err(), Errno::AGAIN);
        fcntl(&file, libc::F_SETLEASE, libc::F_UNLCK).unwrap();
    }
}
