//! `bench-close [--quick] [--out DIR] [PART [ROW]]`: does closing elsewhere pay, and what does it cost
//! where it does not? PART is `slow`, `disks`, `sync`, `lost` or `threads`; ROW is some of a row's name.
//!
//! Each measurement writes the same files into a fresh, empty file system and ends when every file
//! is closed. Reference: a checked close on the caller's thread. Peers are in `contenders.rs`.
//! Needs root on Linux for FUSE and loop mounts; what cannot be had is named, and the exit code is 2.

use std::error::Error;
use std::process::ExitCode;

use bench_util::{Report, Settings, conclude};
use server::Server;

mod contenders;
mod lost;
mod quick_disks;
mod server;
mod slow;
mod sync;
mod threads;
mod workload;

type Part = fn(&Settings, &mut Report) -> Result<(), Box<dyn Error>>;

/// In reading order, and whether they mount a slow file system.
const PARTS: [(&str, bool, Part); 5] = [
    ("slow", true, slow::compare),
    ("disks", false, quick_disks::compare),
    ("sync", false, sync::compare),
    ("lost", true, lost::count),
    ("threads", true, threads::sweep),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.first().map(String::as_str) {
        Some(server::COMMAND) => server::serve(&arguments[1..]).map(|()| ExitCode::SUCCESS),
        _ => run(arguments),
    };
    conclude(result)
}

fn run(arguments: Vec<String>) -> Result<ExitCode, Box<dyn Error>> {
    let settings = Settings::parse(arguments)?;
    let question = "Is closing files on other threads faster where closing is slow, and free where it is quick?";
    let mut report = Report::new("close", question);
    let only = settings.rest.first().map(String::as_str);
    if only.is_some_and(|only| PARTS.iter().all(|(name, ..)| *name != only)) {
        return Err("no part is called so: slow, disks, sync, lost, threads".into());
    }
    for (name, mounts, part) in PARTS {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        match if mounts { Server::probe() } else { Ok(()) } {
            Ok(()) => part(&settings, &mut report)?,
            Err(error) => {
                let what = format!("slow file systems: {name}");
                report.missing(what, error.to_string(), "run as root on Linux, with /dev/fuse");
            }
        }
    }
    report.write(&settings.out)?;
    println!("{}", report.to_markdown());
    Ok(report.exit_code())
}
