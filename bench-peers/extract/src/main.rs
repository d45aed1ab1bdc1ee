//! stream-extract against its peers and against the floor of the machine.
//!
//! `bench-extract [--quick] [--data DIR] [--out DIR]` measures whole extractions; each case is a
//! process of its own (this program again, for what is linked in), so that all pay for starting.

mod beside;
mod cases;
mod crates;
mod floor;
mod peers;
mod tar;
mod tools;
mod zip;

use std::process::ExitCode;

use bench_util::{Error, Report, Settings, conclude};

fn main() -> ExitCode {
    conclude(start().map_err(|error| -> Box<dyn std::error::Error> { error }))
}

fn start() -> bench_extract::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, run, case, archive, target] = &arguments[..]
        && run == "run"
    {
        cases::run(case, archive.as_ref(), target.as_ref())?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(extract(&Settings::from_args()?)?.exit_code())
}

fn extract(settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::new("extract", "How far from the floor, and from uv's extractor?");
    let tools = tools::Tools::find(&mut report);
    zip::run(settings, &tools, &mut report)?;
    beside::run(settings, &mut report)?;
    tar::run(settings, &mut report)?;
    crates::run(settings, &mut report)?;
    report.note(
        "Archives and targets are on tmpfs, every target is fresh, and nothing is deleted while it \
         is measured. Each case is a whole process. All that inflate in Rust here, uv-extract too, do \
         it by zlib-rs with run-time detection of the processor: a dependency of uv-extract's \
         compression crates switches it on, which older versions of them did not.",
    );
    report.write(&settings.out)?;
    Ok(report)
}
