//! `fetch`

use anyhow::Result;

use super::Run;
use crate::fetch as archives;

pub(super) fn fetch(run: &Run) -> Result<()> {
    let workspace = run.workspace()?;
    let lock = run.lock(&workspace)?;
    let _package_cache = run.home.lock_package_cache(run.shell)?;
    let folder = run.home.archive_dir();
    let sparse = run.sparse()?;
    let count = archives::fetch(&lock, &folder, sparse.as_ref(), run.shell, |_| false)?;
    run.shell.verbose(format_args!("{count} archives downloaded to `{}`", folder.display()));
    Ok(())
}
