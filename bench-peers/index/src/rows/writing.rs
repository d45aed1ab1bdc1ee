//! Storing: the first population, and what a refresh brings.

use super::{Bench, add, fill_all};
use crate::stores::{self, FILES, Outcome};
use bench_util::{Comparison, Paired, Place, Report, Workdir, page_cache};
use std::cell::RefCell;

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
    let (settings, data, work) = (bench.settings, bench.data, RefCell::new(work));
    let stores = stores::all();
    let name = format!("first population: {} documents, no sync", data.crates.len());
    let mut paired =
        Paired::new(name).settings(settings).rounds(if settings.quick { 6 } else { 12 });
    for store in &stores {
        let work = &work;
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            work.borrow_mut().renew_over(BYTES / 2)?;
            let folder = work.borrow().fresh(store.name())?;
            page_cache::sync();
            meter.measure(|| store.fill(&folder, &data.crates))
        };
        paired = add(paired, store.name(), case, 0.10);
    }
    let comparison = paired.run()?.note(format!("On {}.", work.borrow().filesystem()));
    bench.report.add(notes(comparison));
    Ok(())
}

/// What a refresh brings: documents with a new tag and a new version, each case from opening to
/// closing.
struct Update {
    count: usize,
    is_durable: bool,
    goal: Option<f64>,
}

/// On a real disk: in memory there is nothing to wait for, and a sync costs next to nothing.
pub fn durable(bench: &mut Bench<'_>) -> Outcome<()> {
    let work = Workdir::on(&Place::Folder(std::env::temp_dir()))?;
    let updates = [(50, Some(0.025)), (1, None)];
    run(bench, &work, updates.map(|(count, goal)| Update { count, is_durable: true, goal }))
}

pub fn update(bench: &mut Bench<'_>) -> Outcome<()> {
    let Some(work) = journaled(bench.report, "updates") else { return Ok(()) };
    let updates = [50, 1];
    run(bench, &work, updates.map(|count| Update { count, is_durable: false, goal: None }))
}

fn run<const N: usize>(bench: &mut Bench<'_>, work: &Workdir, updates: [Update; N]) -> Outcome<()> {
    let filled = fill_all(work, &bench.data.crates)?;
    page_cache::sync();
    for update in &updates {
        let how = if update.is_durable { "durable" } else { "not durable" };
        let name = format!("update: open, {} documents in one batch, close; {how}", update.count);
        let mut paired = Paired::new(name).settings(bench.settings).rounds(20);
        for one in &filled {
            let data = bench.data;
            let case = move |meter: &mut bench_util::Meter<'_, '_>| {
                let crates = data.updated(update.count, meter.round());
                page_cache::sync();
                meter.measure(|| one.store.update(&one.folder, &crates, update.is_durable))
            };
            paired = match (update.goal, one.store.name()) {
                (Some(goal), name) => add(paired, name, case, goal),
                (None, FILES) => paired.reference_metered(FILES, case),
                (None, name) => paired.case_metered(name, case),
            };
        }
        let comparison = paired.run()?.note(format!("On {}.", work.filesystem()));
        bench.report.add(notes(comparison));
    }
    Ok(())
}

fn notes(comparison: Comparison) -> Comparison {
    let notes: std::collections::BTreeSet<_> =
        stores::all().iter().filter_map(|store| store.note()).collect();
    notes.into_iter().fold(comparison, Comparison::note)
}
