//! Storing: the first population, and what a refresh brings.

use super::{Bench, Filled, add, fill_all, floor};
use crate::data::{Crate, Dataset};
use crate::stores::{self, FILES, Outcome};
use bench_util::{Comparison, Meter, Paired, Place, Report, Workdir, page_cache};
use std::cell::RefCell;
use std::path::PathBuf;

/// Room for a few fillings of every store.
const BYTES: u64 = 6 << 30;

fn journaled(report: &mut Report, what: &str) -> Option<Workdir> {
    match Workdir::on(&Place::JournaledExt4 { size_bytes: BYTES }) {
        Ok(work) => Some(work),
        Err(error) => {
            report.missing(what, error.to_string(), error.remedy().unwrap_or_default());
            None
        }
    }
}

/// A journaled file system that is made anew when it has filled up: deleting would slow down what
/// comes after.
pub fn fill(bench: &mut Bench<'_>) -> Outcome<()> {
    let Some(work) = journaled(bench.report, "first population") else { return Ok(()) };
    let (settings, crates, work) = (bench.settings, &bench.data.crates, RefCell::new(work));
    let stores = stores::all();
    let name = format!("first population: {} documents, no sync", crates.len());
    let mut paired =
        Paired::new(name).settings(settings).rounds(if settings.quick { 6 } else { 12 });
    let fresh = |label: &str| -> Outcome<PathBuf> {
        work.borrow_mut().renew_over(BYTES / 2)?;
        let folder = work.borrow().fresh(label)?;
        page_cache::sync();
        back_memory();
        Ok(folder)
    };
    for store in &stores {
        let case = move |meter: &mut Meter<'_, '_>| {
            let folder = fresh(store.name())?;
            meter.measure(|| store.fill(&folder, crates))
        };
        paired = add(paired, store.name(), case, 0.10);
    }
    let alone = |meter: &mut Meter<'_, '_>| {
        let path = fresh("floor")?.join("all");
        meter.measure(|| floor::append(&path, crates, 0))
    };
    let comparison = paired.case_metered(floor::WRITTEN, alone).run()?;
    let filesystem = format!("On {}.", work.borrow().filesystem());
    bench.report.add(notes(comparison.note(filesystem).note(BACKED).note(BELOW_THE_FLOOR)));
    Ok(())
}

const BELOW_THE_FLOOR: &str = "The goal was set where creating a file is dear. Where the floor, which is the same \
                               bytes in one file and nothing else, lies above it, no store can meet it.";

const BACKED: &str = "Before each case 512 MiB of memory were taken and given back: pages that a \
                      virtual machine's host does not back yet cost up to ten times as much, whoever \
                      is the first to use them.";

/// See [`BACKED`].
fn back_memory() {
    std::hint::black_box(vec![1_u8; 512 << 20]);
}

/// What a refresh brings: documents with a new tag and a new version, each case from opening to
/// closing.
struct Update {
    count: usize,
    is_durable: bool,
    goal: Option<f64>,
}

/// On the disk, and on a journaled file system in memory, where a sync waits for a journal and not
/// for a medium.
pub fn durable(bench: &mut Bench<'_>) -> Outcome<()> {
    let updates = [(50, Some(0.025)), (1, None)];
    let updates = updates.map(|(count, goal)| Update { count, is_durable: true, goal });
    let disk = Workdir::on(&Place::Folder(std::env::temp_dir()))?;
    run(bench, &disk, "on the disk", &updates)?;
    let Some(work) = journaled(bench.report, "durable updates in memory") else { return Ok(()) };
    run(bench, &work, "in memory", &updates)
}

pub fn update(bench: &mut Bench<'_>) -> Outcome<()> {
    let Some(work) = journaled(bench.report, "updates") else { return Ok(()) };
    let updates = [50, 1].map(|count| Update { count, is_durable: false, goal: None });
    run(bench, &work, "in memory", &updates)
}

fn run(bench: &mut Bench<'_>, work: &Workdir, place: &str, updates: &[Update]) -> Outcome<()> {
    let filled = fill_all(work, &bench.data.crates)?;
    page_cache::sync();
    for update in updates {
        let comparison = compare(bench, work, &filled, update, place)?;
        let comparison = comparison.note(format!("On {}.", work.filesystem()));
        bench.report.add(notes(match update.goal {
            Some(_) => comparison.note(BELOW_THE_FLOOR),
            None => comparison,
        }));
    }
    Ok(())
}

fn compare(
    bench: &Bench<'_>,
    work: &Workdir,
    filled: &[Filled],
    update: &Update,
    place: &str,
) -> Outcome<Comparison> {
    let (data, count, path) = (bench.data, update.count, work.unused("floor"));
    let how = if update.is_durable { "durable" } else { "not durable" };
    let name = format!("update: open, {count} documents in one batch, close; {how}, {place}");
    let mut paired = Paired::new(name).settings(bench.settings).rounds(20);
    for one in filled {
        let case = move |meter: &mut Meter<'_, '_>| {
            let crates = brought(data, count, meter);
            meter.measure(|| one.store.update(&one.folder, &crates, update.is_durable))
        };
        paired = match (update.goal, one.store.name()) {
            (Some(goal), name) => add(paired, name, case, goal),
            (None, FILES) => paired.reference_metered(FILES, case),
            (None, name) => paired.case_metered(name, case),
        };
    }
    let floors: &[_] = match update.is_durable {
        true => &[(floor::WRITTEN_ONE_SYNC, 1), (floor::WRITTEN_TWO_SYNCS, 2)],
        false => &[(floor::WRITTEN, 0)],
    };
    for (name, syncs) in floors {
        let path = &path;
        paired = paired.case_metered(name, move |meter| {
            let crates = brought(data, count, meter);
            meter.measure(|| floor::append(path, &crates, *syncs))
        });
    }
    Ok(paired.run()?)
}

/// What the network brought, with nothing waiting to be written that is not the case's own.
fn brought(data: &Dataset, count: usize, meter: &Meter<'_, '_>) -> Vec<Crate> {
    let crates = data.updated(count, meter.round());
    page_cache::sync();
    crates
}

fn notes(comparison: Comparison) -> Comparison {
    let notes: std::collections::BTreeSet<_> =
        stores::all().iter().filter_map(|store| store.note()).collect();
    notes.into_iter().fold(comparison, Comparison::note)
}
