//! Every kind of row and picture that a report can show, from made-up numbers, to look at.
//!
//! `cargo run --example gallery -- --out target/gallery`

use std::time::Duration;

use bench_util::{Comparison, Curve, Error, Goal, Metric, Paired, Report, Rng, Settings, Table};

fn main() -> Result<(), Error> {
    let settings = Settings::from_args()?;
    let mut report = Report::new("gallery", "What does each kind of result look like?");
    report.add(simulated("loaded machine", 0.35));
    report.add(simulated("quiet machine", 0.02).note("The same truth, with less noise."));
    let size = Comparison::exact("size", "size_bytes", ("files", 48_000_000), ("ours", 48_100_000));
    report.add(size.goal(Goal::AtMost(1.02)));
    report.curves.push(scaling());
    report.tables.push(plain());
    report.missing("LMDB", "its C compiler is missing", "apt-get install gcc");
    report.note("All numbers here are made up.");
    report.write(&settings.out)
}

/// The cost is drawn, so that the picture is the same everywhere.
fn simulated(name: &str, noise: f64) -> Comparison {
    let cost = || Metric::counter("drawn_ns");
    let mut rng = Rng::for_part(1, name);
    let mut draw = |typical: f64| {
        let mut rng = Rng::new(rng.next_u64());
        move |meter: &mut bench_util::Meter<'_, '_>| {
            let drawn = Duration::from_secs_f64(typical * (noise * rng.normal()).exp());
            meter.count("drawn_ns", u64::try_from(drawn.as_nanos())?);
            Ok(())
        }
    };
    Paired::new(name)
        .rounds(20)
        .reference_metered("file per crate", draw(0.012))
        .case_metered("a peer with a rather long name, in one file", draw(0.0035))
        .goal_on(cost(), Goal::AtMost(0.40))
        .case_metered("ours", draw(0.0011))
        .goal_on(cost(), Goal::AtMost(0.10))
        .goal_against("a peer with a rather long name, in one file", cost(), Goal::AtMost(0.30))
        .case_metered("slowed", draw(0.02))
        .goal_on(cost(), Goal::WhollyUnder(1.10))
        .case_metered("the same again", draw(0.012))
        .goal_on(cost(), Goal::WhollyUnder(1.10))
        .run()
        .expect("nothing in it can fail")
}

fn scaling() -> Curve {
    let threads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    let line = |share: f64| threads.map(move |n| (n, 96.0 * (1.0 - share) + 96.0 * share / n));
    Curve::new("16,000 files, 6 ms per close", "threads", "seconds")
        .line("inline", threads.map(|n| (n, 96.0)))
        .line("fixed threads", line(0.97))
        .line("adaptive", line(0.999))
}

fn plain() -> Table {
    let mut table = Table::new("Savings by file selection", &["selection", "saved", "files"]);
    table.push(["all".to_owned(), "359.0 MiB".to_owned(), "50,388".to_owned()]);
    table.push([">= 1 MiB".to_owned(), "111.6 MiB".to_owned(), "100".to_owned()]);
    table
}
