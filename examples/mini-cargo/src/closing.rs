//! What is still being closed, as one line on a terminal.
//!
//! On a network home or under a virus scanner the last files take longer to close than all of them
//! took to write (rust-lang/rustup#1850).

use std::sync::Arc;
use std::time::Duration;

use deferred_close::{Closer, Throttled};
use indicatif::ProgressBar;

use crate::shell::Shell;

const TICK: Duration = Duration::from_millis(100);
/// Fewer are closed before a person could read it.
const SHOWN_FROM: usize = 50;

/// A closer and its line, which the caller clears; nothing is drawn where no terminal would show it.
pub(crate) fn closer(shell: Shell) -> (Closer, ProgressBar) {
    let bar =
        if shell.shows_progress() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let line = bar.clone();
    let line = Throttled::new(TICK, move |now, per_second| {
        if now.pending >= SHOWN_FROM {
            line.set_message(format!("Closing {} files ({per_second}/s)", now.pending));
        }
    });
    (Closer::builder().observer(Arc::new(line)).build(), bar)
}
