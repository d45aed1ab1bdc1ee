//! After a boot: nothing of the store is in the page cache.
//!
//! On a real disk, because on memory nothing is ever cold. Every store is asked the way that suits
//! it: ours is told all names first, and then asked in the order of its file.

use super::floor::{self, KnownPlaces};
use super::{Bench, Filled, add, fill_one, touch};
use crate::data::Dataset;
use crate::stores::{self, Outcome};
use bench_util::{Comparison, Paired, Place, Settings, Workdir, page_cache};
use std::time::Duration;

pub fn lockfile(bench: &mut Bench<'_>) -> Outcome<()> {
    let (wanted, all) = (bench.data.wanted.len(), bench.data.crates.len());
    let name = format!("cold: open, {wanted} of {all} documents whole");
    let comparison = compare(bench.settings, bench.data, &name, 0.37)?;
    Ok(bench.report.add_or_missing(&name, comparison)?)
}

pub fn few_of_many(bench: &mut Bench<'_>) -> Outcome<()> {
    let (count, wanted) = if bench.settings.quick { (20_000, 500) } else { (100_000, 500) };
    let data = Dataset::synthetic(bench.settings.seed, count, wanted);
    let name = format!("cold: open, {wanted} of {count} documents whole");
    bench.report.note(data.description.clone());
    let comparison = compare(bench.settings, &data, &name, 0.22)?;
    Ok(bench.report.add_or_missing(&name, comparison)?)
}

/// Stores that keep a row for each version are left out: they are slow at reading whole documents
/// and would take most of the time.
fn filled(work: &Workdir, data: &Dataset) -> Outcome<Vec<Filled>> {
    let stores = stores::all().into_iter().filter(|store| !store.has_row_per_version());
    stores.map(|store| fill_one(store, work, &data.crates)).collect()
}

fn compare(
    settings: &Settings,
    data: &Dataset,
    name: &str,
    goal: f64,
) -> Outcome<bench_util::Result<Comparison>> {
    if let Err(error) = page_cache::drop_all() {
        return Ok(Err(error));
    }
    let work = Workdir::on(&Place::Folder(std::env::temp_dir()))?;
    let filled = filled(&work, data)?;
    let wanted: Vec<&str> = data.wanted().iter().map(|one| one.name.as_str()).collect();
    let budget = Duration::from_secs(if settings.quick { 14 } else { 120 });
    let mut paired = Paired::new(name).settings(settings).rounds(16).warm_up(1).budget(budget);
    for one in &filled {
        let wanted = &wanted;
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            page_cache::drop_all()?;
            meter.measure(|| -> Outcome<()> {
                let mut reader = one.store.open(&one.folder)?;
                let mut wanted = wanted.clone();
                reader.prefetch(&mut wanted)?;
                wanted.iter().try_for_each(|name| reader.whole(name, &mut touch))
            })
        };
        paired = add(paired, one.store.name(), case, goal);
    }
    let alone = KnownPlaces::of(&work.fresh("floor")?, &data.crates, &data.wanted, floor::whole)?
        .in_file_order();
    paired = paired.case_metered(KnownPlaces::NAME_COLD, move |meter| {
        page_cache::drop_all()?;
        meter.measure(|| alone.read())
    });
    let filesystem =
        format!("On {}; all caches of the kernel dropped before each case.", work.filesystem());
    Ok(paired.run().map(|comparison| comparison.note(filesystem)))
}
