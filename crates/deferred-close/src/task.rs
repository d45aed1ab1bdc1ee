//! One handle's end: the close, then the continuation, neither able to unwind into a thread.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::errors::{CloseError, Step};
use crate::finish::Finish;
use crate::panicked;

/// A close that waits in the queue.
pub(crate) type Task = Box<dyn FnOnce(&Path, &Arc<str>) -> Finished + Send>;

/// How a task ended.
pub(crate) struct Finished {
    pub(crate) errors: Vec<CloseError>,
    /// The close alone; none for values that are slow by declaration, which say nothing about others.
    pub(crate) close_took: Option<Duration>,
}

/// What went wrong, before it has a name.
pub(crate) struct Failure {
    step: Step,
    source: io::Error,
}

impl Failure {
    #[cold]
    pub(crate) fn of(self, path: &Path, group: &Arc<str>) -> CloseError {
        CloseError::new(path, group, self.step, self.source)
    }
}

/// Closes `value`.
pub(crate) fn finish<V: Finish>(value: V) -> Result<(), Failure> {
    match panicked::caught(|| value.finish()) {
        Ok(closed) => closed.map_err(|source| Failure { step: Step::Close, source }),
        Err(source) => Err(Failure { step: Step::ClosePanic, source }),
    }
}

/// Closes `value` and takes the time.
pub(crate) fn finish_timed<V: Finish>(value: V) -> (Result<(), Failure>, Option<Duration>) {
    let started = (!value.is_slow()).then(Instant::now);
    let closed = finish(value);
    (closed, started.map(|started| started.elapsed()))
}

/// Runs `then` with the answer of a close.
///
/// A failed close is reported even if `then` swallows it, and once if `then` hands it back.
pub(crate) fn run_then<F>(
    closed: Result<(), Failure>,
    then: F,
    path: &Path,
    group: &Arc<str>,
) -> Vec<CloseError>
where
    F: FnOnce(io::Result<()>) -> io::Result<()>,
{
    let closed = closed.map_err(|failure| failure.of(path, group));
    let answer = closed.as_ref().copied().map_err(CloseError::to_io_error);
    let second = match panicked::caught(|| then(answer)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) if closed.as_ref().is_err_and(|first| first.is_same(&error)) => None,
        Ok(Err(source)) => Some(Failure { step: Step::Then, source }),
        Err(source) => Some(Failure { step: Step::ThenPanic, source }),
    };
    let second = second.map(|failure| failure.of(path, group));
    closed.err().into_iter().chain(second).collect()
}
