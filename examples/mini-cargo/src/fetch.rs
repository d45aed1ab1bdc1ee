//! Archives that a lock file names, downloaded to where cargo looks for them.
//!
//! An archive is hashed while it is written beside its place and gets its name only when the
//! checksum is right, so that nobody ever finds half of one. Unpacking is someone else's job;
//! cargo's own `registry/src` folder is left to cargo.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, anyhow};
use indicatif::ProgressBar;
use sha2::{Digest as _, Sha256};

use crate::hex;
use crate::lock::{Lock, Locked};
use crate::net::{Client, Failure};
use crate::shell::Shell;
use crate::sparse::{self, Sparse};

/// Downloads that are under way at once.
const DOWNLOADS_MAX: usize = 8;
/// No archive is anywhere near this: registries allow 10 MB by default.
const ARCHIVE_BYTES_MAX: u64 = 1 << 30;

/// An archive that is not there yet.
struct Wanted<'a> {
    package: &'a Locked,
    path: PathBuf,
}

/// The place of a package's archive in `folder`.
pub(crate) fn archive_path(folder: &Path, package: &Locked) -> PathBuf {
    folder.join(format!("{}-{}.crate", package.id.name, package.id.version))
}

/// Downloads what is missing in `folder`; gives the number of archives.
///
/// `known` tells what can be had without its archive.
pub(crate) fn fetch(
    lock: &Lock,
    folder: &Path,
    sparse: Option<&Sparse>,
    shell: Shell,
    known: impl Fn(&Locked) -> bool,
) -> Result<usize> {
    let all =
        lock.registry().map(|package| Wanted { package, path: archive_path(folder, package) });
    let wanted: Vec<_> = all.filter(|w| !w.path.exists() && !known(w.package)).collect();
    let Some(first) = wanted.first() else { return Ok(0) };
    let sparse = sparse::require(sparse).with_context(|| {
        let (name, path) = (name(first.package), first.path.display());
        format!("the archive of `{name}` is not at `{path}`\nhelp: `mini-cargo fetch` gets it")
    })?;
    fs::create_dir_all(folder)
        .with_context(|| format!("failed to create `{}`", folder.display()))?;
    let template = sparse.archive_template()?;
    shell.status("Downloading", "crates ...");
    let bar = if shell.shows_progress() { ProgressBar::no_length() } else { ProgressBar::hidden() };
    bar.set_length(wanted.len() as u64);
    let done = on_threads(&wanted, |wanted| {
        download(sparse.client(), &template.of(wanted.package), wanted)?;
        bar.inc(1);
        shell.status("Downloaded", name(wanted.package));
        Ok(())
    });
    bar.finish_and_clear();
    done.map(|()| wanted.len())
}

fn name(package: &Locked) -> String {
    format!("{} v{}", package.id.name, package.id.version)
}

/// Runs `work` for each item on a few threads; the first error stops all of them.
fn on_threads<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Ok(()));
    thread::scope(|scope| {
        for _ in 0..DOWNLOADS_MAX.min(items.len()) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = work(item) {
                        next.store(items.len(), Ordering::Relaxed);
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn download(client: &Client, url: &str, wanted: &Wanted<'_>) -> Result<()> {
    let temporary = wanted.path.with_extension(format!("crate.{}.tmp", std::process::id()));
    let result = client
        .persist(|| download_once(client, url, wanted.package, &temporary))
        .and_then(|()| Ok(fs::rename(&temporary, &wanted.path)?));
    if result.is_err() {
        drop(fs::remove_file(&temporary));
    }
    result.with_context(|| format!("failed to download `{}`", name(wanted.package)))
}

fn download_once(
    client: &Client,
    url: &str,
    package: &Locked,
    temporary: &Path,
) -> Result<(), Failure> {
    let response = client.get(url, &[])?;
    if response.status().as_u16() != 200 {
        let error = anyhow!("`{url}` answered {}", response.status());
        return Err(Failure::permanent(error));
    }
    let body = response.into_body().into_with_config().limit(ARCHIVE_BYTES_MAX).reader();
    let found = copy_hashing(body, temporary, url)?;
    let expected = package.checksum.as_deref().unwrap_or_default();
    if found != expected {
        let name = name(package);
        return Err(Failure::permanent(anyhow!(
            "failed to verify the checksum of `{name}`\n\
             expected {expected}\n   found {found}\n\
             help: the registry or a proxy sent another file than the one that was locked"
        )));
    }
    Ok(())
}

/// Writes what `body` gives to a new file; gives its SHA-256 in hex.
fn copy_hashing(mut body: impl Read, path: &Path, url: &str) -> Result<String, Failure> {
    let full = |error: io::Error| {
        let what =
            format!("failed to write `{}`\nhelp: see whether the disk is full", path.display());
        Failure::permanent(anyhow!(error).context(what))
    };
    let mut file = File::create(path).map_err(full)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = match body.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::reading(error, url)),
        };
        hasher.update(&buffer[..read]);
        file.write_all(&buffer[..read]).map_err(full)?;
    }
    deferred_close::close_inline(file).map_err(full)?;
    Ok(hex::encode(&hasher.finalize()))
}
