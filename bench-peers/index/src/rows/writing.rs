//! Storing: the first population, and what a refresh brings.

use super::reading::{add, fill_all};
use crate::data::Dataset;
use crate::stores::{self, Outcome};
use bench_util::{Comparison, Paired, Place, Report, Settings, Workdir, page_cache};

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
pub fn fill(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    let Some(work) = journaled(report, "first population") else { return Ok(()) };
    let work = std::cell::RefCell::new(work);
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
    report.add(notes(comparison));
    Ok(())
}

/// One and fifty documents with a new tag and a new version, with and without waiting for the
/// medium.
pub fn update(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    for (count, durable, goal) in
        [(50, true, Some(0.025)), (50, false, None), (1, true, None), (1, false, None)]
    {
        let Some(work) = journaled(report, "updates") else { return Ok(()) };
        let comparison = updates(settings, data, &work, count, durable, goal)?;
        report.add(notes(comparison));
    }
    Ok(())
}

fn updates(
    settings: &Settings,
    data: &Dataset,
    work: &Workdir,
    count: usize,
    durable: bool,
    goal: Option<f64>,
) -> Outcome<Comparison> {
    let filled = fill_all(work, &data.crates)?;
    page_cache::sync();
    let how = if durable { "durable" } else { "not durable" };
    let name = format!("update: open, {count} documents in one batch, close; {how}");
    let mut paired = Paired::new(name).settings(settings).rounds(20);
    for one in &filled {
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            let crates = data.updated(count, meter.round());
            page_cache::sync();
            meter.measure(|| one.store.update(&one.folder, &crates, durable))
        };
        paired = match goal {
            Some(goal) => add(paired, one.store.name(), case, goal),
            None if one.store.name() == "file per crate" => {
                paired.reference_metered(one.store.name(), case)
            }
            None => paired.case_metered(one.store.name(), case),
        };
    }
    Ok(paired.run()?.note(format!("On {}.", work.filesystem())))
}

fn notes(comparison: Comparison) -> Comparison {
    let notes: std::collections::BTreeSet<_> =
        stores::all().iter().filter_map(|store| store.note()).collect();
    notes.into_iter().fold(comparison, Comparison::note)
}
