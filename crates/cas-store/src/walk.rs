//! All regular files under a folder. Symbolic links are not followed, other file systems are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::sys::{self, FileKind, Seen};

/// Calls `visit` for every regular file under `root`, in no particular order.
///
/// What vanishes on the way is passed over: other processes go on working.
pub(crate) fn files(root: &Path, mut visit: impl FnMut(PathBuf, Seen) -> Result<()>) -> Result<()> {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder)? {
            match sys::stat_path(&path) {
                Ok(seen) if seen.kind == FileKind::Folder => folders.push(path),
                Ok(seen) if seen.kind == FileKind::Regular => visit(path, seen)?,
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("look up", path, error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The paths in `folder`; none when it is not there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |error| Error::io("list", folder, error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(fail)?,
    };
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(fail)).collect()
}
