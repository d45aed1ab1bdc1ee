//! The index cache against a file per crate (what cargo does), SQLite, sled, redb and LMDB, on the
//! work that a resolver makes: look up a few hundred names, store what the network brought.
//!
//! `bench-index [--quick] [--data DIR] [--out DIR] [ROW...]`; exit code 0: all goals met, 1: one
//! missed, 2: inconclusive, or something could not be had.
//!
//! DIR is a cargo home, or a folder that holds one as `cargo-home/`, or cargo's `.cache` folder.

mod data;
mod process;
mod rows;
mod stores;

use bench_util::{CaseError, Report, Settings, conclude};
use data::Dataset;
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    conclude(run().map_err(|error| -> Box<dyn Error> { error }))
}

fn run() -> Result<ExitCode, CaseError> {
    let settings = Settings::from_args()?;
    if settings.rest.first().is_some_and(|first| first == process::WORD) {
        process::run(&settings.rest[1..])?;
        return Ok(ExitCode::SUCCESS);
    }
    let data = Dataset::load(&settings)?;
    let mut report = Report::new("index", "Is one checksummed file faster than a file per crate?");
    report.note(data.description.clone());
    rows::run(&settings, &data, &mut report)?;
    report.write(&settings.out)?;
    println!("{}", report.to_markdown());
    Ok(report.exit_code())
}
