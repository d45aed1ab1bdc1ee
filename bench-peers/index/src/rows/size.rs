//! What the stores take on disk, against the bytes that are stored.

use super::{Bench, fill_all};
use crate::data::Dataset;
use crate::stores::{self, Ours, Outcome, PREAD};
use bench_util::{Comparison, Goal, Place, Table, Workdir, disk_usage};
use index_cache::{Durability, FILE_NAME, IndexCache, Options, Put};
use std::path::Path;

pub fn size(bench: &mut Bench<'_>) -> Outcome<()> {
    let (data, report) = (bench.data, &mut *bench.report);
    let work = Workdir::on(&Place::Memory)?;
    let payload: usize = data.crates.iter().map(|one| one.blob.len() + one.name.len()).sum();
    let payload = u64::try_from(payload)?;
    let mut table = Table::new(
        "Size and number of files",
        &["store", "bytes", "allocated", "files", "folders"],
    );
    for one in fill_all(&work, &data.crates)? {
        if one.store.name().starts_with("index-cache") {
            let _ = stores::open_ours(&one.folder, Ours::Pread)?.compact()?;
        }
        let usage = disk_usage(&one.folder)?;
        let numbers = [usage.apparent_bytes, usage.allocated_bytes, usage.files, usage.folders];
        table.push([one.store.name().to_owned()].into_iter().chain(numbers.map(|n| n.to_string())));
        if one.store.name() == PREAD {
            let name = "size, compacted, a slice for each version";
            report.add(against(name, payload, usage.apparent_bytes, 1.06));
        }
    }
    let plain = without_slices(&work.fresh("plain")?, data)?;
    report.add(against("size, compacted, without slices", payload, plain, 1.02));
    report.tables.push(table);
    Ok(())
}

fn against(name: &str, payload: u64, bytes: u64, goal: f64) -> Comparison {
    let ours = ("index-cache", bytes);
    Comparison::exact(name, "size_bytes", ("names and documents", payload), ours)
        .goal(Goal::AtMost(goal))
}

fn without_slices(folder: &Path, data: &Dataset) -> Outcome<u64> {
    let cache = IndexCache::open(folder.join(FILE_NAME), Options::new())?;
    let mut batch = cache.batch();
    for one in &data.crates {
        batch.put(&one.name, &Put::new().body(&one.blob))?;
    }
    let _ = batch.commit(Durability::Fast)?;
    let _ = cache.compact()?;
    Ok(std::fs::metadata(folder.join(FILE_NAME))?.len())
}
