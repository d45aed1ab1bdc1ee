//! `bench-cas [--quick] [--data DIR] [--out DIR] [small] [big] [upgrade] [second] [orders] [calls]`:
//! does deduplication cost anything? Without a name, all tables.
//!
//! Four pipelines over real wheels, each order of system calls, and the calls counted, on ext4 with
//! its journal, in memory. The reference is the same program with deduplication off.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use bench_cas::corpus::{self, Wheel};
use bench_cas::orders::{self, Order};
use bench_cas::pipelines::{Pipeline, Site};
use bench_util::{
    CaseError, Comparison, Goal, Meter, Metric, Paired, Place, Ratio, Report, Result, Settings,
    Table, Workdir, conclude, count_syscalls,
};

const SMALL: [&str; 2] = ["sympy==1.14.0", "django==5.2.2"];
const SMALL_BEFORE: [&str; 2] = ["sympy==1.13.3", "django==5.2.1"];
const BIG: [&str; 3] = ["numpy==2.2.6", "pandas==2.2.3", "scikit-learn==1.6.1"];

/// With `--quick`, fewer wheels, so that all tables together take about a minute and a half.
const QUICK_BIG: [&str; 1] = ["numpy==2.2.6"];
const QUICK_ORDERS: [&str; 1] = ["sympy==1.14.0"];

const TABLES: [&str; 6] = ["small", "big", "upgrade", "second", "orders", "calls"];

const GIB: u64 = 1 << 30;

fn main() -> ExitCode {
    conclude(start().map_err(|error| -> Box<dyn std::error::Error> { error }))
}

fn start() -> std::result::Result<ExitCode, CaseError> {
    let settings = Settings::from_args()?;
    match settings.rest.as_slice() {
        [one, rest @ ..] if one == "one" => run_one(&settings, rest).map(|()| ExitCode::SUCCESS),
        names if names.iter().all(|name| TABLES.contains(&name.as_str())) => run(&settings),
        _ => Err("usage: bench-cas [--quick] [--data DIR] [--out DIR] [TABLE...]".into()),
    }
}

fn run(settings: &Settings) -> std::result::Result<ExitCode, CaseError> {
    let mut report =
        Report::new("cas", "Does deduplication cost anything, and which order is best?");
    match Workdir::on(&Place::JournaledExt4 { size_bytes: 6 * GIB }) {
        Ok(work) => tables(settings, &RefCell::new(work), &mut report),
        Err(error) => report.failed("every table", &error),
    }
    print!("{}", report.to_markdown());
    report.write(&settings.out)?;
    Ok(report.exit_code())
}

fn tables(settings: &Settings, work: &RefCell<Workdir>, report: &mut Report) {
    report.note(format!("File system: {:?}.", work.borrow().filesystem()));
    report.note("A plain process on one thread; wheels are in memory; inflate is included in the pipelines.");
    let wanted = |table: &str| settings.rest.is_empty() || settings.rest.iter().any(|t| t == table);
    pipelines(settings, work, report, &wanted);
    if wanted("orders") {
        orders(settings, work, report);
    }
    if wanted("calls") {
        system_calls(settings, work, report);
    }
}

fn find(settings: &Settings, wanted: &[&str]) -> Result<Vec<Wheel>> {
    corpus::find(settings.data.as_deref(), Path::new("target/bench-data/wheels"), wanted)
}

/// What is measured of a pipeline.
#[derive(Clone, Copy)]
enum Phase {
    /// Nothing is there.
    Cold,
    /// The version before is in the cache and in an environment.
    Upgrade,
    /// The same version is in the cache and in an environment.
    Second,
}

/// Two names, the wheels, those that were there before, what is measured, and the goal.
type Column<'a> = (&'static str, &'static str, &'a [&'static str], &'a [&'static str], Phase, f64);

fn pipelines(
    settings: &Settings,
    work: &RefCell<Workdir>,
    report: &mut Report,
    is_wanted: &dyn Fn(&str) -> bool,
) {
    let big: &[&str] = if settings.quick { &QUICK_BIG } else { &BIG };
    let columns: [Column<'_>; 4] = [
        ("small", "cold, small files", &SMALL, &[], Phase::Cold, 0.90),
        ("big", "cold, big libraries", big, &[], Phase::Cold, 1.00),
        ("upgrade", "patch upgrade", &SMALL, &SMALL_BEFORE, Phase::Upgrade, 0.65),
        ("second", "second environment", &SMALL, &[], Phase::Second, 0.80),
    ];
    for (key, name, wanted, before, phase, goal) in columns {
        if !is_wanted(key) {
            continue;
        }
        let found = find(settings, wanted).and_then(|new| Ok((new, find(settings, before)?)));
        let compared = found.and_then(|(new, old)| {
            let title = format!("{name} ({}, {} files)", wanted.join(" "), corpus::files(&new));
            let compared = compare(settings, work, title, (&new, &old), phase, goal)?;
            report.tables.push(cpu_table(&compared, corpus::files(&new)));
            Ok(compared)
        });
        report.add_or_failed(name, compared);
    }
}

fn compare(
    settings: &Settings,
    work: &RefCell<Workdir>,
    title: String,
    (new, old): (&[Wheel], &[Wheel]),
    phase: Phase,
    goal: f64,
) -> Result<Comparison> {
    let mut paired = rounds(settings, title).before_round(|| renew(work));
    for pipeline in Pipeline::ALL {
        let case =
            move |meter: &mut Meter<'_, '_>| measure(pipeline, work, (new, old), phase, meter);
        paired = match pipeline {
            Pipeline::Archive => paired.reference_metered(pipeline.name(), case),
            _ => paired.case_metered(pipeline.name(), case),
        };
        paired = match pipeline {
            Pipeline::Archive => paired,
            Pipeline::Manifest => paired.goal(goal).goal_on(Metric::Cpu, Goal::AtMost(goal)),
            _ => paired,
        };
    }
    paired.run()
}

/// A quick run has no round to spare for warming up.
fn rounds<'a>(settings: &Settings, title: String) -> Paired<'a> {
    let paired = Paired::new(title).settings(settings);
    if settings.quick { paired.warm_up(0) } else { paired }
}

/// A full file system is made anew between rounds; nothing is ever deleted in it.
fn renew(work: &RefCell<Workdir>) -> std::result::Result<(), CaseError> {
    // Small files use up the inodes long before the bytes.
    work.borrow_mut().renew_over(GIB / 2)?;
    Ok(())
}

fn measure(
    pipeline: Pipeline,
    work: &RefCell<Workdir>,
    (new, old): (&[Wheel], &[Wheel]),
    phase: Phase,
    meter: &mut Meter<'_, '_>,
) -> std::result::Result<(), CaseError> {
    let site = Site::new(work.borrow().fresh("site")?);
    match phase {
        Phase::Cold => meter.measure(|| pipeline.install(new, &site, "one")),
        Phase::Upgrade => {
            pipeline.install(old, &site, "one")?;
            meter.measure(|| pipeline.install(new, &site, "two"))
        }
        Phase::Second => {
            pipeline.install(new, &site, "one")?;
            meter.measure(|| pipeline.install_again(new, &site, "two"))
        }
    }
}

fn orders(settings: &Settings, work: &RefCell<Workdir>, report: &mut Report) {
    for known in [false, true] {
        let name =
            if known { "known files, bytes in memory" } else { "new files, bytes in memory" };
        let wanted: &[&str] = if settings.quick { &QUICK_ORDERS } else { &SMALL };
        let compared = find(settings, wanted).and_then(|wheels| {
            let files = orders::inflate(&wheels).map_err(|error| {
                bench_util::Error::unavailable(error.to_string(), "a good wheel")
            })?;
            let compared = compare_orders(settings, work, name, &files, known)?;
            report.tables.push(cpu_table(&compared, files.len()));
            Ok(compared)
        });
        report.add_or_failed(name, compared);
    }
}

fn compare_orders(
    settings: &Settings,
    work: &RefCell<Workdir>,
    name: &str,
    files: &[orders::File],
    known: bool,
) -> Result<Comparison> {
    let title = format!("{name} ({} files)", files.len());
    let mut paired = rounds(settings, title).before_round(|| renew(work));
    for order in Order::ALL {
        let case = move |meter: &mut Meter<'_, '_>| measure_order(order, work, files, known, meter);
        paired = match order {
            Order::Plain => paired.reference_metered(order.name(), case),
            _ => paired.case_metered(order.name(), case),
        };
    }
    paired.run()
}

fn measure_order(
    order: Order,
    work: &RefCell<Workdir>,
    files: &[orders::File],
    known: bool,
    meter: &mut Meter<'_, '_>,
) -> std::result::Result<(), CaseError> {
    let site = work.borrow().fresh("order")?;
    let (store, first, second) = (site.join("store"), site.join("one"), site.join("two"));
    if known {
        orders::write(order, files, &store, &first)?;
    }
    // A store that is not there is made within the time, by all that have one.
    meter.measure(|| orders::write(order, files, &store, &second))
}

/// CPU time of every case, which a busy machine disturbs less than wall time.
fn cpu_table(compared: &Comparison, files: usize) -> Table {
    let mut table = Table::new(
        format!("CPU time: {}", compared.name),
        &["case", "CPU per file, us (median)", "ratio to the first (95 % interval)"],
    );
    let cpu = |case: usize| {
        let samples = compared.rounds.iter().map(move |round| &round.samples[case]);
        samples.filter_map(|sample| sample.get(&Metric::Cpu)).collect::<Vec<f64>>()
    };
    let reference = cpu(0);
    for (case, name) in compared.cases.iter().enumerate() {
        let mut times = cpu(case);
        let pairs = reference.iter().copied().zip(times.iter().copied());
        let ratio = Ratio::of_pairs(pairs, compared.seed).map_or_else(String::new, |ratio| {
            format!("{:.3} ({:.3} to {:.3})", ratio.median, ratio.low, ratio.high)
        });
        times.sort_unstable_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        table.push([name.clone(), format!("{:.1}", per_file(median / 1000.0, files)), ratio]);
    }
    table
}

#[expect(clippy::cast_precision_loss, reason = "counts of files are far below 2^53")]
fn per_file(amount: f64, files: usize) -> f64 {
    amount / files as f64
}

/// The calls that touch files; what the program does to start is subtracted.
const CALLS: [&str; 22] = [
    "openat",
    "open",
    "close",
    "read",
    "write",
    "linkat",
    "link",
    "unlinkat",
    "unlink",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "newfstatat",
    "fstat",
    "stat",
    "statx",
    "utimensat",
    "fchmod",
    "getdents64",
    "ioctl",
];

fn system_calls(settings: &Settings, work: &RefCell<Workdir>, report: &mut Report) {
    match count_calls(settings, work) {
        Ok(table) => report.tables.push(table),
        Err(error) => report.failed("system calls per file", &error),
    }
}

fn count_calls(settings: &Settings, work: &RefCell<Workdir>) -> Result<Table> {
    let head = ["pipeline", "cold, per file", "second environment, per file"];
    let mut table = Table::new("System calls on files", &head);
    let files = corpus::files(&find(settings, &SMALL)?);
    for (index, pipeline) in Pipeline::ALL.iter().enumerate() {
        let mut counts = Vec::new();
        for phase in ["none", "cold", "second"] {
            let mut command = Command::new(std::env::current_exe().unwrap_or_default());
            if let Some(data) = &settings.data {
                command.arg("--data").arg(data);
            }
            command.args(["one", &index.to_string(), phase]).arg(work.borrow().fresh("strace")?);
            counts.push(count_syscalls(&command)?.of(&CALLS));
        }
        table.push(calls_row(pipeline.name(), &counts, files));
    }
    Ok(table)
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls are far below 2^53")]
fn calls_row(name: &str, counts: &[u64], files: usize) -> [String; 3] {
    let added = |after: u64, before: u64| per_file(after.saturating_sub(before) as f64, files);
    let cold = added(counts[1], counts[0]);
    let second = added(counts[2], counts[1]);
    [name.to_owned(), format!("{cold:.2}"), format!("{second:.2}")]
}

/// One pipeline, once, for the count of its calls.
fn run_one(settings: &Settings, rest: &[String]) -> std::result::Result<(), CaseError> {
    let [index, phase, folder] = rest else { return Err("`one` is for the program itself".into()) };
    let wheels = find(settings, &SMALL)?;
    let pipeline = *Pipeline::ALL.get(index.parse::<usize>()?).ok_or("no such pipeline")?;
    let site = Site::new(folder.into());
    fs::create_dir_all(folder)?;
    if phase == "none" {
        return Ok(());
    }
    pipeline.install(&wheels, &site, "one")?;
    if phase == "second" {
        pipeline.install_again(&wheels, &site, "two")?;
    }
    Ok(())
}
