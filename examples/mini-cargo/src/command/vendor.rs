//! `vendor DIR`: a directory source that real cargo builds from, without a network or a home.
//!
//! All crates are unpacked into one stage folder inside DIR and moved into place when the last one
//! is complete, so that a failure leaves DIR as it was.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use cas_store::{Options, Store};

use super::Run;
use crate::cli::Vendor;
use crate::fetch::Archives;
use crate::lock::{Lock, Locked};
use crate::progress::Progress;
use crate::unpack::{self, Origin, Unpacker};

/// More threads than this do not make the disk faster.
const THREADS_MAX: usize = 4;
/// Downloads that are under way at once.
const DOWNLOADS_MAX: usize = 8;

pub(super) fn vendor(run: &Run, options: &Vendor) -> Result<()> {
    let workspace = run.workspace()?;
    let lock = run.lock(&workspace)?;
    let jobs = jobs(&lock, options.versioned_dirs);
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
    let sparse = run.sparse()?;
    let progress = Progress::new(run.shell, "Vendoring", jobs.len());
    let archives = Archives::new(run.home.archive_dir(), sparse.as_ref(), &progress);
    let counts = Counts::default();
    unpack::on_threads(&jobs, run.threads(), &store, &progress, |unpacker, job| {
        vendor_one(unpacker, job, &archives, &stage, &progress, &counts)
    })?;
    drop(progress);
    stage.move_into_place(&jobs)?;
    if !options.no_delete {
        remove_others(&options.dir, &jobs)?;
    }
    drop(stage);
    run.shell.verbose(format_args!(
        "{} crates downloaded, {} from archives, {} from the store",
        counts.download.load(Ordering::Relaxed),
        counts.archive.load(Ordering::Relaxed),
        counts.store.load(Ordering::Relaxed)
    ));
    print_config(run, &options.dir)
}

/// A crate and the name of its folder.
struct Job<'a> {
    package: &'a Locked,
    folder: String,
}

/// The newest version of a crate gets its bare name.
fn jobs(lock: &Lock, versioned: bool) -> Vec<Job<'_>> {
    let mut packages: Vec<_> = lock.registry().collect();
    packages.sort_by(|a, b| b.id.version.cmp(&a.id.version));
    let mut seen = HashSet::new();
    let mut jobs: Vec<_> = packages
        .into_iter()
        .map(|package| {
            let (name, version) = (package.id.name, &package.id.version);
            let bare = seen.insert(name) && !versioned;
            let folder = if bare { name.to_string() } else { format!("{name}-{version}") };
            Job { package, folder }
        })
        .collect();
    jobs.sort_by(|a, b| a.package.id.cmp(&b.package.id));
    jobs
}

/// Where the crates came from.
#[derive(Default)]
struct Counts {
    download: AtomicUsize,
    archive: AtomicUsize,
    store: AtomicUsize,
}

fn vendor_one(
    unpacker: &mut Unpacker<'_, '_>,
    job: &Job<'_>,
    archives: &Archives<'_>,
    stage: &Stage,
    progress: &Progress,
    counts: &Counts,
) -> Result<()> {
    let count = match unpacker.unpack(job.package, archives, &stage.dir.join(&job.folder))? {
        Origin::Download => &counts.download,
        Origin::Archive => &counts.archive,
        Origin::Store => &counts.store,
    };
    count.fetch_add(1, Ordering::Relaxed);
    let id = &job.package.id;
    let target = stage.target.join(&job.folder);
    progress
        .status("Vendoring", format_args!("{} v{} to {}", id.name, id.version, target.display()));
    progress.done(id.name.as_str());
    Ok(())
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
    /// Downloads wait for the network, archives at hand for the disk.
    pub(super) fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        if self.is_offline() { cores.min(THREADS_MAX) } else { DOWNLOADS_MAX }
    }

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
