//! What every resolution does: open, look up a lockfile's names, close; the page cache is warm.

use super::floor::{self, KnownPlaces};
use super::{Bench, touch};
use crate::data::Crate;
use crate::process;
use crate::stores::{FILES, MAPPED, Outcome, PREAD, Reader};
use bench_util::{Comparison, Goal, Metric, Paired};
use std::ops::Range;

/// What is looked up, and where it is in the crate's file.
type What = (Lookup, fn(&Crate) -> Range<usize>);
type Lookup = fn(&mut dyn Reader, &Crate) -> Outcome<()>;

fn read_whole(reader: &mut dyn Reader, one: &Crate) -> Outcome<()> {
    reader.whole(&one.name, &mut touch)
}

fn read_version(reader: &mut dyn Reader, one: &Crate) -> Outcome<()> {
    reader.version(&one.name, &one.version, &mut touch)
}

pub fn whole(bench: &mut Bench<'_>) -> Outcome<()> {
    let name = format!("warm: open, {} documents whole, close", bench.data.wanted.len());
    let comparison = compare(bench, &name, (read_whole, floor::whole), 0.38)?;
    bench.report.add(comparison);
    Ok(())
}

pub fn one_version(bench: &mut Bench<'_>) -> Outcome<()> {
    let count = bench.data.wanted.len();
    let name = format!("warm: open, one version of each of {count}, close");
    let comparison = compare(bench, &name, (read_version, floor::newest), 0.10)?;
    let note = "A store without a row per version reads the whole and parses it as cargo does.";
    bench.report.add(comparison.note(note));
    Ok(())
}

/// Wall and CPU time: on a busy machine wall time says little.
fn compare(bench: &Bench<'_>, name: &str, what: What, goal: f64) -> Outcome<Comparison> {
    let (warm, wanted, (lookup, part)) = (bench.warm()?, bench.data.wanted(), what);
    let folder = warm.work.fresh("floor")?;
    let alone = KnownPlaces::of(&folder, &bench.data.crates, &bench.data.wanted, part)?;
    let mut paired = Paired::new(name).settings(bench.settings);
    for one in &warm.filled {
        let case = |meter: &mut bench_util::Meter<'_, '_>| {
            meter.measure(|| -> Outcome<()> {
                let mut reader = one.store.open(&one.folder)?;
                wanted.iter().try_for_each(|wanted| lookup(&mut *reader, wanted))
            })
        };
        paired = match one.store.name() {
            FILES => paired.reference_metered(FILES, case),
            name @ (PREAD | MAPPED) => {
                paired.case_metered(name, case).goal(goal).goal_on(Metric::Cpu, Goal::AtMost(goal))
            }
            name => paired.case_metered(name, case),
        };
    }
    let case = |meter: &mut bench_util::Meter<'_, '_>| meter.measure(|| alone.read());
    let comparison = paired.case_metered(KnownPlaces::NAME, case).run()?;
    Ok(comparison.note(format!("On {}.", warm.work.filesystem())))
}

/// The same in a process of its own, from `exec` to exit.
pub fn fresh_process(bench: &mut Bench<'_>) -> Outcome<()> {
    let (warm, wanted) = (bench.warm()?, bench.data.wanted());
    let list = warm.work.unused("wanted");
    process::write_list(&list, &wanted)?;
    let mut comparisons = Vec::new();
    for (what, task) in [("documents whole", "whole"), ("versions", "version")] {
        let name = format!("fresh process: {} {what}, from exec to exit", wanted.len());
        let mut paired = Paired::new(name).settings(bench.settings);
        for one in &warm.filled {
            let name = one.store.name();
            let build = |_| process::command(name, task, &one.folder, &list);
            paired = match name {
                FILES => paired.reference_command(name, build),
                _ => paired.case_command(name, build),
            };
        }
        comparisons.push(paired.run()?);
    }
    comparisons.into_iter().for_each(|comparison| bench.report.add(comparison));
    Ok(())
}
