//! `bench-gate [--quick] [--out DIR]`: can this machine's numbers be believed?
//!
//! Two builds of one program of ours are run as commands: against themselves (A/A), and against a
//! build that is slowed by a quarter. The gate must let the first pass and catch the second, and a
//! second run of the whole must agree with the first. Exit code 0: as expected; 1: the gate was
//! wrong; 2: it could not tell.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bench_util::{
    Comparison, Error, Goal, Metric, Paired, Place, Report, Result, Row, Settings, Table, Verdict,
    Workdir, conclude,
};

const GATE: Goal = Goal::WhollyUnder(1.10);
/// A run goes on until the intervals are narrow enough to tell a slowdown of a quarter from noise, and
/// that is no look at the verdict. On a loaded machine the time ends it: twice 20 seconds.
const NARROW: f64 = 0.02;
const ROUNDS_MAX: usize = 60;
const BUDGET: Duration = Duration::from_secs(20);
const SAME: &str = "the same build";
const SLOWED: &str = "a build slowed by a quarter";

fn main() -> ExitCode {
    conclude(run())
}

fn run() -> Result<ExitCode> {
    let settings = Settings::from_args()?;
    let question =
        "Does the gate let an equal build pass, and catch a slowed one (missed is right there)?";
    let mut report = Report::new("gate", question);
    let work = Workdir::on(&Place::Memory)?;
    let file = work.path().join("index");
    bench_gate::fill(&file).map_err(|error| Error::unavailable(error.to_string(), "free space"))?;
    let runs = [compare(&settings, &file, 1)?, compare(&settings, &file, 2)?];
    let expected = [Verdict::Met, Verdict::Missed];
    report.tables.push(table(&runs, expected));
    report.note(
        "Here a goal that is missed is the gate at work: `expected and seen` decides the exit code.",
    );
    let status = status(&runs, expected);
    report.comparisons.extend(runs);
    report.write(&settings.out)?;
    println!("{}", report.to_markdown());
    Ok(ExitCode::from(status))
}

fn compare(settings: &Settings, file: &Path, seed: u64) -> Result<Comparison> {
    let build = |name: &str| {
        let program = beside(name);
        move |_round| {
            let mut command = Command::new(&program);
            command.arg(file);
            Ok(command)
        }
    };
    Paired::new(format!("reading an index, run {seed}"))
        .settings(settings)
        .seed(seed)
        .rounds(ROUNDS_MAX)
        .budget(BUDGET)
        .narrow_at(NARROW)
        .reference_command("a build of ours", build("gate-ours"))
        .case_command(SAME, build("gate-ours"))
        .goal_on(Metric::Cpu, GATE)
        .case_command(SLOWED, build("gate-slowed"))
        .goal_on(Metric::Cpu, GATE)
        .run()
}

/// The builds lie where this program lies.
fn beside(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

fn judged(run: &Comparison) -> Vec<&Row> {
    run.rows.iter().filter(|row| row.verdict.is_some()).collect()
}

/// 1 when a verdict is the opposite of what is true or two runs contradict each other, 2 in doubt.
fn status(runs: &[Comparison; 2], expected: [Verdict; 2]) -> u8 {
    let pairs = judged(&runs[0]).into_iter().zip(judged(&runs[1])).zip(expected);
    let surprises: Vec<u8> = pairs
        .flat_map(|((one, other), expected)| {
            let contradict = u8::from(!agree(one, other));
            [surprise(one, expected), surprise(other, expected), contradict]
        })
        .collect();
    if surprises.contains(&1) { 1 } else { surprises.into_iter().max().unwrap_or(2) }
}

fn surprise(row: &Row, expected: Verdict) -> u8 {
    match row.verdict {
        Some(seen) if seen == expected => 0,
        Some(Verdict::Met | Verdict::Missed) => 1,
        _ => 2,
    }
}

fn agree(one: &Row, other: &Row) -> bool {
    one.ratio.low <= other.ratio.high && other.ratio.low <= one.ratio.high
}

fn table(runs: &[Comparison; 2], expected: [Verdict; 2]) -> Table {
    let mut table = Table::new("Expected and seen", &["case", "expected", "seen", "runs agree"]);
    let rows = judged(&runs[0]).into_iter().zip(judged(&runs[1])).zip(expected);
    for ((one, other), expected) in rows {
        let seen = format!("{}, {}", one.outcome(), other.outcome());
        let agree = if agree(one, other) { "yes" } else { "no" };
        table.push([one.case.clone(), expected.to_string(), seen, agree.to_owned()]);
    }
    table
}
