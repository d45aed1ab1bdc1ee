//! What can be handed over: anything that ends slowly, and says how it ended.
//!
//! This module closes; it knows nothing of threads, queues or groups.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::sys;

#[cfg(unix)]
use std::os::fd::OwnedFd;
#[cfg(windows)]
use std::os::windows::io::OwnedHandle;

/// A value that ends with an answer.
///
/// Implemented for [`File`], the platform's owned handle, [`BufWriter`] (flushes first),
/// [`Synced`](crate::Synced) (makes the data durable first) and [`Dropping`] (any value whose drop is slow).
///
/// **Never hand over** a lock file (closing *any* handle of a file drops all POSIX locks that the
/// process holds on it, at a moment you do not choose), a pipe or a socket (the other side sees its
/// end late), or a file that you open again before a wait.
pub trait Finish: Send + 'static {
    /// Ends the value.
    ///
    /// # Errors
    ///
    /// Whatever the file system says. The value is gone all the same.
    fn finish(self) -> io::Result<()>;

    /// Returns true when `path` may be started as a program, so that a handle still open for
    /// writing would make the start fail (`ETXTBSY`, sharing violation).
    fn is_executable(&self, path: &Path) -> bool {
        let _ = path;
        false
    }

    /// Returns true when finishing is known to be slow, so that measuring first would be a waste.
    fn is_slow(&self) -> bool {
        false
    }
}

/// Closes `value` on this thread and returns the error that `drop` would lose.
///
/// # Errors
///
/// What `close(2)` or `CloseHandle` said: on NFS, SMB, FUSE and quota file systems this is where a
/// full disk shows. The handle is gone in any case; closing again is always wrong. An interrupted
/// close (`EINTR`) has closed, and is no error. A handle that was already closed elsewhere is
/// `EBADF`: find that bug, because the number may have been somebody else's file.
///
/// # Examples
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let file = std::fs::File::create(dir.path().join("a"))?;
/// deferred_close::close_inline(file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # References
///
/// close(2), nfs(5) "close-to-open cache consistency", rust-lang/rust#98338.
pub fn close_inline<V: Finish>(value: V) -> io::Result<()> {
    value.finish()
}

impl Finish for File {
    fn finish(self) -> io::Result<()> {
        sys::close(self.into())
    }

    fn is_executable(&self, path: &Path) -> bool {
        sys::is_executable(self, path)
    }
}

#[cfg(unix)]
impl Finish for OwnedFd {
    fn finish(self) -> io::Result<()> {
        sys::close(self)
    }

    fn is_executable(&self, path: &Path) -> bool {
        sys::is_executable(self, path)
    }
}

#[cfg(windows)]
impl Finish for OwnedHandle {
    fn finish(self) -> io::Result<()> {
        sys::close(self)
    }

    fn is_executable(&self, path: &Path) -> bool {
        sys::is_executable(self, path)
    }
}

impl<W: Write + Finish> Finish for BufWriter<W> {
    /// Flushes, then closes; the first error wins, and the handle is closed in any case.
    fn finish(self) -> io::Result<()> {
        match self.into_inner() {
            Ok(inner) => inner.finish(),
            Err(failed) => {
                let (error, writer) = failed.into_parts();
                // Dropping the writer would flush once more, into the same error.
                let (inner, _unwritten) = writer.into_parts();
                let _second = inner.finish();
                Err(error)
            }
        }
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.get_ref().is_executable(path)
    }

    fn is_slow(&self) -> bool {
        self.get_ref().is_slow()
    }
}

/// Any value whose `drop` is slow: the last handle of a big deleted file, a large map, a huge tree.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper, and never more")]
pub struct Dropping<T>(pub T);

impl<T: Send + 'static> Finish for Dropping<T> {
    /// Drops the value. Only a panic can be reported.
    fn finish(self) -> io::Result<()> {
        drop(self.0);
        Ok(())
    }

    fn is_slow(&self) -> bool {
        true
    }
}
