//! The crate's one error: what was being done, to which file, and at which byte.
//!
//! Kinds are private so that a new cause is no breaking change; callers ask the predicates.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A `Result` whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, on which file.
///
/// One word wide; `Display` names the operation and the file, the operating system's reason is in
/// [`source`](StdError::source).
pub struct Error {
    kind: Box<Kind>,
}

enum Kind {
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    Corrupt { path: PathBuf, offset: u64, what: &'static str },
    TooLarge { what: &'static str, len: u64, max: u64 },
    Invalid { what: &'static str },
    Cancelled,
}

impl Error {
    #[cold]
    pub(crate) fn io(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Kind::Io { verb, path: path.to_path_buf(), source }.into()
    }

    #[cold]
    pub(crate) fn corrupt(path: &Path, offset: u64, what: &'static str) -> Self {
        Kind::Corrupt { path: path.to_path_buf(), offset, what }.into()
    }

    #[cold]
    pub(crate) fn too_large(what: &'static str, len: u64, max: u64) -> Self {
        Kind::TooLarge { what, len, max }.into()
    }

    #[cold]
    pub(crate) fn invalid(what: &'static str) -> Self {
        Kind::Invalid { what }.into()
    }

    #[cold]
    pub(crate) fn cancelled() -> Self {
        Kind::Cancelled.into()
    }

    /// Returns true when bytes on disk are not what was once written there.
    ///
    /// The remedy is to treat the entry as missing and store it again: a cache can be rebuilt.
    pub fn is_corrupt(&self) -> bool {
        matches!(*self.kind, Kind::Corrupt { .. })
    }

    /// Returns true when the operating system refused or failed; the reason is in `source()`.
    pub fn is_io(&self) -> bool {
        matches!(*self.kind, Kind::Io { .. })
    }

    /// Returns true when the medium is full or a quota is used up.
    ///
    /// The file still holds its previous state.
    pub fn is_storage_full(&self) -> bool {
        matches!(self.io_kind(), Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }

    /// Returns true when the file ended inside a snapshot that was whole when it was opened:
    /// somebody has shortened it.
    pub fn is_truncated(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::UnexpectedEof)
    }

    /// Returns true when a key, token, body or the file would pass a limit of the format.
    pub fn is_too_large(&self) -> bool {
        matches!(*self.kind, Kind::TooLarge { .. })
    }

    /// Returns true when an argument contradicts itself: two slices of one name, or a slice
    /// outside its body.
    pub fn is_invalid_input(&self) -> bool {
        matches!(*self.kind, Kind::Invalid { .. })
    }

    /// Returns true when the caller's observer ended the operation.
    pub fn is_cancelled(&self) -> bool {
        matches!(*self.kind, Kind::Cancelled)
    }

    /// The operating system's kind of error, when it was one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match &*self.kind {
            Kind::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// The file this error is about; none when an argument was refused before any file was used.
    pub fn path(&self) -> Option<&Path> {
        match &*self.kind {
            Kind::Io { path, .. } | Kind::Corrupt { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The byte at which the corrupt structure starts.
    pub fn offset(&self) -> Option<u64> {
        match &*self.kind {
            Kind::Corrupt { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// The corrupt structure's name in `docs/FORMAT.md`.
    pub(crate) fn what(&self) -> &'static str {
        match &*self.kind {
            Kind::Corrupt { what, .. } | Kind::TooLarge { what, .. } | Kind::Invalid { what } => {
                what
            }
            Kind::Io { verb, .. } => verb,
            Kind::Cancelled => "cancelled",
        }
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self { kind: Box::new(kind) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            // The cause is reached through `source()`, so it is not repeated here.
            Kind::Io { verb, path, .. } => write!(f, "failed to {verb} `{}`", path.display()),
            Kind::Corrupt { path, offset, what } => {
                write!(f, "corrupt {what} at byte {offset} of `{}`", path.display())
            }
            Kind::TooLarge { what, len, max } => {
                write!(f, "{what} of {len} is over the format's limit of {max}")
            }
            Kind::Invalid { what } => write!(f, "{what}"),
            Kind::Cancelled => write!(f, "cancelled by the caller"),
        }
    }
}

/// The sentence and its cause: what a `main` that returns this error shows.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_sentence_with_its_cause() {
        let refused = io::Error::new(io::ErrorKind::PermissionDenied, "not yours");
        let error = Error::io("open", Path::new("/cache/index-v1.ixc"), refused);
        assert_eq!(format!("{error:?}"), "Error(failed to open `/cache/index-v1.ixc`: not yours)");
        let error = Error::corrupt(Path::new("i"), 4096, "leaf page");
        assert_eq!(format!("{error:?}"), "Error(corrupt leaf page at byte 4096 of `i`)");
    }
}
