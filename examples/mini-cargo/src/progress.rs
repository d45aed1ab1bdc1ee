//! The lines that move: one bar of crates, and the files that are still to be closed.
//!
//! Drawn on a terminal only and never with `--quiet`; status lines go above them. Elsewhere the
//! status lines are all there is. On a network home or under a virus scanner the last files take
//! longer to close than all of them took to write (rust-lang/rustup#1850), hence the second line.

use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

use deferred_close::{Closer, Throttled};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::shell::Shell;

const TICK: Duration = Duration::from_millis(100);
/// Fewer are closed before a person could read it.
const SHOWN_FROM: usize = 50;

/// Shows how far a command is.
pub(crate) struct Progress {
    shell: Shell,
    lines: MultiProgress,
    crates: ProgressBar,
    closing: ProgressBar,
}

impl Progress {
    /// A bar of `count` crates that are being `verb`.
    pub(crate) fn new(shell: Shell, verb: &'static str, count: usize) -> Self {
        let target = if shell.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let lines = MultiProgress::with_draw_target(target);
        let crates = ProgressBar::new(count as u64).with_style(bar(shell)).with_prefix(verb);
        let (crates, closing) = (lines.add(crates), ProgressBar::no_length().with_style(line()));
        Self { shell, lines, crates, closing }
    }

    /// A closer whose files are shown while many of them are open.
    pub(crate) fn closer(&self) -> Closer {
        let (lines, line, shown) = (self.lines.clone(), self.closing.clone(), Once::new());
        let observer = Throttled::new(TICK, move |now, per_second| {
            if now.pending >= SHOWN_FROM {
                shown.call_once(|| drop(lines.add(line.clone())));
            }
            if shown.is_completed() {
                line.set_message(format!("Closing {} files ({per_second}/s)", now.pending));
            }
        });
        Closer::builder().observer(Arc::new(observer)).build()
    }

    /// A status line above what moves.
    pub(crate) fn status(&self, verb: &str, message: impl fmt::Display) {
        self.lines.suspend(|| self.shell.status(verb, message));
    }

    /// One more crate is done.
    pub(crate) fn done(&self, name: impl Into<String>) {
        self.crates.set_message(name.into());
        self.crates.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.closing.finish_and_clear();
        self.crates.finish_and_clear();
    }
}

/// As wide as cargo's.
fn bar(shell: Shell) -> ProgressStyle {
    let template = if shell.is_plain() {
        "{prefix:>12} [{bar:25}] {pos}/{len}: {wide_msg}"
    } else {
        "{prefix:>12.cyan.bold} [{bar:25}] {pos}/{len}: {wide_msg}"
    };
    styled(template).progress_chars("=> ")
}

fn line() -> ProgressStyle {
    styled("             {wide_msg}")
}

fn styled(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
