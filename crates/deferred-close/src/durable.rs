//! Surviving a power cut: one file at a time on the workers, or the whole file system at once.
//!
//! Syncing 400 small files one after the other cost 0.5-1.1 s where 16 threads needed 0.05-0.16 s and
//! one `syncfs` 0.02 s. `syncfs` also writes what *other* programs left unsaved, and names no file in
//! its error; so both are here, and neither is the default.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use crate::finish::Finish;
use crate::sys;

/// A file that is made durable (`fsync`), then closed.
///
/// It is always handed over: syncing is slow everywhere.
///
/// # Durability
///
/// After its wait the *data* survives a power cut. The *name* does only after a sync of the folder
/// as well, once, after the wait: on Unix `File::open(folder)?.sync_all()`.
///
/// # Examples
///
/// ```
/// use deferred_close::{Closer, Synced};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("a");
/// let file = std::fs::File::create(&path)?;
/// Closer::default().scope(|scope| {
///     scope.group("durable").close(Synced(file), path);
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper, and never more")]
pub struct Synced<T = File>(pub T);

impl Finish for Synced<File> {
    /// Syncs, then closes; the first error wins, and the handle is closed in any case.
    fn finish(self) -> io::Result<()> {
        let synced = self.0.sync_all();
        let closed = self.0.finish();
        synced.and(closed)
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.0.is_executable(path)
    }

    fn is_slow(&self) -> bool {
        true
    }
}

impl Finish for Synced<BufWriter<File>> {
    /// Flushes, syncs, then closes; the first error wins, and the handle is closed in any case.
    fn finish(self) -> io::Result<()> {
        match self.0.into_inner() {
            Ok(file) => Synced(file).finish(),
            Err(failed) => {
                let (error, writer) = failed.into_parts();
                let (file, _unwritten) = writer.into_parts();
                let _second = file.finish();
                Err(error)
            }
        }
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.0.is_executable(path)
    }

    fn is_slow(&self) -> bool {
        true
    }
}

/// A whole file system, to be made durable at once; best for more than some 50 files on one.
///
/// # Examples
///
/// ```
/// use deferred_close::{Closer, FileSystem};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path();
/// let disk = FileSystem::of(dir)?; // Before the writes, so that it learns of their errors.
/// Closer::default().scope(|scope| -> std::io::Result<()> {
///     let package = scope.group("demo-1.0");
///     let path = dir.join("a");
///     package.close(std::fs::File::create(&path)?, path);
///     package.wait()?; // Closing may write: sync after it.
///     match disk.sync() {
///         Err(error) if error.kind() == std::io::ErrorKind::Unsupported => Ok(()), // `Synced`, then.
///         synced => synced,
///     }
/// })??;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FileSystem {
    folder: File,
}

impl FileSystem {
    /// Takes hold of the file system that `folder` is on.
    ///
    /// # Errors
    ///
    /// When the folder cannot be opened.
    pub fn of(folder: impl AsRef<Path>) -> io::Result<Self> {
        sys::open_folder(folder.as_ref()).map(|folder| Self { folder })
    }

    /// Makes everything written to it durable: data and names, of every program.
    ///
    /// # Errors
    ///
    /// A write that failed since [`of`](Self::of) (Linux 5.8 and later tell; earlier ones only some).
    /// `ErrorKind::Unsupported` where the system has no such call: anywhere but on Linux.
    ///
    /// # Durability
    ///
    /// As good as `fsync` of every file and folder, on file systems that implement it. FUSE passes it
    /// on to the server only for virtiofs, so use [`Synced`] there.
    ///
    /// # References
    ///
    /// syncfs(2).
    pub fn sync(&self) -> io::Result<()> {
        sys::sync_file_system(&self.folder)
    }
}
