//! Runs what others wrote, and turns a panic of it into an error.
//!
//! The payload of a panic may panic when it is dropped (rust-lang/rust#86027), which would unwind into
//! the thread that was to be kept alive. So the payload is dropped under the same guard, and what
//! comes out of that is leaked.

use std::any::Any;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns what `work` does, or its panic as an error that holds the message.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, io::Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let error = io::Error::other(format!("panicked: {}", message(&*payload)));
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            mem::forget(second);
        }
        error
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
