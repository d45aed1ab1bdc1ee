//! How long operations tell their caller where they are, and are told to stop.

use crate::error::{Error, Result};
use std::ops::ControlFlow;

/// How far a long operation has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Entries dealt with.
    pub done: u64,
    /// Entries there are; an estimate where the file does not say.
    pub total: u64,
}

/// Called between entries. [`ControlFlow::Break`] ends the operation with
/// [`Error::is_cancelled`]; what was there before is still there.
pub type Observer<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Reports, and turns a break into an error.
pub(crate) fn report(observer: &mut Observer<'_>, done: u64, total: u64) -> Result<()> {
    match observer(Progress { done, total: total.max(done) }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::cancelled()),
    }
}

/// The observer of callers that do not care.
pub(crate) fn silent(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
