//! How a benchmark program ends.

use std::error::Error as StdError;
use std::process::ExitCode;

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
