//! Who closes the files of a [`DirectorySink`](super::DirectorySink).

use std::fs::File;
use std::io;

/// Closes files, now or later: the seam for a pool of closing threads.
///
/// On Linux closing takes a microsecond. On Windows with a virus scanner, and on network file systems,
/// it takes milliseconds, and may be the call that reports a full disk.
///
/// # Examples
/// Count what is closed, and close at once:
/// ```
/// use std::fs::File;
/// use std::io;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use stream_extract::Closer;
///
/// #[derive(Default)]
/// struct Counting(AtomicUsize);
///
/// impl Closer for Counting {
///     fn close(&self, _path: &str, file: File, _executable: bool) -> io::Result<()> {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         drop(file);
///         Ok(())
///     }
///
///     fn wait(&self) -> io::Result<()> {
///         Ok(())
///     }
/// }
/// # let closer = Counting::default();
/// # closer.wait().unwrap();
/// # assert_eq!(closer.0.into_inner(), 0);
/// ```
pub trait Closer: Sync {
    /// Takes over a finished file. `path` is relative to the target folder.
    ///
    /// # Errors
    /// An error that is known at once.
    fn close(&self, path: &str, file: File, executable: bool) -> io::Result<()>;

    /// Waits until everything that `close` took is closed. Called before the folder is published.
    ///
    /// # Errors
    /// The first error of a deferred close; the folder is not published then.
    fn wait(&self) -> io::Result<()>;
}
