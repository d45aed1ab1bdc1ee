//! One handle's end: the close, then the continuation, neither able to unwind into a thread.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::errors::{CloseError, Step};
use crate::finish::Finish;

/// A close that waits in the queue.
pub(crate) type Task = Box<dyn FnOnce(&Path, &Arc<str>) -> Vec<CloseError> + Send>;

/// Closes `value` and returns what there is to report.
pub(crate) fn finish<V: Finish>(value: V, path: &Path, group: &Arc<str>) -> Option<CloseError> {
    match catch_unwind(AssertUnwindSafe(|| value.finish())) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(CloseError::new(path, group, Step::Close, error)),
        Err(panic) => Some(CloseError::new(path, group, Step::ClosePanic, panicked(&*panic))),
    }
}

/// Closes `value`, then runs `then` with the answer.
///
/// A failed close is reported even if `then` swallows it, and once if `then` hands it back.
pub(crate) fn finish_then<V, F>(value: V, then: F, path: &Path, group: &Arc<str>) -> Vec<CloseError>
where
    V: Finish,
    F: FnOnce(io::Result<()>) -> io::Result<()>,
{
    let closed = finish(value, path, group);
    let answer = closed.as_ref().map_or(Ok(()), |error| Err(error.to_io_error()));
    let second = match catch_unwind(AssertUnwindSafe(|| then(answer))) {
        Ok(Ok(())) => None,
        Ok(Err(error)) if closed.as_ref().is_some_and(|first| first.is_same(&error)) => None,
        Ok(Err(error)) => Some(CloseError::new(path, group, Step::Then, error)),
        Err(panic) => Some(CloseError::new(path, group, Step::ThenPanic, panicked(&*panic))),
    };
    closed.into_iter().chain(second).collect()
}

fn panicked(payload: &(dyn Any + Send)) -> io::Error {
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    io::Error::other(format!("panicked: {text}"))
}
