//! Running other programs: every failure names the whole command and shows what it printed.
//!
//! There is no shell in between, so nothing needs quoting.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::Result;

/// The folder that holds the workspace's `Cargo.toml`.
pub(crate) fn workspace() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is a folder of the workspace").to_path_buf()
}

/// Where cargo puts what it builds for this workspace.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// The cargo that runs this chore.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace());
    command
}

/// Runs to the end and returns standard output; a failure carries both streams.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = spawn(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "`{}` failed with {}\n{}{}",
        rendered(command),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    )
    .into())
}

/// As [`output`], with the wall time it took.
pub(crate) fn timed(command: &mut Command) -> Result<(String, Duration)> {
    let start = Instant::now();
    let text = output(command)?;
    Ok((text, start.elapsed()))
}

fn spawn(command: &mut Command) -> Result<Output> {
    command.output().map_err(|error| format!("cannot run `{}`: {error}", rendered(command)).into())
}

/// The command as a person would type it.
pub(crate) fn rendered(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
