//! How a benchmark program prepares with other programs, and how it ends.

use std::error::Error as StdError;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{Error, redact};

/// Runs a program outside all times and returns its standard output.
///
/// # Errors
///
/// [`Error::is_unavailable`] when the program is not there or fails; then with what it said on
/// standard error, without addresses and paths.
///
/// # Examples
///
/// ```
/// use std::process::Command;
/// use bench_util::output_of;
///
/// # if cfg!(unix) {
/// assert_eq!(output_of(Command::new("printf").arg("1.0"))?, "1.0");
/// # }
/// let missing = output_of(&mut Command::new("no-such-program")).unwrap_err();
/// assert_eq!(missing.remedy(), Some("install it"));
/// # Ok::<(), bench_util::Error>(())
/// ```
pub fn output_of(command: &mut Command) -> Result<String, Error> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let output =
        command.output().map_err(|_| Error::unavailable(format!("`{name}`"), "install it"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = redact(String::from_utf8_lossy(&output.stderr).trim(), &[]);
    Err(Error::unavailable(format!("a working `{name}` ({reason})"), "see its message"))
}

/// Hands the status back, or tells the error with its causes on standard error and gives 2, the status
/// of what could not be had.
///
/// # Examples
///
/// ```
/// use std::process::ExitCode;
/// use bench_util::{Error, Report, Settings, conclude};
///
/// fn main() -> ExitCode {
///     conclude(run().map(|report| report.exit_code()))
/// }
///
/// fn run() -> Result<Report, Error> {
///     let settings = Settings::from_args()?;
///     let report = Report::new("nothing", "What does nothing cost?");
///     # if false {
///     report.write(&settings.out)?;
///     # }
///     Ok(report)
/// }
/// ```
pub fn conclude<E: Into<Box<dyn StdError>>>(result: Result<ExitCode, E>) -> ExitCode {
    result.unwrap_or_else(|error| {
        tell(&*error.into());
        ExitCode::from(2)
    })
}

#[expect(clippy::print_stderr, reason = "a program tells its user")]
fn tell(error: &dyn StdError) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        eprintln!("  cause: {inner}");
        cause = inner.source();
    }
}
