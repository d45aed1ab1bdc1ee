//! `cache ...`

use anyhow::Result;

use super::Run;
use crate::cached::Cached;

pub(super) fn import(run: &Run) -> Result<()> {
    let _package_cache = run.home.lock_package_cache(run.shell)?;
    let path = run.home.index_file();
    let cached = Cached::open(&path, &run.home.index_dir(), run.shell)?;
    let (imported, all) = cached.import()?;
    let line = format!("{imported} of {all} crates into `{}`", path.display());
    run.shell.status("Imported", line);
    Ok(())
}
