//! What a caller may watch. The crate itself prints nothing.

use std::io;

use crate::errors::CloseError;

/// Told what the workers do; every method has an empty default.
///
/// Called on the thread where it happens, outside every lock. A panic in here is caught and ignored.
pub trait Observer: Send + Sync {
    /// A handle was queued or a deferred close came back: for a progress line.
    fn progress(&self, progress: &Progress) {
        let _ = progress;
    }

    /// A close or a continuation failed. The wait reports it again.
    fn failed(&self, error: &CloseError) {
        let _ = error;
    }

    /// No more threads could be started than the `alive` ones that there are; with none, closes
    /// happen on the caller's thread.
    fn spawn_failed(&self, alive: usize, error: &io::Error) {
        let _ = (alive, error);
    }
}

/// A moment's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Handles handed over and not closed yet.
    pub pending: usize,
    /// Handles that a worker has closed since the closer was built.
    pub closed: u64,
    /// Worker threads alive.
    pub threads: usize,
}

/// What was used: every fallback is counted here, since the closer was built.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Handles closed on the caller's thread, for any reason.
    pub inline: u64,
    /// Handles closed after they were handed over.
    pub deferred: u64,
    /// Of `inline`: because the queue was full, or no thread could be started.
    pub inline_full: u64,
    /// Of `inline`: because they were executables.
    pub inline_executable: u64,
    /// Closes and continuations that failed.
    pub failed: u64,
    /// Threads that could not be started.
    pub spawn_failed: u64,
    /// Most handles that were pending at once.
    pub pending_max: usize,
    /// Most worker threads that were alive at once.
    pub threads_max: usize,
}
