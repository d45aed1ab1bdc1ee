//! A whole benchmark program: two ways to lay 500 small files down, on a file system of its own.
//!
//! `cargo run --release --example paired -- --quick --out target/bench`

use std::path::Path;
use std::process::ExitCode;

use bench_util::{
    CaseError, CountingAlloc, Error, Goal, Metric, Paired, Place, Report, Settings, Workdir,
    conclude,
};

#[global_allocator]
static ALLOC: CountingAlloc = CountingAlloc::new();

const FILES: usize = 500;
const BODY: [u8; 4096] = [7; 4096];

fn main() -> ExitCode {
    conclude(run().map(|report| report.exit_code()))
}

fn run() -> Result<Report, Error> {
    let settings = Settings::from_args()?;
    let mut report = Report::new("paired", "Is a hard link cheaper than a small file?");
    for place in [Place::Memory, Place::JournaledExt4 { size_bytes: 1 << 30 }] {
        // Without root there is no loop mount: the report then says so instead of leaving it out.
        report.add_or_missing("journaled ext4", compare(&place, &settings))?;
    }
    report.write(&settings.out)?;
    print(&report);
    Ok(report)
}

fn compare(place: &Place, settings: &Settings) -> Result<bench_util::Comparison, Error> {
    let work = Workdir::on(place)?;
    let sources = work.fresh("sources")?;
    write_files(&sources).map_err(|error| Error::unavailable(error.to_string(), "free space"))?;
    let comparison = Paired::new(format!("{FILES} files of 4 KiB on {}", work.filesystem().kind))
        .settings(settings)
        .counter("allocations", || ALLOC.stats().calls)
        .reference_metered("write", |meter| {
            let target = work.fresh("write")?; // not timed
            meter.measure(|| write_files(&target))
        })
        .case_metered("link", |meter| {
            let target = work.fresh("link")?;
            meter.measure(|| link_files(&sources, &target))
        })
        .goal(0.9)
        .goal_on(Metric::Cpu, Goal::AtMost(0.9))
        .run()?;
    Ok(comparison.note(format!("File system: {}.", work.filesystem())))
}

fn write_files(target: &Path) -> Result<(), CaseError> {
    for number in 0..FILES {
        std::fs::write(target.join(number.to_string()), BODY)?;
    }
    Ok(())
}

fn link_files(sources: &Path, target: &Path) -> Result<(), CaseError> {
    for number in 0..FILES {
        let name = number.to_string();
        std::fs::hard_link(sources.join(&name), target.join(&name))?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a program shows its result")]
fn print(report: &Report) {
    println!("{}", report.to_markdown());
}
