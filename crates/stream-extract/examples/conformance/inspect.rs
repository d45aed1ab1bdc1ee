//! Looks for what an extraction must not leave.

use std::fs;
use std::io;
use std::path::Path;

/// Something beside the target, or inside it and neither a file nor a folder with ordinary modes.
pub(crate) fn forbidden_beside(target: &Path, accepted: bool) -> io::Result<Option<String>> {
    let left: Vec<_> =
        fs::read_dir(".")?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    match accepted {
        true if left != [target.as_os_str()] => Ok(Some(format!("{left:?} are left"))),
        true => forbidden(target),
        false if !left.is_empty() => Ok(Some(format!("{left:?} are left by a refused archive"))),
        false => Ok(None),
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
        if has_odd_mode(&metadata) {
            return Ok(Some(format!("{} has a set-id bit or many names", path.display())));
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
fn has_odd_mode(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.mode() & 0o7000 != 0 || (metadata.is_file() && metadata.nlink() != 1)
}

#[cfg(not(unix))]
fn has_odd_mode(_: &fs::Metadata) -> bool {
    false
}

/// The most memory this process ever had, where the system tells; else 0.
pub(crate) fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}
