//! mini-cargo against the real cargo: the four commands of cargo's SQLite experiment.
//!
//! The commands are those that were measured for rust-lang/cargo#6908: `generate-lockfile`,
//! `update`, `update -p`, and, for its no-op `build`, a no-op `fetch --locked`. Both programs work
//! on the same cargo home, which holds an index and no archives: with archives `--offline` prefers
//! downloaded versions and so does other work.
//!
//! Called as `bench-cargo MINI_CARGO [--quick] [--data DIR] [--out DIR]`.

mod commands;
mod copy;
mod fetch;
mod home;
mod locks;
mod projects;
mod tools;

use std::process::ExitCode;

use bench_util::{Error, Place, Report, Settings, Workdir};

use tools::Tools;

/// The workspace that the goal is about.
const LARGE: &str = "substrate";

fn main() -> ExitCode {
    match Settings::from_args().and_then(|settings| run(&settings)) {
        Ok(report) => report.exit_code(),
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = std::error::Error::source(&error);
            while let Some(inner) = cause {
                eprintln!("  cause: {inner}");
                cause = inner.source();
            }
            ExitCode::from(2)
        }
    }
}

fn run(settings: &Settings) -> Result<Report, Error> {
    let mut report = Report::new("cargo", "How long does locking take, against the real cargo?");
    let work = Workdir::on(&Place::Memory)?;
    let tools = Tools::find(settings)?;
    let home = home::prepare(settings, &work)?;
    for (at, project) in projects::find(settings, &work, &mut report)?.into_iter().enumerate() {
        let bench = commands::Bench { tools: &tools, home: &home, work: &work, settings, project };
        bench.run(&mut report);
        if at == 0 {
            let idle = fetch::nothing_to_do(&tools, &home, &work, settings, &bench.project);
            report.add_or_failed("nothing to fetch or build", idle);
        }
    }
    if settings.data.is_none() {
        report.missing(
            "cargo's benchmark workspaces",
            "they are not part of this repository",
            "give --data DIR with `workspaces/*.tgz` (cargo's benches/workspaces) and `cargo-home/`",
        );
    }
    report.missing(
        "mini-cargo over SQLite, sled and redb",
        "its storage trait is implemented for cargo's files and index-cache only",
        "see the rows of `cargo xtask bench index` for the stores by themselves",
    );
    report
        .note(format!("Both programs and all their files are in memory ({}).", work.filesystem()));
    report.note("mini-cargo is not cargo with another cache: it has no source replacement checks, no git dependencies and no build. Its times show what a registry index that needs no parsing allows.");
    report.write(&settings.out)?;
    Ok(report)
}
