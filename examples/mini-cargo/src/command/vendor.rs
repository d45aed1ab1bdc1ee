//! `vendor DIR`: a directory source that real cargo builds from, without a network or a home.
//!
//! All crates are unpacked into one stage folder inside DIR and moved into place when the last one
//! is complete, so that a failure leaves DIR as it was.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use cas_store::{Options, Store};
use deferred_close::Scope;

use super::Run;
use crate::cli::Vendor;
use crate::closing;
use crate::fetch;
use crate::lock::{Lock, Locked};
use crate::shell::Shell;
use crate::unpack::{self, Origin, Unpacker};

/// More threads than this do not make the disk faster.
const THREADS_MAX: usize = 4;

pub(super) fn vendor(run: &Run, options: &Vendor) -> Result<()> {
    let workspace = run.workspace()?;
    let lock = run.lock(&workspace)?;
    let jobs = jobs(&lock, run, options.versioned_dirs);
    if jobs.is_empty() {
        run.shell.warn("there is no dependency to vendor in this project");
        return Ok(());
    }
    fs::create_dir_all(&options.dir)
        .with_context(|| format!("failed to create `{}`", options.dir.display()))?;
    let package_cache = run.home.lock_package_cache(run.shell)?;
    if package_cache.is_some() {
        remove_abandoned(&options.dir)?;
    }
    let stage = Stage::create(&options.dir)?;
    let store = run.store()?;
    let is_known = |package: &Locked| unpack::is_known(&store, package);
    fetch::fetch(&lock, &run.home.archive_dir(), run.sparse()?.as_ref(), run.shell, is_known)?;
    let counts = unpack_all(run.shell, &store, &stage, &jobs)?;
    stage.move_into_place(&jobs)?;
    if !options.no_delete {
        remove_others(&options.dir, &jobs)?;
    }
    drop(stage);
    run.shell.verbose(format_args!(
        "{} crates from archives, {} from the store",
        counts.archive.load(Ordering::Relaxed),
        counts.store.load(Ordering::Relaxed)
    ));
    print_config(run, &options.dir)
}

/// A crate and the name of its folder.
struct Job<'a> {
    package: &'a Locked,
    folder: String,
    archive: PathBuf,
}

/// The newest version of a crate gets its bare name.
fn jobs<'a>(lock: &'a Lock, run: &Run, versioned: bool) -> Vec<Job<'a>> {
    let mut packages: Vec<_> = lock.registry().collect();
    packages.sort_by(|a, b| b.id.version.cmp(&a.id.version));
    let mut seen = HashSet::new();
    let mut jobs: Vec<_> = packages
        .into_iter()
        .map(|package| {
            let (name, version) = (package.id.name, &package.id.version);
            let bare = seen.insert(name) && !versioned;
            let folder = if bare { name.to_string() } else { format!("{name}-{version}") };
            let archive = fetch::archive_path(&run.home.archive_dir(), package);
            Job { package, folder, archive }
        })
        .collect();
    jobs.sort_by(|a, b| a.package.id.cmp(&b.package.id));
    jobs
}

#[derive(Default)]
struct Counts {
    archive: AtomicUsize,
    store: AtomicUsize,
}

/// Unpacks on a few threads; the first error stops all of them.
fn unpack_all(shell: Shell, store: &Store, stage: &Stage, jobs: &[Job<'_>]) -> Result<Counts> {
    let counts = Counts::default();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let (closer, line) = closing::closer(shell);
    let joined = closer.scope(|scope| {
        thread::scope(|threads_scope| {
            for _ in 0..threads.min(jobs.len()) {
                threads_scope.spawn(|| {
                    let work = Work { shell, store, stage, scope, counts: &counts };
                    if let Err(error) = work.until_done(jobs, &next) {
                        next.store(jobs.len(), Ordering::Relaxed);
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                });
            }
        });
    });
    line.finish_and_clear();
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => joined.map(|()| counts).context("failed to write the vendored files"),
    }
}

/// What one thread needs.
struct Work<'a, 'scope> {
    shell: Shell,
    store: &'a Store,
    stage: &'a Stage,
    scope: &'a Scope<'scope>,
    counts: &'a Counts,
}

impl Work<'_, '_> {
    fn until_done(&self, jobs: &[Job<'_>], next: &AtomicUsize) -> Result<()> {
        let mut unpacker = Unpacker::new(self.store, self.scope);
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let folder = self.stage.dir.join(&job.folder);
            let origin = unpacker.unpack(job.package, &job.archive, &folder)?;
            let count = match origin {
                Origin::Archive => &self.counts.archive,
                Origin::Store => &self.counts.store,
            };
            count.fetch_add(1, Ordering::Relaxed);
            let target = self.stage.target.join(&job.folder);
            let id = &job.package.id;
            self.shell.status(
                "Vendoring",
                format_args!("{} v{} to {}", id.name, id.version, target.display()),
            );
        }
        Ok(())
    }
}

const STAGE_PREFIX: &str = ".mini-cargo-stage-";

/// Stages of runs that were killed: whoever else is at work holds the lock that this run has.
fn remove_abandoned(dir: &Path) -> Result<()> {
    let context = || format!("failed to clean `{}`", dir.display());
    for entry in fs::read_dir(dir).with_context(context)? {
        let entry = entry.with_context(context)?;
        if entry.file_name().to_string_lossy().starts_with(STAGE_PREFIX) {
            fs::remove_dir_all(entry.path()).with_context(context)?;
        }
    }
    Ok(())
}

/// A folder inside the target that goes away with everything left in it.
struct Stage {
    dir: PathBuf,
    target: PathBuf,
}

impl Stage {
    fn create(target: &Path) -> Result<Self> {
        let dir = target.join(format!("{STAGE_PREFIX}{}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("failed to create `{}`", dir.display()))?;
        Ok(Self { dir, target: target.to_owned() })
    }

    /// Two renames per crate: the old folder out of the way, the new one in.
    fn move_into_place(&self, jobs: &[Job<'_>]) -> Result<()> {
        let old = self.dir.join(".old");
        fs::create_dir(&old).with_context(|| format!("failed to create `{}`", old.display()))?;
        for job in jobs {
            let target = self.target.join(&job.folder);
            let context = || format!("failed to replace `{}`", target.display());
            if target.symlink_metadata().is_ok() {
                fs::rename(&target, old.join(&job.folder)).with_context(context)?;
            }
            fs::rename(self.dir.join(&job.folder), &target).with_context(context)?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed is in nobody's way: its name is hidden and no crate's.
        drop(fs::remove_dir_all(&self.dir));
    }
}

/// Folders of crates that are no longer needed.
fn remove_others(dir: &Path, jobs: &[Job<'_>]) -> Result<()> {
    let kept: HashSet<OsString> = jobs.iter().map(|job| OsString::from(&job.folder)).collect();
    let context = || format!("failed to list `{}`", dir.display());
    for entry in fs::read_dir(dir).with_context(context)? {
        let entry = entry.with_context(context)?;
        let crate_folder = entry.path().join(".cargo-checksum.json").exists();
        if crate_folder && !kept.contains(&entry.file_name()) {
            fs::remove_dir_all(entry.path())
                .with_context(|| format!("failed to remove `{}`", entry.path().display()))?;
        }
    }
    Ok(())
}

/// What makes cargo use the folder: to standard output, so that it can be appended to a file.
fn print_config(run: &Run, dir: &Path) -> Result<()> {
    run.shell
        .aside("To use vendored sources, add this to your .cargo/config.toml for this project:\n");
    let dir = dir.to_string_lossy().replace('\\', "/");
    run.shell.result(format_args!(
        "[source.crates-io]\nreplace-with = \"vendored-sources\"\n\n\
         [source.vendored-sources]\ndirectory = \"{dir}\""
    ))?;
    Ok(())
}

impl Run {
    /// The store of unpacked crates.
    pub(super) fn store(&self) -> Result<Store> {
        let path = self.home.cache.join("store");
        fs::create_dir_all(&self.home.cache)
            .with_context(|| format!("failed to create `{}`", self.home.cache.display()))?;
        Store::open(&path, Options::default()).with_context(|| {
            format!("failed to open the store\nhelp: delete `{}` if it is damaged", path.display())
        })
    }
}
