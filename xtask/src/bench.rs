//! `cargo xtask bench NAME`: every table of the benchmarks by one command.
//!
//! The benchmarks are programs in `bench-peers/`, a workspace of its own because its peers need C
//! compilers and time to build. This module only builds and starts them, one after the other, and
//! has `bench-report` join what they wrote. It measures nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::{Result, shell};

/// One table, or one family of tables.
struct Bench {
    name: &'static str,
    /// The program, and the report's file is called after `name`.
    program: &'static str,
    package: &'static str,
    /// The installer that it measures, to be built and handed over as the first argument.
    installer: Option<&'static str>,
    shows: &'static str,
}

const BENCHES: [Bench; 8] = [
    bench(
        "index",
        "bench-index",
        "the index cache against a file per crate, SQLite, LMDB and others",
    ),
    bench("cas", "bench-cas", "installing through the store against an archive tree without it"),
    Bench {
        package: "bench-cas",
        ..bench("savings", "bench-savings", "what sharing saves, by file selection")
    },
    bench("extract", "bench-extract", "extraction against uv-extract, zip, tar and the floor"),
    Bench {
        package: "bench-extract",
        ..bench("buffers", "bench-buffers", "allocations for one buffer and for one per file")
    },
    bench("close", "bench-close", "deferred close on slow and fast file systems"),
    Bench {
        installer: Some("mini-uv"),
        ..bench("uv", "bench-uv", "mini-uv against uv, cold and warm")
    },
    Bench {
        installer: Some("mini-cargo"),
        ..bench("cargo", "bench-cargo", "mini-cargo against cargo on its benchmark workspaces")
    },
];

const fn bench(name: &'static str, program: &'static str, shows: &'static str) -> Bench {
    Bench { name, program, package: program, installer: None, shows }
}

/// Runs one benchmark, or all.
///
/// The status is 0 when all goals were met, 1 when one was missed, 2 when one was inconclusive or
/// something, such as a peer, could not be had.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((name, options)) = arguments.split_first() else { return Ok(usage()) };
    let chosen: Vec<&Bench> =
        BENCHES.iter().filter(|bench| name == "all" || name == bench.name).collect();
    if chosen.is_empty() {
        return Ok(usage());
    }
    let out = out_folder(options)?;
    let statuses: Vec<u8> = chosen.iter().map(|bench| run_one(bench, options, &out)).collect();
    report(name, &chosen, &out)?;
    Ok(ExitCode::from(worst(&statuses)))
}

/// A missed goal says more than a missing peer.
fn worst(statuses: &[u8]) -> u8 {
    if statuses.contains(&1) { 1 } else { statuses.iter().copied().max().unwrap_or(0) }
}

/// A program that does not build or does not start is a peer that could not be had.
fn run_one(bench: &Bench, options: &[String], out: &Path) -> u8 {
    status("Measuring", &format!("{}: {}", bench.name, bench.shows));
    match try_one(bench, options, out) {
        Ok(code) => code,
        Err(error) => {
            status("Missing", &format!("{}: {error}", bench.name));
            2
        }
    }
}

fn try_one(bench: &Bench, options: &[String], out: &Path) -> Result<u8> {
    let installer = bench.installer.map(build_installer).transpose()?;
    let program = build(bench.package, bench.program)?;
    forget(&out.join(format!("{}.json", bench.name)))?;
    let mut command = Command::new(program);
    command.args(installer).args(options).arg("--out").arg(out);
    let status = command.status()?;
    let code = status.code().ok_or_else(|| format!("`{}` ended with {status}", bench.program))?;
    Ok(if (0..=2).contains(&code) { u8::try_from(code)? } else { 2 })
}

/// A report of an earlier run must not pass for one of this run.
fn forget(report: &Path) -> Result<()> {
    match std::fs::remove_file(report) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn build_installer(name: &str) -> Result<PathBuf> {
    status("Building", name);
    shell::output(shell::cargo().args(["build", "--release", "--locked", "-p", name]))?;
    Ok(release(&shell::workspace().join("target"), name))
}

fn build(package: &str, program: &str) -> Result<PathBuf> {
    status("Building", program);
    let peers = shell::workspace().join("bench-peers");
    let manifest = peers.join("Cargo.toml");
    let mut cargo = shell::cargo();
    cargo.args(["build", "--release", "--locked", "-p", package, "--bin", program]);
    cargo.arg("--manifest-path").arg(manifest);
    shell::output(&mut cargo)?;
    Ok(release(&peers.join("target"), program))
}

/// Where cargo put a program, `CARGO_TARGET_DIR` being the same for both workspaces.
fn release(target: &Path, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| target.into(), PathBuf::from);
    target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The folder after `--out`, else `target/bench`.
fn out_folder(options: &[String]) -> Result<PathBuf> {
    let given = options.iter().skip_while(|option| *option != "--out").nth(1);
    let folder =
        given.map_or_else(|| shell::workspace().join("target").join("bench"), PathBuf::from);
    Ok(std::path::absolute(folder)?)
}

/// Joins the reports of several benchmarks into `all`.
fn report(name: &str, benches: &[&Bench], out: &Path) -> Result<()> {
    if name == "all" {
        let names = benches.iter().map(|bench| bench.name);
        shell::output(Command::new(build("bench-report", "bench-report")?).arg(out).args(names))?;
    }
    status("Reported", &format!("{}", out.join(format!("{name}.html")).display()));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "usage goes to the user")]
fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask bench NAME [--quick] [--data DIR] [--out DIR] [WHEEL...]\n");
    for bench in &BENCHES {
        eprintln!("  {:<9} {}", bench.name, bench.shows);
    }
    eprintln!("  {:<9} all of them, and one report of all", "all");
    eprintln!(
        "\n--data DIR holds your own `wheels/`, `cargo-home/` and `workspaces/`; what is missing"
    );
    eprintln!(
        "is made or fetched by package name. The status is 0 when all goals were met, 1 when one"
    );
    eprintln!("was missed, 2 when one was inconclusive or something could not be had.");
    ExitCode::from(2)
}

/// One line of progress, in cargo's manner.
#[expect(clippy::print_stderr, reason = "a person following the run sees where it is")]
fn status(verb: &str, what: &str) {
    eprintln!("{verb:>12} {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_goal_outweighs_a_missing_peer() {
        assert_eq!([&[0, 0][..], &[0, 2], &[2, 1], &[]].map(worst), [0, 2, 1, 0]);
    }

    #[test]
    fn every_benchmark_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            BENCHES.iter().map(|bench| bench.name).collect();
        assert_eq!(names.len(), BENCHES.len());
    }
}
