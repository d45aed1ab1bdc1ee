//! `cargo xtask bench NAME`: every table of the benchmarks by one command.
//!
//! The benchmarks are programs in `bench-peers/`, a workspace of its own because its peers need C
//! compilers and time to build. This module only builds and starts them, one after the other, and
//! has `bench-report` join what they wrote. It measures nothing.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

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

static BENCHES: [Bench; 9] = [
    bench("gate", "bench-gate", "whether this machine's numbers can be believed"),
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

/// Runs the named benchmarks, or all; `join` measures nothing and joins the reports that are there.
///
/// The status is 0 when all goals were met, 1 when one was missed, 2 when one was inconclusive or
/// something, such as a peer, could not be had.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((chosen, options)) = chosen(arguments) else { return Ok(usage()) };
    let out = out_folder(options)?;
    let start = Instant::now();
    let ends: Vec<End> = chosen.iter().map(|bench| run_one(bench, options, &out)).collect();
    if chosen.len() != 1 {
        let measured: Duration = ends.iter().map(|end| end.took).sum();
        let (measured, all) = (measured.as_secs(), start.elapsed().as_secs());
        status("Finished", &format!("measuring {measured} s, with builds and downloads {all} s"));
        join(&out)?;
    }
    for bench in &chosen {
        status("Reported", &format!("{}", out.join(format!("{}.html", bench.name)).display()));
    }
    Ok(ExitCode::from(worst(ends.iter().map(|end| end.status))))
}

/// How one benchmark ended.
#[derive(Default)]
struct End {
    status: u8,
    /// Of the program alone, without building it.
    took: Duration,
}

/// The names before the first other word, and the rest.
fn chosen(arguments: &[String]) -> Option<(Vec<&'static Bench>, &[String])> {
    match arguments.first()?.as_str() {
        "all" => return Some((BENCHES.iter().collect(), &arguments[1..])),
        "join" => return Some((Vec::new(), &arguments[1..])),
        _ => {}
    }
    let named = |name: &String| BENCHES.iter().find(|bench| bench.name == name);
    let chosen: Vec<&Bench> = arguments.iter().map_while(named).collect();
    let options = &arguments[chosen.len()..];
    (!chosen.is_empty()).then_some((chosen, options))
}

/// A missed goal says more than a missing peer.
fn worst(statuses: impl IntoIterator<Item = u8>) -> u8 {
    let rank = |status: &u8| [0, 2, 1][usize::from(*status).min(2)];
    statuses.into_iter().max_by_key(rank).unwrap_or(0)
}

/// What does not build, start or report is a row of what could not be had, with the reason.
fn run_one(bench: &Bench, options: &[String], out: &Path) -> End {
    status("Measuring", &format!("{}: {}", bench.name, bench.shows));
    try_one(bench, options, out).unwrap_or_else(|error| {
        status("Missing", &format!("{}: {error}", bench.name));
        let why = last_lines(&error.to_string());
        if let Err(error) = tell_missing(bench.name, &why, out) {
            status("Missing", &error.to_string());
        }
        End { status: 2, ..End::default() }
    })
}

fn try_one(bench: &Bench, options: &[String], out: &Path) -> Result<End> {
    let installer = bench.installer.map(build_installer).transpose()?;
    let program = build(bench.package, bench.program)?;
    let report = out.join(format!("{}.json", bench.name));
    forget(&report)?;
    let mut command = Command::new(program);
    call_it(&mut command, &format!("cargo xtask bench {}", bench.name));
    command.args(installer).args(options).arg("--out").arg(out);
    let start = Instant::now();
    let (code, said) = run_telling(&mut command)?;
    let took = start.elapsed();
    status("Measured", &format!("{} in {} s", bench.name, took.as_secs()));
    if report.exists() { Ok(End { status: code, took }) } else { Err(said.into()) }
}

/// The name under which the program notes how it was called.
#[cfg(unix)]
fn call_it(command: &mut Command, name: &str) {
    use std::os::unix::process::CommandExt as _;
    command.arg0(name);
}

#[cfg(not(unix))]
fn call_it(_command: &mut Command, _name: &str) {}

/// Runs to the end, passing on what the program says; returns its code and the last of that.
fn run_telling(command: &mut Command) -> Result<(u8, String)> {
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let said = child.stderr.take().map(pass_on).unwrap_or_default();
    let status = child.wait()?;
    let code = status.code().ok_or_else(|| format!("it ended with {status}\n{said}"))?;
    Ok((if (0..=2).contains(&code) { u8::try_from(code)? } else { 2 }, said))
}

#[expect(clippy::print_stderr, reason = "passes on what a program tells its user")]
fn pass_on(stderr: impl Read) -> String {
    let mut said = String::new();
    for line in BufReader::new(stderr).lines().map_while(std::io::Result::ok) {
        eprintln!("{line}");
        said = last_lines(&format!("{said}\n{line}"));
    }
    said
}

/// Where tools say what went wrong.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

/// Writes a report that holds nothing but why there is none.
fn tell_missing(name: &str, why: &str, out: &Path) -> Result<()> {
    let program = build("bench-report", "bench-report")?;
    shell::output(Command::new(program).arg(out).args(["--missing", name, why])).map(drop)
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
    cargo.args(["build", "--release", "--locked", "-p", package, "--bins"]);
    cargo.arg("--manifest-path").arg(manifest);
    shell::output(&mut cargo)?;
    Ok(release(&peers.join("target"), program))
}

/// Where cargo put a program, `CARGO_TARGET_DIR` being the same for both workspaces.
fn release(target: &Path, name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| target.into(), PathBuf::from);
    target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The folder after `--out`, else `target/bench` of the workspace.
fn out_folder(options: &[String]) -> Result<PathBuf> {
    let given = options.iter().skip_while(|option| *option != "--out").nth(1);
    let folder =
        given.map_or_else(|| shell::workspace().join("target").join("bench"), PathBuf::from);
    Ok(std::path::absolute(folder)?)
}

/// Joins what is reported in `out` into `all`, and draws the headline picture. The gate is left out:
/// its missed goals are wanted.
fn join(out: &Path) -> Result<()> {
    let there = |name: &&str| out.join(format!("{name}.json")).exists();
    let names = BENCHES.iter().map(|bench| bench.name).filter(|name| *name != "gate");
    let program = build("bench-report", "bench-report")?;
    shell::output(Command::new(program).arg(out).args(names.filter(there)))?;
    status("Joined", &format!("{}", out.join("all.html").display()));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "usage goes to the user")]
fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask bench NAME... [--quick] [--data DIR] [--out DIR] [WHEEL...]\n");
    for bench in &BENCHES {
        eprintln!("  {:<9} {}", bench.name, bench.shows);
    }
    eprintln!("  {:<9} all of them, and one report of all", "all");
    eprintln!("  {:<9} none: joins the reports that are there into `all`", "join");
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
        let statuses = [&[0, 0][..], &[0, 2], &[2, 1, 0], &[]];
        assert_eq!(statuses.map(|some| worst(some.iter().copied())), [0, 2, 1, 0]);
    }

    #[test]
    fn of_a_long_text_the_end_is_kept() {
        assert_eq!(last_lines("1\n2\n\n3\n4\n5\n6\n"), "2\n3\n4\n5\n6");
        assert_eq!(last_lines("one"), "one");
    }

    /// Ctrl-C reaches a whole process group; a benchmark in another one would measure on.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_benchmark_is_in_the_group_that_ctrl_c_reaches() {
        let group = |stat: &str| stat.split(' ').nth(4).map(str::to_owned);
        let (code, said) =
            run_telling(Command::new("sh").args(["-c", "cat /proc/self/stat >&2; exit 1"]))
                .unwrap();
        assert_eq!(code, 1);
        assert_eq!(group(&said), group(&std::fs::read_to_string("/proc/self/stat").unwrap()));
    }

    #[test]
    #[cfg(unix)]
    fn a_benchmark_that_was_killed_is_a_row_of_what_could_not_be_had() {
        let killed = run_telling(Command::new("sh").args(["-c", "echo why >&2; kill -9 $$"]));
        let error = killed.unwrap_err().to_string();
        assert!(error.contains("signal: 9") && error.contains("why"), "{error}");
    }

    #[test]
    fn names_come_first_and_the_rest_is_handed_on() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let names = |text: &str| {
            let words = words(text);
            let (chosen, rest) = chosen(&words)?;
            Some((chosen.iter().map(|bench| bench.name).collect::<Vec<_>>(), rest.to_vec()))
        };
        assert_eq!(names("close uv --quick").unwrap(), (vec!["close", "uv"], words("--quick")));
        assert_eq!(names("savings a.whl close").unwrap(), (vec!["savings"], words("a.whl close")));
        assert_eq!(names("all --quick").unwrap().0.len(), BENCHES.len());
        assert!(names("unknown").is_none() && names("--quick").is_none());
    }

    #[test]
    fn every_benchmark_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> =
            BENCHES.iter().map(|bench| bench.name).collect();
        assert_eq!(names.len(), BENCHES.len());
    }
}
