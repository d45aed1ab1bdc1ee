//! Where signals are not heard: Ctrl-C ends the process at once, and the next one undoes what it left.

use std::io;

/// Does `work`.
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
pub(super) fn listen<T>(
    _: impl Fn() + Send,
    work: impl FnOnce() -> T,
) -> io::Result<(T, Option<i32>)> {
    Ok((work(), None))
}

/// Nothing was caught here.
pub(super) fn die(_: i32) {}
