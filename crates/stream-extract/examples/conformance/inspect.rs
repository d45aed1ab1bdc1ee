//! Extracts into a folder of its own and looks for what must not be there.

use std::fs;
use std::io;
use std::path::Path;

use stream_extract::{DirectorySink, Extractor, Scratch};

use crate::judge;

/// Something that an extraction left and must not.
pub(crate) fn extract(bytes: &[u8], path: &Path) -> io::Result<Option<String>> {
    let jail = tempfile::tempdir()?;
    let target = jail.path().join("target");
    let sink = DirectorySink::create(&target)?;
    let result = judge::stream(Extractor::new(), bytes, path, &mut Scratch::new(), sink);
    let left: Vec<_> = fs::read_dir(jail.path())?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<_>>()?;
    match result {
        Ok(_) if left != ["target"] => Ok(Some(format!("{left:?} are left beside the target"))),
        Err(_) if !left.is_empty() => Ok(Some(format!("{left:?} are left by a refused archive"))),
        Ok(_) => forbidden(&target),
        Err(_) => Ok(None),
    }
}

/// The first link, special file or set-id bit below a folder.
fn forbidden(folder: &Path) -> io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Ok(Some(format!("{} is a special file", path.display())));
        }
        if has_set_id(&metadata) {
            return Ok(Some(format!("{} has a set-id bit", path.display())));
        }
        if metadata.is_dir()
            && let Some(found) = forbidden(&path)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(unix)]
fn has_set_id(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o7000 != 0
}

#[cfg(not(unix))]
fn has_set_id(_: &fs::Metadata) -> bool {
    false
}

/// The most memory this process ever had, where the system tells.
pub(crate) fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}
