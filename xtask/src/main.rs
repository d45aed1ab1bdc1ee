//! Chores of this workspace, run as `cargo xtask NAME`.
//!
//! Each chore is one module; none of them is linked into a library or an example. What a chore
//! needs of the outside world (Python, network, loop devices) it checks for by itself, and says
//! what is missing and how to get it.

use std::error::Error;
use std::process::ExitCode;

mod api;
mod bench;
mod ci;
mod demo;
mod dependencies;
#[cfg(test)]
mod documents;
mod shell;
mod soak;
mod tree;
mod windows;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask <chore>

  demo [--keep]      install real wheels twice, lock and vendor with mini-cargo, build offline
  bench NAME ...     one table of the benchmarks, or all; without a name, the names
  ci [--list] [STEP ..]
                     what continuous integration runs, in the same order
  soak [--minutes N] stores and installers under kills, a full disk and few file descriptors
  dependencies       what each library drags in, as docs/DEPENDENCIES.md holds it
  api [--write]      the libraries' public interfaces against their lists in docs/api
  windows -p NAME .. the tests under Wine, with the list of those left out and why
";

#[expect(clippy::print_stderr, reason = "a command-line program reports to its user")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("  cause: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "usage goes to the user")]
fn run(arguments: &[String]) -> Result<ExitCode> {
    let (chore, rest) = arguments.split_first().map_or(("help", &[][..]), |(c, r)| (c.as_str(), r));
    match chore {
        "demo" => demo::run(rest).map(|()| ExitCode::SUCCESS),
        "bench" => bench::run(rest),
        "ci" => Ok(ci::run(rest)),
        "soak" => soak::run(rest).map(|()| ExitCode::SUCCESS),
        "dependencies" => dependencies::run().map(|()| ExitCode::SUCCESS),
        "api" => api::run(rest).map(|()| ExitCode::SUCCESS),
        "windows" => windows::run(rest).map(|()| ExitCode::SUCCESS),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        unknown => {
            eprint!("error: no chore is called `{unknown}`\n\n{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}
