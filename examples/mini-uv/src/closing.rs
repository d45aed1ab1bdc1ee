//! What is still being closed, on the bar of the packages.
//!
//! On a network home or under a virus scanner the last files take longer to close than all of them
//! took to write (rust-lang/rustup#1850): a bar that stands still at the end would look like a hang.
//! Where closing is quick nothing is handed over, and this is never called.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use deferred_close::{Observer, Progress};
use indicatif::ProgressBar;

const TICK: Duration = Duration::from_millis(100);
/// Fewer are closed before a person could read it.
const SHOWN_FROM: usize = 50;

pub(crate) struct Closing {
    bar: ProgressBar,
    usual: String,
    last: Mutex<Last>,
}

struct Last {
    at: Instant,
    closed: u64,
}

impl Closing {
    /// Puts `usual` back whenever few files are open.
    pub(crate) fn on(bar: &ProgressBar) -> Self {
        let last = Mutex::new(Last { at: Instant::now(), closed: 0 });
        Self { bar: bar.clone(), usual: bar.message(), last }
    }
}

impl Observer for Closing {
    /// Ten times a second, by whichever thread comes first; the others do not wait for it.
    fn progress(&self, now: &Progress) {
        let Ok(mut last) = self.last.try_lock() else { return };
        let elapsed = last.at.elapsed();
        if elapsed < TICK {
            return;
        }
        let rate = per_second(now.closed.saturating_sub(last.closed), elapsed);
        *last = Last { at: Instant::now(), closed: now.closed };
        self.bar.set_message(message(&self.usual, now.pending, rate));
    }
}

fn per_second(closed: u64, elapsed: Duration) -> u64 {
    u64::try_from(u128::from(closed) * 1000 / elapsed.as_millis().max(1)).unwrap_or(u64::MAX)
}

fn message(usual: &str, pending: usize, rate: u64) -> String {
    if pending < SHOWN_FROM {
        usual.to_owned()
    } else {
        format!("Closing {pending} files ({rate}/s)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_open_files_are_shown_with_their_rate_and_few_are_not() {
        assert_eq!(message("Preparing", 49, 7), "Preparing");
        let rate = per_second(36, TICK);
        assert_eq!(message("Preparing", 16_017, rate), "Closing 16017 files (360/s)");
    }
}
