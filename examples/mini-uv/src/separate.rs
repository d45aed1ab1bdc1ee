//! The cache without sharing: each wheel's files in a folder of their own, linked from there.
//!
//! This is the reference for what sharing costs: the same program, the same threads, the layout that
//! installers without a store have. `cache clean` without names removes these folders; no other cache
//! command knows of them, and nothing checks a file before it is linked.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// The folder inside the cache.
pub(crate) const FOLDER: &str = "separate";

/// A folder for a wheel that is being unpacked.
pub(crate) fn begin(cache: &Path) -> anyhow::Result<TempDir> {
    let root = cache.join(FOLDER);
    fs_err::create_dir_all(&root)?;
    tempfile::Builder::new()
        .prefix(".unpacking-")
        .tempdir_in(root)
        .context("failed to make a folder")
}

/// Gives an unpacked and verified wheel its name; another process may have been first.
pub(crate) fn keep(cache: &Path, unpacked: TempDir, key: &str) -> anyhow::Result<()> {
    let folder = folder(cache, key);
    match fs_err::rename(unpacked.path(), &folder) {
        Ok(()) => {
            let _moved = unpacked.keep();
            Ok(())
        }
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Links every file of the wheel into `to`, on several threads; false when the wheel is not there.
pub(crate) fn place(cache: &Path, key: &str, to: &Path, threads: usize) -> anyhow::Result<bool> {
    let from = folder(cache, key);
    if !from.is_dir() {
        return Ok(false);
    }
    let mut files = Vec::new();
    copy_folders(&from, to, &mut files)?;
    let share = files.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let parts = files.chunks(share);
        let started: Vec<_> = parts.map(|part| scope.spawn(move || link(part))).collect();
        let linked = started.into_iter().map(|thread| match thread.join() {
            Ok(linked) => linked,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        linked.collect::<anyhow::Result<()>>()
    })?;
    Ok(true)
}

fn folder(cache: &Path, key: &str) -> PathBuf {
    cache.join(FOLDER).join(key.replace('/', "-"))
}

/// Makes the folders of `from` in `to` and lists the files.
fn copy_folders(from: &Path, to: &Path, files: &mut Vec<(PathBuf, PathBuf)>) -> anyhow::Result<()> {
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            fs_err::create_dir(&target)?;
            copy_folders(&entry.path(), &target, files)?;
        } else {
            files.push((entry.path(), target));
        }
    }
    Ok(())
}

fn link(files: &[(PathBuf, PathBuf)]) -> anyhow::Result<()> {
    files.iter().try_for_each(|(from, to)| Ok(fs_err::hard_link(from, to)?))
}
