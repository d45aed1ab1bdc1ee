//! `bench-close [--quick] [--out DIR] [PART [ROW]]`: does closing elsewhere pay, and what does it cost
//! where it does not? PART is `slow`, `disks`, `sync`, `lost` or `threads`; ROW is some of a row's name.
//!
//! Each measurement writes the same files into a fresh, empty file system and ends when every file
//! is closed. Reference: a checked close on the caller's thread. Peers are in `contenders.rs`.
//! Needs root on Linux for FUSE and loop mounts; what cannot be had is named, and the exit code is 2.

use std::error::Error;
use std::process::ExitCode;

use bench_util::{Report, Settings};

mod contenders;
mod lost;
mod quick_disks;
mod server;
mod slow;
mod sync;
mod threads;
mod workload;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some(server::COMMAND) => server::serve(&arguments[1..]).map(|()| ExitCode::SUCCESS),
        _ => run(arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn run(arguments: Vec<String>) -> Result<ExitCode, Box<dyn Error>> {
    let settings = Settings::parse(arguments)?;
    let question = "Is closing files on other threads faster where closing is slow, and free where it is quick?";
    let mut report = Report::new("close", question);
    let only = settings.rest.first().map(String::as_str);
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    if wanted("slow") {
        slow::compare(&settings, &mut report)?;
    }
    if wanted("disks") {
        quick_disks::compare(&settings, &mut report)?;
    }
    if wanted("sync") {
        sync::compare(&settings, &mut report)?;
    }
    if wanted("lost") {
        lost::count(&mut report)?;
    }
    if wanted("threads") {
        threads::sweep(&settings, &mut report)?;
    }
    report.write(&settings.out)?;
    println!("{}", report.to_markdown());
    Ok(report.exit_code())
}
