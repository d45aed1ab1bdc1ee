//! Everything that is said to a person, and nothing that is computed.
//!
//! Status goes to stderr so that `list`, `freeze` and `--format json` can be piped. Colour and bars
//! appear only where a terminal shows them; `NO_COLOR`, `--color` and `--quiet` are honoured.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::fault;

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();
const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();

/// How much to say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ui {
    quiet: bool,
    bars: bool,
}

/// One line of the list of changes to an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    Removed,
    Replaced,
    Added,
}

impl Change {
    /// For programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Replaced => "reinstalled",
            Self::Added => "added",
        }
    }
}

impl Ui {
    pub(crate) fn new(quiet: bool, progress: bool) -> Self {
        Self { quiet, bars: progress && !quiet && std::io::stderr().is_terminal() }
    }

    /// One line of status.
    pub(crate) fn status(self, line: impl AsRef<str>) {
        if !self.quiet {
            to_stderr(line.as_ref());
        }
    }

    /// `Verb N packages in 3ms`, dimmed but for the count, as uv prints it.
    pub(crate) fn done(self, verb: &str, count: usize, since: Instant) {
        let took = duration(since.elapsed());
        let packages = packages(count);
        self.status(format!("{DIM}{verb}{DIM:#} {BOLD}{packages}{BOLD:#} {DIM}in {took}{DIM:#}"));
    }

    /// One changed package.
    pub(crate) fn change(self, change: Change, name: &str, version: &str) {
        let (style, sign) = match change {
            Change::Added => (GREEN, '+'),
            Change::Removed => (RED, '-'),
            Change::Replaced => (YELLOW, '~'),
        };
        self.status(format!(" {style}{sign}{style:#} {BOLD}{name}{BOLD:#}{DIM}=={version}{DIM:#}"));
    }

    /// Something that the user should know but that stops nothing.
    pub(crate) fn warn(self, line: impl AsRef<str>) {
        if !self.quiet {
            to_stderr(&format!("{YELLOW}warning:{YELLOW:#} {}", line.as_ref()));
        }
    }

    /// A line that says what takes its time, until it is cleared.
    pub(crate) fn busy(self, message: &'static str) -> ProgressBar {
        let line = ProgressBar::with_draw_target(None, self.target()).with_message(message);
        line.set_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        line.tick();
        line
    }

    fn target(self) -> ProgressDrawTarget {
        if self.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }

    /// A bar of `len` steps or bytes, hidden where it would only be noise.
    pub(crate) fn bar(
        self,
        len: u64,
        in_bytes: bool,
        message: impl Into<Cow<'static, str>>,
    ) -> ProgressBar {
        let count = if in_bytes { "{bytes}/{total_bytes}" } else { "{pos}/{len}" };
        let template = format!("{{msg}} {{wide_bar:.cyan/dim}} {count}");
        let style = ProgressStyle::with_template(&template)
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(len), self.target());
        let bar = bar.with_style(style).with_message(message);
        bar.tick();
        bar
    }
}

/// Prints an error in three parts: what, why, and what to do next.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut lines = fault::lines(error).into_iter();
    to_stderr(&format!("{RED}error:{RED:#} {}", lines.next().unwrap_or_default()));
    for cause in lines {
        to_stderr(&format!("  {RED}cause:{RED:#} {}", indent(&cause)));
    }
    for hint in fault::hints(error) {
        to_stderr(&format!("{CYAN}hint:{CYAN:#} {}", indent(&hint)));
    }
}

/// One line of a result, on stdout.
pub(crate) fn result(line: impl AsRef<str>) {
    // A closed pipe is the reader's way to say that it has seen enough.
    writeln!(anstream::stdout(), "{}", line.as_ref()).unwrap_or(());
}

fn to_stderr(line: &str) {
    // There is nowhere left to report a failure to write to stderr.
    writeln!(anstream::stderr(), "{line}").unwrap_or(());
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n         ")
}

/// `1 package`, `2 packages`.
pub(crate) fn packages(count: usize) -> String {
    plural(count as u64, "package")
}

/// `1 file`, `2 files`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `12ms`, `1.24s`.
fn duration(elapsed: Duration) -> String {
    if elapsed.as_secs() > 0 {
        format!("{:.2}s", elapsed.as_secs_f64())
    } else {
        format!("{}ms", elapsed.as_millis())
    }
}

/// `492.0KiB`, as uv prints sizes.
#[expect(clippy::cast_precision_loss, reason = "a size for people has four digits")]
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count}B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_read_like_uv() {
        assert_eq!(bytes(1023), "1023B");
        assert_eq!(bytes(503_808), "492.0KiB");
        assert_eq!(bytes(3 << 30), "3.0GiB");
        assert_eq!(duration(Duration::from_millis(17)), "17ms");
        assert_eq!(duration(Duration::from_millis(1240)), "1.24s");
        assert_eq!(packages(1), "1 package");
    }
}
