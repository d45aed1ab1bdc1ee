//! One crate from its archive, or from the store, into a folder.
//!
//! A crate that was unpacked before is known by its archive's checksum: its tree is placed without
//! opening the archive. Otherwise the archive is streamed through the extractor, which checks that
//! very checksum before the tree becomes known. The list of checksums that a directory source
//! needs is part of the tree. Nothing here decides where archives or folders are.

use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};
use cas_store::Store;
use deferred_close::Scope;
use stream_extract::{Extractor, Limits, Policy, Scratch};

use crate::fetch::{Archives, Fault, Had};
use crate::hex;
use crate::lock::Locked;
use crate::progress::Progress;
use crate::sink::{Contents, CrateSink, add_made};

/// What makes a folder a directory source.
pub(crate) const CHECKSUM_FILE: &str = ".cargo-checksum.json";

/// Unpacks crates of one run.
pub(crate) struct Unpacker<'a, 'scope> {
    store: &'a Store,
    scope: &'a Scope<'scope>,
    scratch: Scratch,
}

/// How a crate got into its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Store,
    Archive,
    Download,
}

/// Runs `work` for each item on up to `threads` threads; the first error stops all of them.
///
/// # Errors
/// That of `work`, or one of closing the files.
pub(crate) fn on_threads<T: Sync>(
    items: &[T],
    threads: usize,
    store: &Store,
    progress: &Progress,
    work: impl Fn(&mut Unpacker<'_, '_>, &T) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let until_done = |scope: &Scope<'_>| {
        let mut unpacker = Unpacker::new(store, scope);
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = work(&mut unpacker, item) {
                next.store(items.len(), Ordering::Relaxed);
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    let closer = progress.closer();
    let joined = closer.scope(|scope| {
        thread::scope(|all| {
            for _ in 0..threads.min(items.len()) {
                all.spawn(|| until_done(scope));
            }
        });
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => joined.context("failed to write the unpacked files"),
    }
}

impl<'a, 'scope> Unpacker<'a, 'scope> {
    pub(crate) fn new(store: &'a Store, scope: &'a Scope<'scope>) -> Self {
        Self { store, scope, scratch: Scratch::new() }
    }

    /// Fills `folder`, which must be new, with the contents of `package`.
    ///
    /// # Errors
    /// When the archive cannot be had, is another one or is damaged, or the disk is full. The
    /// folder is then to be removed; the store stays sound.
    pub(crate) fn unpack(
        &mut self,
        package: &Locked,
        archives: &Archives<'_>,
        folder: &Path,
    ) -> Result<Origin> {
        let checksum = checksum(package)?;
        if self.place_known(checksum, folder)? {
            return Ok(Origin::Store);
        }
        self.unpack_anew(package, archives, folder)
    }

    /// The same, whatever the store knows: afterwards the archive is there too.
    ///
    /// # Errors
    /// As [`unpack`](Self::unpack).
    pub(crate) fn unpack_anew(
        &mut self,
        package: &Locked,
        archives: &Archives<'_>,
        folder: &Path,
    ) -> Result<Origin> {
        let checksum = checksum(package)?;
        let had = archives.read(package, &mut |reader| {
            remove_attempt(folder)?;
            self.extract(package, checksum, reader, folder)
        })?;
        Ok(if had == Had::Downloaded { Origin::Download } else { Origin::Archive })
    }

    /// Places the tree known under `checksum`; false when it is unknown or incomplete.
    fn place_known(&self, checksum: &str, folder: &Path) -> Result<bool> {
        let tree = match self.store.tree(&tree_key(checksum)) {
            Ok(Some(tree)) => tree,
            Ok(None) => return Ok(false),
            // A damaged manifest is written anew.
            Err(error) if error.is_corrupt() => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        make_folder(folder)?;
        match tree.place(&self.store.destination(folder)?) {
            Ok(_) => Ok(true),
            Err(error) if error.is_missing() => {
                std::fs::remove_dir_all(folder)
                    .with_context(|| format!("failed to remove `{}`", folder.display()))?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn extract(
        &mut self,
        package: &Locked,
        checksum: &str,
        reader: &mut dyn BufRead,
        folder: &Path,
    ) -> Result<(), Fault> {
        make_folder(folder)?;
        let destination = self.store.destination(folder)?;
        let root = format!("{}-{}", package.id.name, package.id.version);
        let group = self.scope.group(&root);
        let sink = CrateSink::new(destination.clone(), &group, &root);
        let extracted = Extractor::new()
            .limits(Limits::crate_file())
            .policy(Policy::crate_())
            .sha256(true)
            .expect_sha256(hex::decode(checksum)?)
            .crate_(reader, &root, &mut self.scratch, sink);
        // Also when the extraction failed: nobody may write below a folder that is being removed.
        let closed = group.wait();
        let mut contents = extracted.map_err(Fault::Extraction)?.committed;
        closed.with_context(|| format!("failed to write `{}`", folder.display()))?;
        let list = checksum_list(checksum, &contents);
        add_made(&destination, &mut contents, Path::new(CHECKSUM_FILE), list.as_bytes())?;
        self.store.write_tree(&tree_key(checksum), &contents.tree.build()?)?;
        Ok(())
    }
}

/// What a download that broke has left of the folder.
fn remove_attempt(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove `{}`", folder.display()))
        }
        _ => Ok(()),
    }
}

fn checksum(package: &Locked) -> Result<&str> {
    let id = &package.id;
    let missing = || format!("the lock file has no checksum of `{} v{}`", id.name, id.version);
    package.checksum.as_deref().with_context(missing)
}

pub(crate) fn tree_key(checksum: &str) -> String {
    format!("crate {checksum}")
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir(folder).with_context(|| format!("failed to create `{}`", folder.display()))
}

/// What cargo reads in a directory source: the archive's checksum and that of each file.
fn checksum_list(checksum: &str, contents: &Contents) -> String {
    serde_json::json!({ "files": contents.checksums, "package": checksum }).to_string()
}
