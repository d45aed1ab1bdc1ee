//! Does mini-cargo lock as cargo does? Real projects, both programs, the same index.
//!
//! ```text
//! cargo run --release -p mini-cargo --example parity -- [--data DIR] [--updates N] [NAME@VERSION ...]
//! ```
//!
//! For each project: `generate-lockfile` from nothing; whether real cargo takes our lock as it is
//! (`update --workspace --offline --locked`); then, from the lock file that the project came with,
//! `update --workspace`, `update`, and for up to N of its packages `update -p` and
//! `update -p --precise` to the next lower version. Locks must be equal byte for byte and exit
//! codes equal. Exit code 1: something differed, and is shown.
//!
//! `DIR/workspaces` holds folders or `.tgz` files, locked over the index in `DIR/cargo-home`.
//! Without arguments a list of published projects is locked; those come over the network through
//! cargo itself, as do their index entries, into a cargo home that goes away afterwards.

mod checks;
mod programs;
mod projects;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

/// Published with the lock file of their release. A test bed, not a judgement.
const PUBLISHED: [&str; 8] = [
    "bat@0.25.0",
    "cargo-deny@0.18.3",
    "cargo@0.91.0",
    "fd-find@10.2.0",
    "hyperfine@1.19.0",
    "just@1.42.4",
    "ripgrep@14.1.1",
    "zellij@0.42.2",
];

/// What is asked for.
struct Options {
    data: Option<PathBuf>,
    /// Packages of each project to update alone.
    updates: usize,
    published: Vec<String>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    if arguments.by_ref().nth(1).is_some_and(|first| first == programs::AS_MINI_CARGO) {
        return mini_cargo::run(std::iter::once("mini-cargo".into()).chain(arguments));
    }
    match options().and_then(|options| run(&options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options> {
    let mut options = Options { data: None, updates: 8, published: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--data" => options.data = Some(std::path::absolute(value()?)?),
            "--updates" => options.updates = value()?.parse().context("--updates N")?,
            name if name.contains('@') => options.published.push(name.to_owned()),
            other => bail!("`{other}` is neither a flag of this program nor NAME@VERSION"),
        }
    }
    if options.data.is_none() && options.published.is_empty() {
        options.published.extend(PUBLISHED.map(str::to_owned));
    }
    Ok(options)
}

fn run(options: &Options) -> Result<bool> {
    let work = tempfile::tempdir().context("failed to create a work folder")?;
    let mut equal = true;
    println("project", &checks::HEAD.map(str::to_owned));
    for project in projects::find(options.data.as_deref(), &options.published, work.path())? {
        let outcome = checks::check(&project?, options.updates)?;
        println(&outcome.project, &outcome.cells());
        for difference in &outcome.differences {
            equal = false;
            anstream::println!("{difference}");
        }
    }
    Ok(equal)
}

fn println(name: &str, cells: &[String]) {
    let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:>12}")).collect();
    anstream::println!("{name:<24}{}", cells.concat());
}
