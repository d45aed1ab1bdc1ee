//! A thin but real cargo-like locker and vendorer composed from the toolkit.
//!
//! The lock file it writes is cargo's own, byte for byte, and real cargo builds offline from the
//! folder it vendors. It shows the four libraries at work: registry records in `index-cache`,
//! archives through `stream-extract` into `cas-store`, files closed by `deferred-close`.
//!
//! Reading order: `summary`, `workspace` (manifests), `store` and `record` (the registry),
//! `catalog` (candidates), `resolve` (the search), `lock`, then `command`.

mod cached;
mod cargo_files;
mod catalog;
mod cli;
mod command;
mod config_patch;
mod diff;
mod directory;
mod fetch;
mod hex;
mod home;
mod index_line;
mod lock;
mod manifest;
mod name;
// One file for both installers: it knows nothing of either.
#[path = "../../mini-uv/src/names.rs"]
mod names;
mod net;
mod pins;
mod progress;
mod project;
mod record;
mod resolve;
mod rust_version;
mod shell;
mod sink;
mod sparse;
pub mod store;
mod summary;
mod unpack;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser as _;

/// Cargo's exit code for everything but a mistyped command line.
const FAILED: u8 = 101;

/// Runs the command that the process's arguments ask for.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Runs the command that `arguments` ask for; the first one is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    parse_and_run(arguments, None)
}

/// The same over another store of the registry's records than the index cache.
///
/// For comparisons of stores: the store is used as it is and asks no registry.
pub fn run_over(
    store: Rc<dyn store::Store>,
    arguments: impl IntoIterator<Item = OsString>,
) -> ExitCode {
    parse_and_run(arguments, Some(store))
}

fn parse_and_run(
    arguments: impl IntoIterator<Item = OsString>,
    store: Option<Rc<dyn store::Store>>,
) -> ExitCode {
    let cli = match cli::Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let code = u8::from(error.use_stderr());
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    let shell = shell::Shell::new(cli.common.verbosity(), cli.common.color());
    match command::run(cli, shell, store) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell.error(&error);
            ExitCode::from(FAILED)
        }
    }
}
