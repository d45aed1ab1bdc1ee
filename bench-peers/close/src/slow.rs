//! File systems whose close is slow: the rows that have a goal, and those that only show a ratio.

use std::error::Error;
use std::time::Duration;

use bench_util::{CaseError, Comparison, Meter, Paired, Place, Report, Settings, Workdir};
use deferred_close::{Closer, Threads};

use crate::contenders::{Contender, Inline, Ours, RustupShaped, Threadpool};
use crate::server::{Profile, Server};
use crate::workload::{FILES, OPEN_AT_ONCE, create_all, prepare, write_all};

/// The cases beside which the others are to be read.
const FLOOR: &str = "floor: creating and writing alone";
const UNDELAYED: &str = "floor: inline, and no close waits";

struct Row {
    name: &'static str,
    profile: Profile,
    work: Duration,
    /// With and without `--quick`.
    files: [usize; 2],
    /// Goals of ours with 16 and with 64 threads, as times to the reference.
    goals: [Option<f64>; 2],
    note: Option<&'static str>,
}

fn rows() -> [Row; 6] {
    let row = |name, profile, goals| {
        let work = Duration::ZERO;
        Row { name, profile, work, files: [FILES / 16, FILES], goals, note: None }
    };
    // Where a goal is near what creating files costs, growing to 64 threads must not count: 60 ms.
    let many = [FILES / 8, FILES];
    let slowest =
        row("close waits 6 ms", Profile::waits(6000), [Some(15.0), Some(40.0)]).files(many);
    let slow = row("close waits 1 ms", Profile::waits(1000), [Some(8.0), None]).files(many);
    let installing = Row {
        work: Duration::from_micros(500),
        note: Some(
            "Rustup's shape also creates and writes on its threads; the others defer the close alone.",
        ),
        ..row("0.5 ms of work and 0.7 ms of close", Profile::waits(700), [None, None])
    };
    [
        slowest,
        slow,
        row("close waits 0.2 ms", Profile::waits(200), [None, None]),
        row("close waits 0 ms (FUSE alone)", Profile::waits(0), [None, None]),
        row("close computes 0.3 ms", Profile::computes(300), [Some(1.2), None]),
        installing.files([FILES / 32, FILES]),
    ]
}

impl Row {
    fn files(self, files: [usize; 2]) -> Self {
        Self { files, ..self }
    }
}

/// Adds one comparison per row.
pub fn compare(settings: &Settings, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let work = Workdir::on(&Place::Memory)?;
    let named = settings.rest.get(1).map_or("", String::as_str);
    for row in rows().into_iter().filter(|row| row.name.contains(named)) {
        let files = row.files[usize::from(!settings.quick)];
        eprintln!("{}, {files} files", row.name);
        let compared = comparison(settings, &work, &row, files).run()?;
        report.add(row.note.into_iter().fold(compared, Comparison::note));
    }
    report.note(
        "Floors: the same files created and written through the same FUSE server, without their closes; \
         and with closes that wait for nothing, which adds what FUSE itself takes for a close. Where \
         ours is about as long as the second, the processors are the limit, and hiding more of the \
         waiting cannot be faster.",
    );
    Ok(())
}

fn comparison<'a>(
    settings: &Settings,
    work: &'a Workdir,
    row: &'a Row,
    files: usize,
) -> Paired<'a> {
    let peer = move |meter: &mut Meter<'_, '_>, make: fn() -> Box<dyn Contender>| {
        measure(meter, work, row.profile, files, |paths| Ok(write_all(paths, row.work, make())?))
    };
    let ours = move |meter: &mut Meter<'_, '_>, threads: Threads| {
        let closer = Closer::builder().threads(threads).build();
        measure(meter, work, row.profile, files, |paths| {
            closer.scope(|scope| {
                let ours = Ours { group: scope.group("bench") };
                Ok(write_all(paths, row.work, Box::new(ours))?)
            })?
        })
    };
    let name = format!("{}, {files} files", row.name);
    let paired = Paired::new(name)
        .settings(settings)
        .warm_up(0)
        .rounds(6)
        .reference_metered("inline", move |meter| peer(meter, || Box::new(Inline::default())))
        .case_metered(FLOOR, move |meter| creating(meter, work, row, files))
        .case_metered(UNDELAYED, move |meter| {
            measure(meter, work, Profile::waits(0), files, |paths| {
                Ok(write_all(paths, row.work, Box::new(Inline::default()))?)
            })
        })
        .case_metered("rustup's shape", move |meter| peer(meter, || Box::new(RustupShaped::new())))
        .case_metered("threadpool", move |meter| peer(meter, || Box::new(Threadpool::new())))
        .case_metered("ours, 16 threads", move |meter| ours(meter, Threads::Auto { max: 16 }));
    let paired = with_goal(paired, row.goals[0]);
    let paired = paired
        .case_metered("ours, 64 threads", move |meter| ours(meter, Threads::Auto { max: 64 }));
    with_goal(paired, row.goals[1])
}

/// What no way of closing can be faster than: the files without their closes.
fn creating(
    meter: &mut Meter<'_, '_>,
    work: &Workdir,
    row: &Row,
    files: usize,
) -> Result<(), CaseError> {
    let server = Server::start(work, Profile::waits(0))?;
    for some in prepare(server.folder(), files)?.chunks(OPEN_AT_ONCE) {
        // Closed here, outside the time.
        drop(meter.measure(|| create_all(some, row.work))?);
    }
    Ok(())
}

fn with_goal(paired: Paired<'_>, times: Option<f64>) -> Paired<'_> {
    match times {
        Some(times) => paired.goal(1.0 / times),
        None => paired,
    }
}

/// One measurement on a file system that is mounted for it.
fn measure(
    meter: &mut Meter<'_, '_>,
    work: &Workdir,
    profile: Profile,
    files: usize,
    write: impl FnOnce(&[std::path::PathBuf]) -> Result<usize, CaseError>,
) -> Result<(), CaseError> {
    let server = Server::start(work, profile)?;
    let paths = prepare(server.folder(), files)?;
    let errors = meter.measure(|| write(&paths))?;
    if errors == 0 { Ok(()) } else { Err(format!("{errors} closes failed").into()) }
}
