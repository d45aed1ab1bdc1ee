//! After a boot: nothing of the store is in the page cache.
//!
//! On a real disk, because on memory nothing is ever cold. Every store is asked the way that suits
//! it: ours is told all names first.

use super::reading::{add, fill_all};
use super::touch;
use crate::data::Dataset;
use crate::stores::Outcome;
use bench_util::{Comparison, Paired, Place, Report, Settings, Workdir, page_cache};

pub fn lockfile(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    let name =
        format!("cold: open, {} of {} documents whole", data.wanted.len(), data.crates.len());
    report.add_or_missing(&name, compare(settings, data, &name, 0.37)?)?;
    Ok(())
}

pub fn few_of_many(settings: &Settings, _: &Dataset, report: &mut Report) -> Outcome<()> {
    let (count, wanted) = if settings.quick { (20_000, 500) } else { (100_000, 500) };
    let data = Dataset::synthetic(settings.seed, count, wanted);
    let name = format!("cold: open, {wanted} of {count} documents whole");
    report.note(data.description.clone());
    report.add_or_missing(&name, compare(settings, &data, &name, 0.22)?)?;
    Ok(())
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
    let filled = fill_all(&work, &data.crates)?;
    let wanted: Vec<&str> = data.wanted().iter().map(|one| one.name.as_str()).collect();
    let mut paired = Paired::new(name).settings(settings).rounds(12).warm_up(1);
    for one in &filled {
        let wanted = &wanted;
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            page_cache::drop_all()?;
            meter.measure(|| -> Outcome<()> {
                let mut reader = one.store.open(&one.folder)?;
                reader.prefetch(wanted)?;
                wanted.iter().try_for_each(|name| reader.whole(name, &mut touch))
            })
        };
        paired = add(paired, one.store.name(), case, goal);
    }
    let filesystem =
        format!("On {}; all caches of the kernel dropped before each case.", work.filesystem());
    Ok(paired.run().map(|comparison| comparison.note(filesystem)))
}
