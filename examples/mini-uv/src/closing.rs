//! What is still being closed, on the bar of the packages.
//!
//! On a network home or under a virus scanner the last files take longer to close than all of them
//! took to write (rust-lang/rustup#1850): a bar that stands still at the end would look like a hang.

use std::sync::Arc;
use std::time::Duration;

use deferred_close::{Closer, Throttled};
use indicatif::ProgressBar;

const TICK: Duration = Duration::from_millis(100);
/// Fewer are closed before a person could read it.
const SHOWN_FROM: usize = 50;

/// A closer that shows on `bar` how many files are open; few, and the bar says what it said before.
pub(crate) fn closer(bar: &ProgressBar) -> Closer {
    let (bar, usual) = (bar.clone(), bar.message());
    let line = Throttled::new(TICK, move |now, per_second| {
        bar.set_message(message(&usual, now.pending, per_second));
    });
    Closer::builder().observer(Arc::new(line)).build()
}

fn message(usual: &str, pending: usize, per_second: u64) -> String {
    match pending {
        0..SHOWN_FROM => usual.to_owned(),
        many => format!("Closing {many} files ({per_second}/s)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_open_files_are_shown_with_their_rate_and_few_are_not() {
        assert_eq!(message("Preparing", 49, 7), "Preparing");
        assert_eq!(message("Preparing", 16_017, 354), "Closing 16017 files (354/s)");
    }
}
