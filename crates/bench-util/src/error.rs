use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A `Result` whose error is this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a benchmark has no result.
pub struct Error {
    kind: Box<Kind>,
}

/// Private, so that a new cause is not a breaking change.
#[derive(Debug)]
enum Kind {
    Io { verb: &'static str, path: PathBuf, source: io::Error },
    Case { name: String, round: usize, source: Box<dyn StdError + Send + Sync> },
    Command { program: String, status: String, output: String },
    Unavailable { what: String, remedy: String },
    Usage { what: String },
}

impl Error {
    #[cold]
    pub(crate) fn io(verb: &'static str, path: &Path, source: io::Error) -> Self {
        Self { kind: Box::new(Kind::Io { verb, path: path.to_path_buf(), source }) }
    }

    #[cold]
    pub(crate) fn case(name: &str, round: usize, source: Box<dyn StdError + Send + Sync>) -> Self {
        Self { kind: Box::new(Kind::Case { name: name.to_owned(), round, source }) }
    }

    #[cold]
    pub(crate) fn command(program: String, status: String, output: String) -> Self {
        Self { kind: Box::new(Kind::Command { program, status, output }) }
    }

    /// Reports that something a benchmark needs is not here, and how to get it.
    #[cold]
    pub fn unavailable(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { kind: Box::new(Kind::Unavailable { what: what.into(), remedy: remedy.into() }) }
    }

    #[cold]
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self { kind: Box::new(Kind::Usage { what: what.into() }) }
    }

    /// Returns true when a peer, a privilege or space is missing: the report names it and goes on.
    pub fn is_unavailable(&self) -> bool {
        matches!(*self.kind, Kind::Unavailable { .. })
    }

    /// Returns true when the command line or the builder was used wrongly.
    pub fn is_usage(&self) -> bool {
        matches!(*self.kind, Kind::Usage { .. })
    }

    /// The benchmark case that failed.
    pub fn case_name(&self) -> Option<&str> {
        match &*self.kind {
            Kind::Case { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The file or folder this error is about.
    pub fn path(&self) -> Option<&Path> {
        match &*self.kind {
            Kind::Io { path, .. } => Some(path),
            _ => None,
        }
    }

    /// How to get what is missing.
    pub fn remedy(&self) -> Option<&str> {
        match &*self.kind {
            Kind::Unavailable { remedy, .. } => Some(remedy),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Io { verb, path, .. } => write!(f, "failed to {verb} `{}`", path.display()),
            Kind::Case { name, round, .. } => write!(f, "case `{name}` failed in round {round}"),
            Kind::Command { program, status, output } => {
                write!(f, "`{program}` ended with {status}: {}", last_lines(output, 5))
            }
            Kind::Unavailable { what, remedy } => write!(f, "{what} is missing; {remedy}"),
            Kind::Usage { what } => f.write_str(what),
        }
    }
}

/// The end of a tool's output is where it says what went wrong.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join(" / ")
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &*self.kind {
            Kind::Io { source, .. } => Some(source),
            Kind::Case { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

const _: () = {
    const fn is_send_sync<T: Send + Sync + 'static>() {}
    is_send_sync::<Error>();
    assert!(size_of::<Error>() == size_of::<usize>(), "an error is one word");
};
