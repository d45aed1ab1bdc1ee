//! What a close can say, kept with the path it said it about.
//!
//! `drop(File)` throws the answer of `close(2)` away, and on NFS, SMB, FUSE and quota file systems
//! that answer is the only place where lost data shows. So an error here is never a count or a log
//! line: it is a value with a path, shared (`Arc`) between the ticket, the group and the scope that
//! report it, because `io::Error` cannot be cloned.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One handle that was not closed cleanly.
///
/// Cloning is cheap and every clone is the same error.
#[derive(Clone)]
pub struct CloseError {
    kept: Arc<Kept>,
}

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    group: Arc<str>,
    step: Step,
    source: io::Error,
}

/// Which of the two things that run for a handle failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Close,
    ClosePanic,
    Then,
    ThenPanic,
}

impl CloseError {
    #[cold]
    pub(crate) fn new(path: &Path, group: &Arc<str>, step: Step, source: io::Error) -> Self {
        let kept = Kept { path: path.to_path_buf(), group: Arc::clone(group), step, source };
        Self { kept: Arc::new(kept) }
    }

    /// Returns the path that the handle was handed over with.
    pub fn path(&self) -> &Path {
        &self.kept.path
    }

    /// Returns the name of the group that the handle was handed to.
    pub fn group(&self) -> &str {
        &self.kept.group
    }

    /// Returns the error of the close or of the continuation.
    pub fn io_error(&self) -> &io::Error {
        &self.kept.source
    }

    /// Returns true when the close itself failed: the file's data may be lost.
    pub fn is_close(&self) -> bool {
        matches!(self.kept.step, Step::Close | Step::ClosePanic)
    }

    /// Returns true when the continuation of [`Group::close_then`](crate::Group::close_then) failed.
    pub fn is_continuation(&self) -> bool {
        !self.is_close()
    }

    /// Returns true when the close or the continuation panicked; the message is in
    /// [`io_error`](Self::io_error).
    pub fn is_panic(&self) -> bool {
        matches!(self.kept.step, Step::ClosePanic | Step::ThenPanic)
    }

    /// Returns true when the file system said at close that there was no room, or no quota left.
    pub fn is_storage_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self.kept.source.kind(), StorageFull | QuotaExceeded)
    }

    /// The same error for a continuation that wants to own one.
    pub(crate) fn to_io_error(&self) -> io::Error {
        match self.kept.source.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(self.kept.source.kind(), self.clone()),
        }
    }

    /// True when `error` is what [`to_io_error`](Self::to_io_error) gave, handed back.
    pub(crate) fn is_same(&self, error: &io::Error) -> bool {
        match error.raw_os_error() {
            Some(code) => self.kept.source.raw_os_error() == Some(code),
            None => error
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<Self>())
                .is_some_and(|inner| Arc::ptr_eq(&inner.kept, &self.kept)),
        }
    }
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.is_close() { "close" } else { "finish" };
        write!(f, "failed to {verb} `{}`", self.path().display())
    }
}

impl fmt::Debug for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kept.fmt(f)
    }
}

impl StdError for CloseError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.kept.source)
    }
}

/// Every handle of a wait that was not closed cleanly; never empty.
#[derive(Clone)]
pub struct CloseErrors {
    told: Box<Told>,
}

/// Apart, so that a `Result` with it stays one word.
#[derive(Clone)]
struct Told {
    errors: Vec<CloseError>,
}

impl CloseErrors {
    /// Returns `Ok` when there is nothing to report.
    pub(crate) fn check(errors: Vec<CloseError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self { told: Box::new(Told { errors }) }) }
    }

    /// Returns how many closes and continuations failed; at least 1.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.told.errors.len()
    }

    /// Returns the error that was kept first.
    ///
    /// # Panics
    ///
    /// Never: there is always one.
    pub fn first(&self) -> &CloseError {
        &self.told.errors[0]
    }

    /// Returns all of them, in the order in which they happened.
    pub fn iter(&self) -> std::slice::Iter<'_, CloseError> {
        self.told.errors.iter()
    }
}

impl<'a> IntoIterator for &'a CloseErrors {
    type Item = &'a CloseError;
    type IntoIter = std::slice::Iter<'a, CloseError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for CloseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            1 => self.first().fmt(f),
            n => write!(f, "{} and {} more", self.first(), n - 1),
        }
    }
}

impl fmt::Debug for CloseErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl StdError for CloseErrors {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.first().source()
    }
}

impl From<CloseErrors> for io::Error {
    fn from(errors: CloseErrors) -> Self {
        Self::new(errors.first().io_error().kind(), errors)
    }
}

const _: () = {
    const fn is_send_sync<T: Send + Sync + 'static>() {}
    is_send_sync::<CloseError>();
    is_send_sync::<CloseErrors>();
    assert!(size_of::<CloseError>() == size_of::<usize>(), "an error is one word");
    assert!(size_of::<CloseErrors>() == size_of::<usize>(), "an error is one word");
};
