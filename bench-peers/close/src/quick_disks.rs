//! File systems whose close is quick: deferring cannot win there, and must not lose.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use bench_util::{CaseError, Goal, Meter, Metric, Paired, Place, Report, Settings, Workdir};
use deferred_close::Closer;

use crate::contenders::{Contender, Dropped, Inline, Ours, RustupShaped, Threadpool};
use crate::workload::{prepare, write_all};

const FILES: usize = 4_000;
const SIZE: u64 = 4 << 30;

/// Adds one comparison per file system.
pub fn compare(settings: &Settings, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let places = [
        ("plain ext4, journaled, in memory", Place::JournaledExt4 { size_bytes: SIZE }),
        ("tmpfs", Place::Memory),
    ];
    for (name, place) in places {
        eprintln!("{name}, {FILES} files");
        let comparison = Workdir::on(&place).and_then(|work| comparison(settings, name, work));
        report.add_or_failed(name, comparison);
    }
    Ok(())
}

fn comparison(
    settings: &Settings,
    name: &str,
    work: Workdir,
) -> bench_util::Result<bench_util::Comparison> {
    let work = std::cell::RefCell::new(work);
    let peer = |meter: &mut Meter<'_, '_>, make: fn() -> Box<dyn Contender>| {
        measure(meter, &work.borrow(), |paths| Ok(write_all(paths, Duration::ZERO, make())?))
    };
    let ours = |meter: &mut Meter<'_, '_>| {
        let closer = Closer::default();
        measure(meter, &work.borrow(), |paths| {
            closer.scope(|scope| {
                let ours = Ours { group: scope.group("bench") };
                Ok(write_all(paths, Duration::ZERO, Box::new(ours))?)
            })?
        })
    };
    let bound = Goal::WhollyUnder(1.05);
    Paired::new(format!("{name}, {FILES} files"))
        .settings(settings)
        .before_round(|| Ok(work.borrow_mut().renew_over(SIZE / 2).map(drop)?))
        .reference_metered("inline", |meter| peer(meter, || Box::new(Inline::default())))
        .case_metered("drop(file)", |meter| peer(meter, || Box::new(Dropped)))
        .case_metered("rustup's shape", |meter| peer(meter, || Box::new(RustupShaped::new())))
        .case_metered("threadpool", |meter| peer(meter, || Box::new(Threadpool::new())))
        .case_metered("ours", ours)
        .goal_on(Metric::Wall, bound)
        .goal_on(Metric::Cpu, bound)
        .run()
}

fn measure(
    meter: &mut Meter<'_, '_>,
    work: &Workdir,
    write: impl FnOnce(&[PathBuf]) -> Result<usize, CaseError>,
) -> Result<(), CaseError> {
    let paths = prepare(&work.fresh("tree")?, FILES)?;
    let errors = meter.measure(|| write(&paths))?;
    if errors == 0 { Ok(()) } else { Err(format!("{errors} closes failed").into()) }
}
