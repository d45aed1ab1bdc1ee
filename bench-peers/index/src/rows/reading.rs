//! What every resolution does: open, look up a lockfile's names, close; the page cache is warm.

use super::touch;
use crate::data::{Crate, Dataset};
use crate::process;
use crate::stores::{self, Outcome, Reader, Store};
use bench_util::{Goal, Metric, Paired, Place, Report, Settings, Workdir};
use std::path::PathBuf;

/// A store with a filled folder.
pub struct Filled {
    pub store: Box<dyn Store>,
    pub folder: PathBuf,
}

/// Fills every store below `work`.
pub fn fill_all(work: &Workdir, crates: &[Crate]) -> Outcome<Vec<Filled>> {
    stores::all()
        .into_iter()
        .map(|store| {
            let folder = work.fresh(store.name())?;
            store.fill(&folder, crates)?;
            Ok(Filled { store, folder })
        })
        .collect()
}

/// A journaled file system in memory; where that cannot be had, plain memory, whose pages are smaller
/// and dearer to map.
pub fn warm_place() -> Outcome<Workdir> {
    let journaled = Place::JournaledExt4 { size_bytes: 4 << 30 };
    Ok(Workdir::on(&journaled).or_else(|_| Workdir::on(&Place::Memory))?)
}

type Lookup = fn(&mut dyn Reader, &Crate) -> Outcome<()>;

fn read_whole(reader: &mut dyn Reader, one: &Crate) -> Outcome<()> {
    reader.whole(&one.name, &mut touch)
}

fn read_version(reader: &mut dyn Reader, one: &Crate) -> Outcome<()> {
    reader.version(&one.name, &one.version, &mut touch)
}

pub fn whole(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    let name = format!("warm: open, {} documents whole, close", data.wanted.len());
    report.add(compare(settings, data, &name, read_whole, 0.38)?);
    Ok(())
}

pub fn one_version(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    let name = format!("warm: open, one version of each of {}, close", data.wanted.len());
    let comparison = compare(settings, data, &name, read_version, 0.10)?;
    let note = "A store without a row per version reads the whole and parses it as cargo does.";
    report.add(comparison.note(note));
    Ok(())
}

fn compare(
    settings: &Settings,
    data: &Dataset,
    name: &str,
    lookup: Lookup,
    goal: f64,
) -> Outcome<bench_util::Comparison> {
    let work = warm_place()?;
    let filled = fill_all(&work, &data.crates)?;
    let wanted = data.wanted();
    let mut paired = Paired::new(name).settings(settings);
    for one in &filled {
        let case = |meter: &mut bench_util::Meter<'_, '_>| {
            meter.measure(|| -> Outcome<()> {
                let mut reader = one.store.open(&one.folder)?;
                wanted.iter().try_for_each(|wanted| lookup(&mut *reader, wanted))
            })
        };
        paired = add(paired, one.store.name(), case, goal);
        if one.store.name() == "index-cache, mapped" {
            paired = paired.goal(goal);
        }
        if one.store.name().starts_with("index-cache") {
            // On a busy machine wall time says little.
            paired = paired.goal_on(Metric::Cpu, Goal::AtMost(goal));
        }
    }
    Ok(paired.run()?.note(format!("On {}.", work.filesystem())))
}

/// The reference first; ours, in the default mode, has the goal.
pub fn add<'a>(
    paired: Paired<'a>,
    name: &str,
    case: impl FnMut(&mut bench_util::Meter<'_, '_>) -> Outcome<()> + 'a,
    goal: f64,
) -> Paired<'a> {
    match name {
        "file per crate" => paired.reference_metered(name, case),
        "index-cache" => paired.case_metered(name, case).goal(goal),
        _ => paired.case_metered(name, case),
    }
}

/// The same in a process of its own, from `exec` to exit.
pub fn fresh_process(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    let work = warm_place()?;
    let filled = fill_all(&work, &data.crates)?;
    let list = work.unused("wanted");
    process::write_list(&list, &data.wanted())?;
    for (what, task) in [("documents whole", "whole"), ("versions", "version")] {
        let name = format!("fresh process: {} {what}, from exec to exit", data.wanted.len());
        let mut paired = Paired::new(name).settings(settings);
        for one in &filled {
            let name = one.store.name();
            let build = |_| process::command(name, task, &one.folder, &list);
            paired = match name {
                "file per crate" => paired.reference_command(name, build),
                _ => paired.case_command(name, build),
            };
        }
        report.add(paired.run()?);
    }
    Ok(())
}
