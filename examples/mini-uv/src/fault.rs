//! What a command says when it cannot go on: what failed, why, and what to do next.
//!
//! An error that does not say what to do next makes the user search for it. The hint travels with
//! the error from the place that knows it, and so does the exit code: 1 when the request could not
//! be satisfied or a check failed, 2 for everything else (usage, environment, input and output).
//! Nothing here prints; `ui.rs` does.

use std::error::Error as StdError;
use std::fmt;
use std::io::ErrorKind;
use std::process::ExitCode;

/// An error that knows the next step, the exit code, or both.
pub(crate) struct Advised {
    error: anyhow::Error,
    hint: Option<String>,
    unsatisfied: bool,
}

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Debug for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl StdError for Advised {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

/// An error on its way through a library that takes boxed errors.
///
/// anyhow's own conversion would hide the advice inside.
#[derive(Debug)]
pub(crate) struct Carried(pub(crate) anyhow::Error);

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for Carried {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

/// Attaches a next step, or exit code 1, to an error.
pub(crate) trait Advise<T> {
    /// Adds the next step for the user.
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T>;
    /// Adds a next step that is worth computing only for an error.
    fn hint_with(self, hint: impl FnOnce() -> String) -> anyhow::Result<T>;
    /// Marks the request as impossible, as opposed to broken.
    fn unsatisfied(self) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T> {
        self.hint_with(|| hint.into())
    }

    fn hint_with(self, hint: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| advised(error.into(), Some(hint()), false))
    }

    fn unsatisfied(self) -> anyhow::Result<T> {
        self.map_err(|error| advised(error.into(), None, true))
    }
}

fn advised(error: anyhow::Error, hint: Option<String>, unsatisfied: bool) -> anyhow::Error {
    Advised { error, hint, unsatisfied }.into()
}

/// The hints of an error, outermost first, each once.
pub(crate) fn hints(error: &anyhow::Error) -> Vec<String> {
    let mut hints = Vec::new();
    let stated = advice(error).into_iter().filter_map(|advice| advice.hint.clone());
    for hint in system_hint(error).map(str::to_owned).into_iter().chain(stated) {
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    hints
}

/// What to do about the system's commonest refusals, wherever they came from.
fn system_hint(error: &anyhow::Error) -> Option<&'static str> {
    let refusals = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    refusals.map(std::io::Error::kind).find_map(|kind| match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(
            "nothing was changed; free some space, or move the cache with `--cache-dir`, and try again",
        ),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Some("use an environment and a `--cache-dir` that you may write to")
        }
        _ => None,
    })
}

/// The exit code of an error.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    let unsatisfied = advice(error).iter().any(|advice| advice.unsatisfied);
    ExitCode::from(if unsatisfied { 1 } else { 2 })
}

/// Every piece of advice in the chain; advice may wrap advice.
fn advice(error: &anyhow::Error) -> Vec<&Advised> {
    let mut found = Vec::new();
    for cause in error.chain() {
        let carried = cause.downcast_ref::<Carried>();
        let carried = carried.and_then(|carried| carried.0.downcast_ref::<Advised>());
        let mut next = cause.downcast_ref::<Advised>().or(carried);
        while let Some(advised) = next {
            found.push(advised);
            next = advised.error.downcast_ref::<Advised>();
        }
    }
    found
}

/// The chain as text, without a line that repeats the one before it.
pub(crate) fn lines(error: &anyhow::Error) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cause in error.chain() {
        let line = cause.to_string();
        if !lines.iter().any(|earlier| earlier.ends_with(&line)) {
            lines.push(line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn hints_and_exit_codes_survive_context() {
        let failed: anyhow::Result<()> =
            Err(anyhow!("root")).unsatisfied().hint("do this").context("outer");
        let error = failed.hint("and that").unwrap_err();
        assert_eq!(hints(&error), ["and that", "do this"]);
        assert_eq!(lines(&error), ["outer", "root"]);
        assert_eq!(format!("{:?}", exit_code(&error)), format!("{:?}", ExitCode::from(1)));
    }

    /// An error like those of libraries that call back.
    #[derive(Debug)]
    struct Library(Box<dyn StdError + Send + Sync>);

    impl fmt::Display for Library {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "the callback failed")
        }
    }

    impl StdError for Library {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&*self.0)
        }
    }

    #[test]
    fn hints_survive_a_library_that_boxes_errors() {
        let inner: anyhow::Result<()> = Err(anyhow!("root")).hint("do this");
        let error = anyhow::Error::new(Library(Carried(inner.unwrap_err()).into()));
        assert_eq!(hints(&error), ["do this"]);
        assert_eq!(lines(&error), ["the callback failed", "root"]);
    }

    #[test]
    fn an_error_without_advice_exits_with_two() {
        let error = anyhow!("broken");
        assert!(hints(&error).is_empty());
        assert_eq!(format!("{:?}", exit_code(&error)), format!("{:?}", ExitCode::from(2)));
    }
}
