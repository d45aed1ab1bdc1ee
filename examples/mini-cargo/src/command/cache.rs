//! `cache ...`: what is on the disk, is it sound, and how to be rid of it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use cas_store::{SweepOptions, VerifyOptions};
use index_cache::{Compacted, IndexCache};

use super::Run;
use crate::cli::Cache;

pub(super) fn cache(run: &Run, command: &Cache) -> Result<()> {
    match command {
        Cache::Import => import(run),
        Cache::Dir => Ok(run.shell.result(run.home.cache.display())?),
        Cache::Size => size(run),
        Cache::Clean => clean(run),
        Cache::Prune { dry_run } => prune(run, *dry_run),
        Cache::Verify => verify(run),
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

fn size(run: &Run) -> Result<()> {
    let index = fs::metadata(run.home.index_file()).map_or(0, |file| file.len());
    let store = run.store()?.stats()?;
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

fn prune(run: &Run, dry_run: bool) -> Result<()> {
    let swept = run.store()?.sweep(SweepOptions::default().dry_run(dry_run))?;
    let verb = if dry_run { "Would remove" } else { "Removed" };
    run.shell.status(
        verb,
        format_args!("{} objects, {} bytes", swept.objects_removed, swept.bytes_removed),
    );
    if dry_run {
        return Ok(());
    }
    if let Compacted::Done(reclaimed) = index(run)?.compact()? {
        let bytes = reclaimed.bytes_before.saturating_sub(reclaimed.bytes_after);
        run.shell.status("Compacted", format_args!("the index cache by {bytes} bytes"));
    }
    Ok(())
}

fn index(run: &Run) -> Result<IndexCache> {
    crate::cached::open(&run.home.index_file())
}

/// Reads everything and says what is wrong; a damaged object is set aside, a damaged index is not
/// touched.
fn verify(run: &Run) -> Result<()> {
    let index = index(run)?.verify()?;
    for fault in &index.faults {
        let key = fault.key.as_deref().unwrap_or("?");
        run.shell.warn(format_args!(
            "corrupt {} at byte {} of `{}` (crate `{key}`)",
            fault.what,
            fault.offset,
            fault.path.display()
        ));
    }
    let store = run.store()?.verify(VerifyOptions::default())?;
    for damage in &store.damaged {
        run.shell.warn(format_args!("object {} does not have its bytes", damage.digest));
    }
    run.shell.status(
        "Verified",
        format_args!(
            "{} crates of the index, {} objects of the store",
            index.entries, store.objects
        ),
    );
    let bad = index.faults.len() + store.damaged.len();
    if bad > 0 {
        bail!("{bad} damaged entries\n{}", next_step(&run.home.cache));
    }
    Ok(())
}

fn next_step(cache: &Path) -> String {
    format!(
        "help: they are never used and are made anew when they are needed; \
         to start over, delete `{}`",
        cache.display()
    )
}
