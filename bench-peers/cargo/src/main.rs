//! mini-cargo against the real cargo: the four commands of cargo's SQLite experiment.
//!
//! The commands are those that were measured for rust-lang/cargo#6908: `generate-lockfile`,
//! `update`, `update -p`, and, for its no-op `build`, a no-op `fetch --locked`. Both programs work
//! on the same cargo home, which holds an index and no archives: with archives `--offline` prefers
//! downloaded versions and so does other work. A second table has the same mini-cargo over other
//! stores of the same records, as cargo's experiment had SQLite and sled.
//!
//! Called as `bench-cargo MINI_CARGO [--quick] [--data DIR] [--out DIR]`.

mod backends;
mod commands;
mod copy;
mod fetch;
mod home;
mod locks;
mod projects;
mod stores;
mod tools;

use std::process::ExitCode;

use bench_util::{Error, Place, Report, Settings, Workdir, conclude};

use tools::Tools;

/// The workspace that the goal is about.
const LARGE: &str = "substrate";

fn main() -> ExitCode {
    let mut arguments = std::env::args();
    if arguments.by_ref().nth(1).is_some_and(|first| first == backends::AS_MINI_CARGO) {
        return backends::child(arguments);
    }
    let report = Settings::from_args().and_then(|settings| run(&settings));
    conclude(report.map(|report| report.exit_code()))
}

fn run(settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::new("cargo", "How long does locking take, against the real cargo?");
    let work = Workdir::on(&Place::Memory)?;
    let tools = Tools::find(settings)?;
    let home = home::prepare(settings, &work)?;
    let projects = projects::find(settings, &work, &mut report)?;
    let (built, stored) = (projects::to_build(&projects), projects.len() - 1);
    for (at, project) in projects.into_iter().enumerate() {
        let bench = commands::Bench { tools: &tools, home: &home, work: &work, settings, project };
        bench.run(&mut report);
        if at == built {
            let idle = fetch::nothing_to_do(&tools, &home, &work, settings, &bench.project);
            report.add_or_failed("nothing to fetch or build", idle);
        }
        if at == stored {
            over_stores(&bench, &mut report);
        }
    }
    report
        .note(format!("Both programs and all their files are in memory ({}).", work.filesystem()));
    report.note("mini-cargo is not cargo with another cache: it has no git dependencies, no other registries and no build. Its times show what a registry index that needs no parsing allows.");
    report.write(&settings.out)?;
    Ok(report)
}

/// The largest workspace over each store.
fn over_stores(bench: &commands::Bench<'_>, report: &mut Report) {
    let name = "other stores";
    match backends::compare(bench.home, bench.work, bench.settings, &bench.project) {
        Ok((comparison, sizes)) => {
            let noted = sizes.into_iter().fold(comparison, bench_util::Comparison::note);
            report.add(noted.note("Each store holds the whole index; each process opens it, locks and ends. All lead to cargo's lock. index-cache compares the checksum of every value that it reads."));
        }
        Err(error) => report.failed(name, &error),
    }
}
