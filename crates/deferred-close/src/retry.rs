//! Trying again, outside the pool and within a budget that the caller names.
//!
//! After a close, others may still hold the file: a Windows virus scanner (rust-lang/rustup#1870,
//! astral-sh/uv#1491), or a child that was forked while the file was open for writing
//! (golang/go#22315). Waiting for them is the caller's policy, never hidden in a rename or a spawn.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::sys;

const FIRST: Duration = Duration::from_micros(100);
const LONGEST: Duration = Duration::from_millis(100);

/// How a repeated attempt went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retried {
    /// Attempts that failed before the one that did not.
    pub failures: u32,
}

/// Renames, and tries again while the error is one that passes by itself: on Windows "access denied"
/// and the sharing violations; elsewhere no error of a rename is.
///
/// "Access denied" also stands for lasting refusals on Windows, which then cost the whole budget.
///
/// # Errors
///
/// The last error, once `budget` is spent; any other error at once.
///
/// # Examples
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// let (stage, target) = (dir.path().join("stage"), dir.path().join("target"));
/// std::fs::create_dir(&stage)?;
/// let retried = deferred_close::rename_retrying(&stage, &target, std::time::Duration::from_secs(10))?;
/// assert!(target.exists());
/// assert_eq!(retried.failures, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn rename_retrying(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    budget: Duration,
) -> io::Result<Retried> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let mut clock = Clock::start(budget);
    retry(|| fs::rename(from, to), sys::is_passing, |next| clock.pause(next))
        .map(|((), retried)| retried)
}

/// Starts a program, and tries again while it is "busy": still open for writing somewhere, perhaps
/// in a child that was forked before your close.
///
/// # Errors
///
/// The last error, once `budget` is spent; any error other than `ExecutableFileBusy` (on Windows: a
/// sharing violation) at once.
pub fn spawn_retrying(command: &mut Command, budget: Duration) -> io::Result<(Child, Retried)> {
    let mut clock = Clock::start(budget);
    retry(|| command.spawn(), sys::is_busy_program, |next| clock.pause(next))
}

/// Attempts until it works, the error is not a passing one, or `pause` says that time is up.
fn retry<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    is_passing: impl Fn(&io::Error) -> bool,
    mut pause: impl FnMut(Duration) -> bool,
) -> io::Result<(T, Retried)> {
    let mut failures = 0;
    let mut next = FIRST;
    loop {
        match attempt() {
            Ok(value) => return Ok((value, Retried { failures })),
            Err(error) if is_passing(&error) && pause(next) => {}
            Err(error) => return Err(error),
        }
        failures += 1;
        next = (next * 2).min(LONGEST);
    }
}

/// Sleeps within a budget.
pub(crate) struct Clock {
    end: Instant,
}

impl Clock {
    pub(crate) fn start(budget: Duration) -> Self {
        let now = Instant::now();
        // A budget beyond the clock's range is as good as a year.
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        Self { end: now.checked_add(budget).unwrap_or(now + year) }
    }

    /// Sleeps for `next` or what is left; false when nothing is.
    pub(crate) fn pause(&mut self, next: Duration) -> bool {
        let left = self.end.saturating_duration_since(Instant::now());
        sleep(next.min(left));
        !left.is_zero()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use io::ErrorKind::{NotFound, PermissionDenied};

    fn denied(error: &io::Error) -> bool {
        error.kind() == PermissionDenied
    }

    fn failing_first(times: u32) -> impl FnMut() -> io::Result<u32> {
        let mut calls = 0;
        move || {
            calls += 1;
            if calls <= times { Err(PermissionDenied.into()) } else { Ok(calls) }
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_failures_are_counted() {
        let mut pauses = Vec::new();
        let (calls, retried) = retry(failing_first(14), denied, |next| {
            pauses.push(next);
            true
        })
        .unwrap();
        assert_eq!((calls, retried.failures), (15, 14));
        assert_eq!(pauses[..3], [FIRST, FIRST * 2, FIRST * 4]);
        assert_eq!(pauses[13], LONGEST);
    }

    #[test]
    fn a_lasting_error_is_returned_at_once() {
        let error = retry(|| Err::<(), _>(NotFound.into()), denied, |_| panic!("pauses"));
        assert_eq!(error.unwrap_err().kind(), NotFound);
    }

    #[test]
    fn a_spent_budget_returns_the_last_error() {
        let mut left = 3;
        let error = retry(failing_first(100), denied, |_| {
            left -= 1;
            left > 0
        });
        assert_eq!(error.unwrap_err().kind(), PermissionDenied);
        assert_eq!(left, 0);
    }

    #[test]
    fn a_clock_without_budget_allows_no_second_try_and_a_huge_one_does_not_overflow() {
        assert!(!Clock::start(Duration::ZERO).pause(LONGEST));
        assert!(Clock::start(Duration::MAX).pause(Duration::ZERO));
    }
}
