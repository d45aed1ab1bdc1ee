//! `fetch`: archives to where cargo looks for them, and their contents to where it unpacks them.
//!
//! A crate is unpacked from the very bytes that come over the network. `.cargo-ok`, by which cargo
//! knows a folder as whole, is written last, into a folder that does not have its name yet.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::Run;
use crate::fetch::Archives;
use crate::home::Registry;
use crate::lock::Locked;
use crate::progress::Progress;
use crate::unpack::{self, CHECKSUM_FILE, Unpacker};

/// Cargo's mark of a whole folder and what it writes there.
const MARK: &str = ".cargo-ok";
const MARKED: &str = r#"{"v":1}"#;

pub(super) fn fetch(run: &Run) -> Result<()> {
    let workspace = run.workspace()?;
    let lock = run.lock(&workspace)?;
    if matches!(run.home.registry, Registry::Directory(_)) {
        return Ok(()); // Its packages are all there is to fetch.
    }
    let _package_cache = run.home.lock_package_cache(run.shell)?;
    let sparse = run.sparse()?;
    let sources = run.home.source_dir();
    let folder = |package: &Locked| {
        let name = format!("{}-{}", package.id.name, package.id.version);
        sources.as_ref().map(|sources| sources.join(name))
    };
    let all: Vec<_> = lock.registry().map(|package| (package, folder(package))).collect();
    let progress = Progress::new(run.shell, "Fetching", all.len());
    let archives = Archives::new(run.home.archive_dir(), sparse.as_ref(), &progress);
    let is_there = |folder: &Option<_>| folder.as_deref().is_none_or(is_whole);
    let missing: Vec<_> = all
        .into_iter()
        .filter(|(package, folder)| !archives.has(package) || !is_there(folder))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let store = run.store()?;
    unpack::on_threads(
        &missing,
        run.threads(),
        &store,
        &progress,
        |unpacker, (package, folder)| {
            fetch_one(unpacker, package, folder.as_deref(), &archives)?;
            progress.done(package.id.name.as_str());
            Ok(())
        },
    )?;
    drop(progress);
    let count = missing.len();
    run.shell.verbose(format_args!("{count} crates are in `{}`", run.home.cargo.display()));
    Ok(())
}

/// Cargo needs the archive too, even of a crate that the store knows.
fn fetch_one(
    unpacker: &mut Unpacker<'_, '_>,
    package: &Locked,
    folder: Option<&Path>,
    archives: &Archives<'_>,
) -> Result<()> {
    let Some(folder) = folder else {
        // A local registry has all of its archives, or is not complete.
        return archives.read(package, &mut |_| Ok(())).map(drop);
    };
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent)
        .with_context(|| format!("failed to create `{}`", parent.display()))?;
    let stage = parent.join(format!(".mini-cargo-{}-{}", package.id.name, package.id.version));
    let result = unpack_beside(unpacker, package, &stage, folder, archives);
    if result.is_err() {
        drop(fs::remove_dir_all(&stage));
    }
    result
}

fn unpack_beside(
    unpacker: &mut Unpacker<'_, '_>,
    package: &Locked,
    stage: &Path,
    folder: &Path,
    archives: &Archives<'_>,
) -> Result<()> {
    remove(stage)?;
    if archives.has(package) {
        unpacker.unpack(package, archives, stage)?;
    } else {
        unpacker.unpack_anew(package, archives, stage)?;
    }
    let context = || format!("failed to complete `{}`", folder.display());
    mark(stage).with_context(context)?;
    remove(folder)?;
    fs::rename(stage, folder).with_context(context)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The list of a directory source goes, the mark comes. Neither may be written through a link: the
/// store has the other end.
fn mark(stage: &Path) -> std::io::Result<()> {
    fs::remove_file(stage.join(CHECKSUM_FILE))?;
    drop(fs::remove_file(stage.join(MARK)));
    let mut file = File::create_new(stage.join(MARK))?;
    file.write_all(MARKED.as_bytes())?;
    deferred_close::close_inline(file)
}

fn is_whole(folder: &Path) -> bool {
    fs::read_to_string(folder.join(MARK)).is_ok_and(|text| text == MARKED)
}
