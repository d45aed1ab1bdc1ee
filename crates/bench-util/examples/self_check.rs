//! Does the runner see what is there, and nothing else? Real work, real time, this machine.
//!
//! The same work twice (A/A) must show no difference; work slowed by a fifth must be caught by the
//! gate; a second run of both must agree with the first. Run it before believing other numbers of
//! a machine: `cargo run --release --example self_check`.

use std::hint::black_box;

use bench_util::{Comparison, Error, Goal, Metric, Paired, Report, Rng, Settings, Table, Verdict};

const STEPS: u64 = 200_000;

fn main() -> Result<(), Error> {
    let settings = Settings::from_args()?;
    let mut report = Report::new("self-check", "Does the runner see what is there, and no more?");
    let runs = [run(&settings, 1)?, run(&settings, 2)?];
    report.tables.push(agreement(&runs));
    for run in runs {
        report.add(run);
    }
    report.write(&settings.out)?;
    print(&report);
    Ok(())
}

fn run(settings: &Settings, seed: u64) -> Result<Comparison, Error> {
    let comparison = Paired::new(format!("run {seed}"))
        .settings(settings)
        .seed(seed)
        .narrow_at(0.005)
        .reference("work", || work(STEPS))
        .case("the same work", || work(STEPS))
        .goal_on(Metric::Wall, Goal::WhollyUnder(1.10))
        .case("slowed by a fifth", || work(STEPS * 6 / 5))
        .goal_on(Metric::Wall, Goal::WhollyUnder(1.10))
        .run()?;
    Ok(comparison.note("The goal is a gate: 1.10. The first row should be met, the second missed."))
}

/// Arithmetic that the compiler cannot foresee.
fn work(steps: u64) -> u64 {
    let mut rng = Rng::new(black_box(1));
    (0..steps).fold(0, |sum, _| sum ^ rng.next_u64())
}

fn agreement(runs: &[Comparison; 2]) -> Table {
    let mut table = Table::new("Expected and seen", &["case", "expected", "seen", "runs agree"]);
    let [first, second] = runs;
    for (one, other) in first.rows.iter().zip(&second.rows) {
        let expected = if one.case == "the same work" { Verdict::Met } else { Verdict::Missed };
        let agree = one.ratio.low <= other.ratio.high && other.ratio.low <= one.ratio.high;
        let seen = format!("{}, {}", one.outcome(), other.outcome());
        table.push([one.case.clone(), expected.to_string(), seen, agree.to_string()]);
    }
    table
}

#[expect(clippy::print_stdout, reason = "a program shows its result")]
fn print(report: &Report) {
    println!("{}", report.to_markdown());
}
