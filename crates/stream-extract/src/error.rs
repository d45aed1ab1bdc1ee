//! One error for the crate: what is wrong, where, what was expected, and what to do about it.
//!
//! A hostile archive is the normal input of an extractor, so an error is read by people who have to
//! decide whether to blame the network, the publisher or an attacker. Hence each one names its class,
//! the entry (escaped: a name may hold terminal control codes), the byte of the archive, and both
//! values when two disagree.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::sink::SinkError;

/// A `Result` whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an archive was not extracted. Nothing was committed.
pub struct Error {
    inner: Box<Inner>,
}

struct Inner {
    kind: Kind,
    offset: Option<u64>,
    entry: Option<u64>,
    name: Option<String>,
}

/// Private, so that a new cause is not a breaking change.
enum Kind {
    Read(io::Error),
    Sink(SinkError),
    Fault { class: Class, what: Cow<'static, str>, expected: Option<String>, found: Option<String> },
}

/// The classes that a caller may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Truncated,
    Corrupt,
    UnsafePath,
    Conflict,
    Unsupported,
    Refused,
    Limit,
    Digest,
    NeedsSeek,
    Cancelled,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated archive",
            Self::Corrupt => "corrupt archive",
            Self::UnsafePath => "unsafe path",
            Self::Conflict => "conflicting entries",
            Self::Unsupported => "unsupported archive",
            Self::Refused => "refused by policy",
            Self::Limit => "limit exceeded",
            Self::Digest => "archive digest mismatch",
            Self::NeedsSeek => "archive cannot be streamed",
            Self::Cancelled => "cancelled",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Truncated => "download it again",
            Self::Corrupt => {
                "download it again, and report it to its publisher if that does not help"
            }
            Self::UnsafePath | Self::Conflict => {
                "do not extract it, and report it to its publisher"
            }
            Self::Unsupported => "ask its publisher for an ordinary archive",
            Self::Refused => "choose a policy that allows this, if you trust the publisher",
            Self::Limit => "raise the limit, if you trust the publisher",
            Self::Digest => "download it again from a source that you trust",
            Self::NeedsSeek => "store it in a file and open it with a seekable method",
            Self::Cancelled => "start again when ready",
        }
    }
}

impl Error {
    #[cold]
    pub(crate) fn new(class: Class, what: impl Into<Cow<'static, str>>) -> Self {
        Self::from_kind(Kind::Fault { class, what: what.into(), expected: None, found: None })
    }

    #[cold]
    pub(crate) fn read(source: io::Error) -> Self {
        Self::from_kind(Kind::Read(source))
    }

    #[cold]
    pub(crate) fn sink(source: SinkError) -> Self {
        Self::from_kind(Kind::Sink(source))
    }

    fn from_kind(kind: Kind) -> Self {
        Self { inner: Box::new(Inner { kind, offset: None, entry: None, name: None }) }
    }

    #[cold]
    pub(crate) fn mismatch(
        class: Class,
        what: impl Into<Cow<'static, str>>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        let (expected, found) = (Some(expected.to_string()), Some(found.to_string()));
        Self::from_kind(Kind::Fault { class, what: what.into(), expected, found })
    }

    /// Sets the byte of the archive; the innermost call wins.
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Sets the entry; the innermost call wins.
    pub(crate) fn in_entry(mut self, index: u64, name: &[u8]) -> Self {
        if self.inner.entry.is_none() {
            self.inner.entry = Some(index);
            self.inner.name = Some(name.escape_ascii().to_string());
        }
        self
    }

    fn is(&self, wanted: Class) -> bool {
        matches!(&self.inner.kind, Kind::Fault { class, .. } if *class == wanted)
    }

    /// Returns true when the archive ended too early.
    pub fn is_truncated(&self) -> bool {
        self.is(Class::Truncated)
    }

    /// Returns true when the archive contradicts itself or its format.
    pub fn is_corrupt(&self) -> bool {
        self.is(Class::Corrupt)
    }

    /// Returns true when an entry's name or link target could leave the target folder or means
    /// different things on different systems.
    pub fn is_unsafe_path(&self) -> bool {
        self.is(Class::UnsafePath)
    }

    /// Returns true when two entries claim one path.
    pub fn is_conflict(&self) -> bool {
        self.is(Class::Conflict)
    }

    /// Returns true when the archive uses a feature that this crate does not read.
    pub fn is_unsupported(&self) -> bool {
        self.is(Class::Unsupported)
    }

    /// Returns true when the archive is well formed but the chosen [`Policy`](crate::Policy) refuses it.
    pub fn is_refused(&self) -> bool {
        self.is(Class::Refused)
    }

    /// Returns true when a [`Limits`](crate::Limits) value was exceeded.
    pub fn is_limit(&self) -> bool {
        self.is(Class::Limit)
    }

    /// Returns true when the archive's bytes do not have the expected digest.
    pub fn is_digest_mismatch(&self) -> bool {
        self.is(Class::Digest)
    }

    /// Returns true when the archive may be fine, but only a seekable method can read it.
    pub fn is_needs_seek(&self) -> bool {
        self.is(Class::NeedsSeek)
    }

    /// Returns true when the cancellation flag was raised.
    pub fn is_cancelled(&self) -> bool {
        self.is(Class::Cancelled)
    }

    /// Returns true when the caller's reader failed: a download error, not the archive's fault.
    pub fn is_read(&self) -> bool {
        matches!(self.inner.kind, Kind::Read(_))
    }

    /// Returns true when the sink failed, for instance because the disk is full.
    pub fn is_sink(&self) -> bool {
        matches!(self.inner.kind, Kind::Sink(_))
    }

    /// The byte of the archive at which the fault was found.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// The position of the entry in the archive, from 0.
    pub fn entry(&self) -> Option<u64> {
        self.inner.entry
    }

    /// The entry's name with everything but printable ASCII escaped.
    pub fn entry_name(&self) -> Option<&str> {
        self.inner.name.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner.kind {
            Kind::Read(_) => f.write_str("failed to read the archive")?,
            Kind::Sink(_) => f.write_str("failed to store")?,
            Kind::Fault { class, what, .. } => write!(f, "{}: {what}", class.name())?,
        }
        self.write_values(f)?;
        self.write_place(f)?;
        match &self.inner.kind {
            Kind::Fault { class, .. } => write!(f, "; {}", class.advice()),
            Kind::Read(_) => f.write_str("; try again"),
            Kind::Sink(_) => Ok(()),
        }
    }
}

impl Error {
    fn write_values(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Kind::Fault { expected, found, .. } = &self.inner.kind else { return Ok(()) };
        if let Some(expected) = expected {
            write!(f, ", expected {expected}")?;
        }
        if let Some(found) = found {
            write!(f, ", found {found}")?;
        }
        Ok(())
    }

    fn write_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.inner.name {
            write!(f, ", entry {} `{name}`", self.inner.entry.unwrap_or_default())?;
        }
        if let Some(offset) = self.inner.offset {
            write!(f, ", byte {offset} of the archive")?;
        }
        Ok(())
    }
}

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
        match &self.inner.kind {
            Kind::Read(source) => Some(source),
            Kind::Sink(source) => Some(&**source),
            Kind::Fault { .. } => None,
        }
    }
}

const _: () = {
    const fn is_send_sync<T: Send + Sync + 'static>() {}
    is_send_sync::<Error>();
    assert!(size_of::<Error>() == size_of::<usize>(), "an error is one word");
};
