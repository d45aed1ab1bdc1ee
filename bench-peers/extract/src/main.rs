//! stream-extract against its peers and against the floor of the machine.
//!
//! `bench-extract [--quick] [--data DIR] [--out DIR]` measures whole extractions; each case is a
//! process of its own (this program again, for what is linked in), so that all pay for starting.
//! `bench-extract buffers ...` counts allocations instead.

mod archives;
mod buffers;
mod cases;
mod crates;
mod floor;
mod peers;
mod tar;
mod tools;
mod zip;

use std::process::ExitCode;

use bench_util::{CountingAlloc, Error, Report, Settings};

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc::new();

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, run, case, archive, target] = &arguments[..]
        && run == "run"
    {
        return finish(cases::run(case, archive.as_ref(), target.as_ref()));
    }
    let measured = Settings::from_args().and_then(|settings| {
        if settings.rest.iter().any(|part| part == "buffers") {
            buffers::run(&settings)
        } else {
            extract(&settings)
        }
    });
    match measured {
        Ok(report) => report.exit_code(),
        Err(error) => {
            tell(&error);
            ExitCode::from(2)
        }
    }
}

fn finish(result: Result<(), Box<dyn std::error::Error + Send + Sync>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&*error);
            ExitCode::FAILURE
        }
    }
}

fn tell(error: &dyn std::error::Error) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        eprintln!("  cause: {inner}");
        cause = inner.source();
    }
}

fn extract(settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::new("extract", "How far from the floor, and from uv's extractor?");
    let tools = tools::Tools::find(settings, &mut report);
    zip::run(settings, &tools, &mut report)?;
    tar::run(settings, &mut report)?;
    crates::run(settings, &mut report)?;
    report.note(
        "Archives and targets are on tmpfs, every target is fresh, and nothing is deleted while it \
         is measured. Each case is a whole process. zip, rc-zip and tar are built with the faster \
         inflate that stream-extract chooses; uv-extract as uv ships it.",
    );
    report.write(&settings.out)?;
    Ok(report)
}
