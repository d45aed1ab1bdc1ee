//! `cache ...`: what is on the disk, is it sound, and how to be rid of it.

mod verify;

use std::fs;

use anyhow::{Context as _, Result};
use cas_store::SweepOptions;
use index_cache::{Compacted, IndexCache};
use serde_json::json;

use super::Run;
use crate::cli::{Cache, Output};

pub(super) fn cache(run: &Run, command: &Cache) -> Result<()> {
    match command {
        Cache::Import => import(run),
        Cache::Dir => Ok(run.shell.result(run.home.cache.display())?),
        Cache::Size(output) => size(run, *output),
        Cache::Clean => clean(run),
        Cache::Prune { dry_run, output } => prune(run, *dry_run, *output),
        Cache::Verify { repair, output } => verify::verify(run, *repair, *output),
    }
}

fn import(run: &Run) -> Result<()> {
    let _package_cache = run.home.lock_package_cache(run.shell)?;
    let (imported, all) = run.cached()?.import()?;
    let path = run.home.index_file();
    let line = format!("{imported} of {all} crates into `{}`", path.display());
    run.shell.status("Imported", line);
    Ok(())
}

fn size(run: &Run, output: Output) -> Result<()> {
    let index = fs::metadata(run.home.index_file()).map_or(0, |file| file.len());
    let store = run.store()?.stats()?;
    if output.is_json() {
        let store = json!({
            "bytes": store.bytes, "objects": store.objects, "crates": store.trees,
        });
        return Ok(run.shell.result(json!({"index": {"bytes": index}, "store": store}))?);
    }
    run.shell.result(format_args!("index   {index:>12} bytes"))?;
    run.shell.result(format_args!(
        "store   {:>12} bytes in {} objects of {} crates",
        store.bytes, store.objects, store.trees
    ))?;
    Ok(())
}

fn clean(run: &Run) -> Result<()> {
    let path = &run.home.cache;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => other.with_context(|| format!("failed to remove `{}`", path.display()))?,
    }
    run.shell.status("Removed", path.display());
    Ok(())
}

fn prune(run: &Run, dry_run: bool, output: Output) -> Result<()> {
    let swept = run.store()?.sweep(SweepOptions::default().dry_run(dry_run))?;
    let (objects, bytes) = (swept.objects_removed, swept.bytes_removed);
    let compacted = if dry_run { 0 } else { compact(run)? };
    if output.is_json() {
        return Ok(run.shell.result(json!({
            "dry_run": dry_run,
            "store": {"objects_removed": objects, "bytes_removed": bytes},
            "index": {"bytes_freed": compacted},
        }))?);
    }
    let verb = if dry_run { "Would remove" } else { "Removed" };
    run.shell.status(verb, format_args!("{objects} objects, {bytes} bytes"));
    if compacted > 0 {
        run.shell.status("Compacted", format_args!("the index cache by {compacted} bytes"));
    }
    Ok(())
}

/// Gives the bytes that the index cache is smaller by.
fn compact(run: &Run) -> Result<u64> {
    Ok(match index(run)?.compact()? {
        Compacted::Done(reclaimed) => reclaimed.bytes_before.saturating_sub(reclaimed.bytes_after),
        _ => 0,
    })
}

fn index(run: &Run) -> Result<IndexCache> {
    crate::cached::open(&run.home.index_file())
}
