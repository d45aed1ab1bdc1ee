//! How a long operation tells where it is, and how it is stopped.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// How far a long operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Files or objects looked at so far.
    pub files: u64,
    /// Bytes read so far.
    pub bytes: u64,
}

/// Counts for all threads of one operation.
#[derive(Debug, Default)]
pub(crate) struct Count {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    /// One more file, of which so many bytes were read.
    pub(crate) fn add(&self, bytes: u64) -> Progress {
        Progress {
            files: self.files.fetch_add(1, Ordering::Relaxed) + 1,
            bytes: self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes,
        }
    }
}

/// The caller's function, asked after every file. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Watch(Option<Watcher>);

type Watcher = Arc<dyn Fn(Progress) -> ControlFlow<()> + Send + Sync>;

impl Watch {
    pub(crate) fn new(watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(watch)))
    }

    /// Fails when the caller wants to stop.
    pub(crate) fn tell(&self, progress: Progress) -> Result<()> {
        match self.0.as_ref().map(|watch| watch(progress)) {
            Some(ControlFlow::Break(())) => Err(Error::cancelled()),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Watch(..)" } else { "Watch(none)" })
    }
}
