//! What the user sees: cargo's status lines, warnings and errors, on standard error.
//!
//! Only results that a program would read go to standard output. Colour follows `--color`, then
//! `CARGO_TERM_COLOR`, then the terminal and `NO_COLOR`.

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();

/// How much is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    #[default]
    Normal,
    Verbose,
}

/// Writes to the two standard streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shell {
    verbosity: Verbosity,
    color: ColorChoice,
}

impl Shell {
    pub(crate) fn new(verbosity: Verbosity, color: ColorChoice) -> Self {
        Self { verbosity, color }
    }

    pub(crate) fn is_verbose(self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// Whether a progress bar would be seen and is wanted.
    pub(crate) fn shows_progress(self) -> bool {
        self.verbosity != Verbosity::Quiet && io::stderr().is_terminal()
    }

    /// Whether the user wants no colour on standard error, or it shows none.
    pub(crate) fn is_plain(self) -> bool {
        let choice = AutoStream::new(io::stderr(), self.color).current_choice();
        choice == ColorChoice::Never
    }

    /// `   Vendoring itoa v1.0.0`: a verb, right-aligned in twelve columns.
    pub(crate) fn status(self, verb: &str, message: impl fmt::Display) {
        self.styled_status(GREEN, verb, message);
    }

    pub(crate) fn status_removed(self, verb: &str, message: impl fmt::Display) {
        self.styled_status(RED, verb, message);
    }

    pub(crate) fn status_aside(self, verb: &str, message: impl fmt::Display) {
        self.styled_status(CYAN, verb, message);
    }

    fn styled_status(self, style: Style, verb: &str, message: impl fmt::Display) {
        if self.verbosity != Verbosity::Quiet {
            self.say(format_args!("{style}{verb:>12}{style:#} {message}"));
        }
    }

    pub(crate) fn warn(self, message: impl fmt::Display) {
        if self.verbosity != Verbosity::Quiet {
            self.say(format_args!("{YELLOW}warning{YELLOW:#}: {message}"));
        }
    }

    pub(crate) fn note(self, message: impl fmt::Display) {
        if self.verbosity != Verbosity::Quiet {
            self.say(format_args!("{CYAN}note{CYAN:#}: {message}"));
        }
    }

    /// Plain text beside the result.
    pub(crate) fn aside(self, message: impl fmt::Display) {
        if self.verbosity != Verbosity::Quiet {
            self.say(message);
        }
    }

    pub(crate) fn verbose(self, message: impl fmt::Display) {
        if self.is_verbose() {
            self.say(message);
        }
    }

    /// An error with its causes, each indented below `Caused by:`.
    pub(crate) fn error(self, error: &anyhow::Error) {
        self.say(format_args!("{RED}error{RED:#}: {error}"));
        for cause in error.chain().skip(1) {
            let cause = cause.to_string().replace('\n', "\n  ");
            self.say(format_args!("\nCaused by:\n  {cause}"));
        }
    }

    /// A line of the command's result.
    ///
    /// # Errors
    /// When nobody reads standard output any more.
    pub(crate) fn result(self, line: impl fmt::Display) -> io::Result<()> {
        writeln!(AutoStream::new(io::stdout(), self.color), "{line}")
    }

    /// A reader of standard error that went away is no reason to stop.
    fn say(self, line: impl fmt::Display) {
        drop(writeln!(AutoStream::new(io::stderr(), self.color), "{line}"));
    }
}
