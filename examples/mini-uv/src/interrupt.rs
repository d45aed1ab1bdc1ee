//! Ctrl-C in the middle of an installation: what was begun is undone, then the process dies of it.
//!
//! A process that dies at once would be right too, because the next one undoes what it left. But the
//! next one may never come, and until then half a gigabyte of unpacked files lies in the environment.
//! So the first signal stops the work, which ends as any failed installation does; a second one, or
//! one that comes when nothing has to be undone, ends the process as if nobody listened. Either way
//! the process dies of the signal, which is what tells a shell to stop its script.
//!
//! How signals are heard is the platform's part; what has to be stopped is the caller's.

use std::fmt;

use anyhow::Result;

#[cfg(unix)]
#[path = "interrupt/unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "interrupt/other.rs"]
mod platform;

/// The error of work that was stopped by a signal.
#[derive(Debug)]
pub(crate) struct Interrupted {
    signal: i32,
    was_done: bool,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.was_done {
            "interrupted when everything was done"
        } else {
            "interrupted; the environment is as it was"
        })
    }
}

impl std::error::Error for Interrupted {}

impl Interrupted {
    /// Ends the process as the signal would have.
    pub(crate) fn die(&self) {
        platform::die(self.signal);
    }
}

/// Does `work`. A signal that comes meanwhile calls `stop`, on another thread, and is the error once
/// `work` has returned.
pub(crate) fn guard<T>(stop: impl Fn() + Send, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let (done, caught) = platform::listen(stop, work)?;
    match caught {
        Some(signal) => Err(Interrupted { signal, was_done: done.is_ok() }.into()),
        None => done,
    }
}
