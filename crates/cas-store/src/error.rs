//! One opaque error, one word wide, with predicates a caller can act on.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::digest::{Digest, Executable};

/// A `Result` whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, on which file.
pub struct Error {
    kind: Box<Kind>,
}

/// Private, so that a new cause is not a breaking change.
enum Kind {
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    Corrupt { path: PathBuf, line: u64, what: &'static str },
    Newer { path: PathBuf, found: u32, supported: u32 },
    Differs { path: PathBuf, what: &'static str },
    UnsafePath { path: PathBuf, what: &'static str },
    Missing { objects: Vec<Missing> },
    Locked { path: PathBuf },
    Cancelled,
}

/// An object that a tree names and the store no longer has: fetch it again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Missing {
    /// Where the file was to be placed, relative to the destination.
    pub path: String,
    /// The content that is gone.
    pub digest: Digest,
    /// Which variant of it.
    pub executable: Executable,
    /// Its length in bytes.
    pub size: u64,
}

impl Error {
    #[cold]
    pub(crate) fn io(verb: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self { kind: Box::new(Kind::Io { verb, path: path.into(), source }) }
    }

    #[cold]
    pub(crate) fn corrupt(path: impl Into<PathBuf>, line: u64, what: &'static str) -> Self {
        Self { kind: Box::new(Kind::Corrupt { path: path.into(), line, what }) }
    }

    #[cold]
    pub(crate) fn newer(path: impl Into<PathBuf>, found: u32, supported: u32) -> Self {
        Self { kind: Box::new(Kind::Newer { path: path.into(), found, supported }) }
    }

    #[cold]
    pub(crate) fn differs(path: impl Into<PathBuf>, what: &'static str) -> Self {
        Self { kind: Box::new(Kind::Differs { path: path.into(), what }) }
    }

    #[cold]
    pub(crate) fn unsafe_path(path: &str, what: &'static str) -> Self {
        Self { kind: Box::new(Kind::UnsafePath { path: path.into(), what }) }
    }

    #[cold]
    pub(crate) fn missing_objects(objects: Vec<Missing>) -> Self {
        Self { kind: Box::new(Kind::Missing { objects }) }
    }

    #[cold]
    pub(crate) fn locked(path: impl Into<PathBuf>) -> Self {
        Self { kind: Box::new(Kind::Locked { path: path.into() }) }
    }

    #[cold]
    pub(crate) fn cancelled() -> Self {
        Self { kind: Box::new(Kind::Cancelled) }
    }

    /// Returns true when a file or folder of the caller was not there.
    pub fn is_not_found(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::NotFound)
    }

    /// Returns true when the destination exists already and was not to be replaced.
    pub fn is_already_exists(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::AlreadyExists)
    }

    /// Returns true when the file system had no room left.
    pub fn is_storage_full(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::StorageFull)
    }

    /// Returns true when the bytes of the store's own files are not what the layout allows.
    ///
    /// The remedy is to delete the named file: a store can be filled again.
    pub fn is_corrupt(&self) -> bool {
        matches!(*self.kind, Kind::Corrupt { .. })
    }

    /// Returns true when a newer version of this crate made the store. Nothing in it was changed.
    pub fn is_newer_store(&self) -> bool {
        matches!(*self.kind, Kind::Newer { .. })
    }

    /// Returns true when the store exists with settings that contradict the asked ones.
    pub fn is_different_settings(&self) -> bool {
        matches!(*self.kind, Kind::Differs { .. })
    }

    /// Returns true when a relative path would leave its folder, or is otherwise refused.
    pub fn is_unsafe_path(&self) -> bool {
        matches!(*self.kind, Kind::UnsafePath { .. })
    }

    /// Returns true when objects are gone from the store; [`missing`](Self::missing) lists them.
    pub fn is_missing(&self) -> bool {
        matches!(*self.kind, Kind::Missing { .. })
    }

    /// Returns true when another process is at the same work.
    pub fn is_locked(&self) -> bool {
        matches!(*self.kind, Kind::Locked { .. })
    }

    /// Returns true when the caller's watcher stopped the operation.
    pub fn is_cancelled(&self) -> bool {
        matches!(*self.kind, Kind::Cancelled)
    }

    /// The objects to fetch again, empty unless [`is_missing`](Self::is_missing).
    pub fn missing(&self) -> &[Missing] {
        match &*self.kind {
            Kind::Missing { objects } => objects,
            _ => &[],
        }
    }

    /// The file that this error is about.
    pub fn path(&self) -> Option<&Path> {
        match &*self.kind {
            Kind::Io { path, .. }
            | Kind::Corrupt { path, .. }
            | Kind::Newer { path, .. }
            | Kind::Differs { path, .. }
            | Kind::Locked { path }
            | Kind::UnsafePath { path, .. } => Some(path),
            Kind::Missing { objects } => objects.first().map(|object| Path::new(&object.path)),
            Kind::Cancelled => None,
        }
    }

    fn io_kind(&self) -> Option<io::ErrorKind> {
        match &*self.kind {
            Kind::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            // The cause is reached through `source()`, so it is not repeated here.
            Kind::Io { verb, path, .. } => write!(f, "failed to {verb} `{}`", path.display()),
            Kind::Corrupt { path, line, what } => {
                write!(f, "corrupt store file `{}`, line {line}: {what}", path.display())
            }
            Kind::Newer { path, found, supported } => write!(
                f,
                "the store `{}` needs format {found}, this program knows up to {supported}",
                path.display()
            ),
            Kind::Differs { path, what } => {
                write!(f, "the store `{}` was created with another {what}", path.display())
            }
            Kind::UnsafePath { path, what } => {
                write!(
                    f,
                    "refused the path `{}`: it {what}",
                    path.display().to_string().escape_debug()
                )
            }
            Kind::Missing { objects } => write_missing(f, objects),
            Kind::Locked { path } => {
                write!(f, "another process holds the lock `{}`", path.display())
            }
            Kind::Cancelled => f.write_str("stopped by the caller"),
        }
    }
}

fn write_missing(f: &mut fmt::Formatter<'_>, objects: &[Missing]) -> fmt::Result {
    let first = objects.first().map_or("", |object| object.path.as_str());
    write!(f, "{} objects are gone from the store, first for `{first}`", objects.len())
}

/// The sentence and its cause: what `main` shows of an error that it returns.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self}")?;
        if let Some(source) = self.source() {
            write!(f, ": {source}")?;
        }
        f.write_str(")")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.kind {
            Kind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

const _: () = {
    const fn is_send_sync<T: Send + Sync + 'static>() {}
    is_send_sync::<Error>();
    assert!(size_of::<Error>() == size_of::<usize>(), "an error is one word");
};
