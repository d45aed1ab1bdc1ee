//! What a caller may watch. The crate itself prints nothing.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use crate::errors::CloseError;
use crate::sync::Mutex;

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

/// An [`Observer`] for a progress line: told at most once per interval, with the rate.
///
/// The thread that comes first after an interval tells; the others never wait for it. Where closing is
/// quick nothing is handed over, and nothing is told.
///
/// # Examples
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use deferred_close::{Closer, Throttled};
///
/// let line = Throttled::new(Duration::from_millis(100), |now, per_second| {
///     eprint!("\rclosing: {} open, {per_second}/s ", now.pending); // If standard error is a terminal.
/// });
/// let closer = Closer::builder().observer(Arc::new(line)).build();
/// # closer.scope(|_| ()).unwrap();
/// ```
pub struct Throttled<F> {
    interval: Duration,
    tell: F,
    last: Mutex<Told>,
}

#[derive(Debug, Clone, Copy)]
struct Told {
    at: Instant,
    closed: u64,
}

impl<F: Fn(&Progress, u64) + Send + Sync> Throttled<F> {
    /// Calls `tell` with the numbers of the moment and the closes per second since the last call.
    pub fn new(interval: Duration, tell: F) -> Self {
        Self { interval, tell, last: Mutex::new(Told { at: Instant::now(), closed: 0 }) }
    }
}

impl<F: Fn(&Progress, u64) + Send + Sync> Observer for Throttled<F> {
    fn progress(&self, now: &Progress) {
        let Ok(mut last) = self.last.try_lock() else { return };
        let elapsed = last.at.elapsed();
        if elapsed < self.interval {
            return;
        }
        let rate = per_second(now.closed.saturating_sub(last.closed), elapsed);
        *last = Told { at: Instant::now(), closed: now.closed };
        (self.tell)(now, rate);
    }
}

fn per_second(closed: u64, elapsed: Duration) -> u64 {
    let rate = u128::from(closed) * 1000 / elapsed.as_millis().max(1);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl<F> fmt::Debug for Throttled<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Throttled").field("interval", &self.interval).finish_non_exhaustive()
    }
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

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn told(interval: Duration, closed: &[u64]) -> Vec<usize> {
        let seen = Mutex::new(Vec::new());
        let line = Throttled::new(interval, |now: &Progress, _| {
            seen.lock().expect("no panic under it").push(now.pending);
        });
        for (pending, &closed) in closed.iter().enumerate() {
            line.progress(&Progress { pending, closed, threads: 1 });
        }
        seen.into_inner().expect("no panic under it")
    }

    #[test]
    fn a_line_is_told_once_per_interval_and_not_before() {
        assert_eq!(told(Duration::ZERO, &[0, 1, 5]), [0, 1, 2]);
        assert_eq!(told(Duration::from_secs(3600), &[0, 1, 5]), []);
    }

    #[test]
    fn a_rate_is_per_second_and_survives_a_clock_that_stands() {
        assert_eq!(per_second(36, Duration::from_millis(100)), 360);
        assert_eq!(per_second(u64::MAX, Duration::ZERO), u64::MAX);
    }
}
