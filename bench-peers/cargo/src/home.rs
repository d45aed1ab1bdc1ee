//! The cargo home that both programs read: an index, no archives.

use std::fs;
use std::path::{Path, PathBuf};

use bench_util::{Error, Settings, Workdir};

use crate::copy;

/// Copies the user's cargo home, or starts an empty one that cargo fills while it locks.
pub(crate) fn prepare(settings: &Settings, work: &Workdir) -> Result<PathBuf, Error> {
    let home = work.fresh("cargo-home")?;
    let given = settings.data.as_ref().map(|data| data.join("cargo-home"));
    if let Some(data) = given.filter(|data| data.is_dir()) {
        copy_index(&data, &home).map_err(|error| {
            Error::unavailable(format!("the index in --data ({error})"), "check its files")
        })?;
    }
    Ok(home)
}

/// Archives and unpacked sources would change what `--offline` does.
fn copy_index(data: &Path, home: &Path) -> std::io::Result<()> {
    let index = Path::new("registry").join("index");
    copy::tree(&data.join(&index), &home.join(&index))?;
    match fs::copy(data.join("config.toml"), home.join("config.toml")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
