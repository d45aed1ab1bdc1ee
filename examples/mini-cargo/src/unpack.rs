//! One crate from its archive, or from the store, into a folder.
//!
//! A crate that was unpacked before is known by its archive's checksum: its tree is placed without
//! opening the archive. Otherwise the archive is streamed through the extractor, which checks that
//! very checksum before the tree becomes known. The list of checksums that a directory source
//! needs is part of the tree. Nothing here decides where archives or folders are.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use cas_store::Store;
use deferred_close::Scope;
use stream_extract::{Extractor, Limits, Policy, Scratch};

use crate::hex;
use crate::lock::Locked;
use crate::sink::{Contents, CrateSink, add_made};

const CHECKSUM_FILE: &str = ".cargo-checksum.json";

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
}

impl<'a, 'scope> Unpacker<'a, 'scope> {
    pub(crate) fn new(store: &'a Store, scope: &'a Scope<'scope>) -> Self {
        Self { store, scope, scratch: Scratch::new() }
    }

    /// Fills `folder`, which must be new, with the contents of `package`.
    ///
    /// # Errors
    /// When the archive is missing, is another one or is damaged, or the disk is full. The folder
    /// is then to be removed; the store stays sound.
    pub(crate) fn unpack(
        &mut self,
        package: &Locked,
        archive: &Path,
        folder: &Path,
    ) -> Result<Origin> {
        let name = format!("{} v{}", package.id.name, package.id.version);
        let checksum = package.checksum.as_deref();
        let checksum =
            checksum.with_context(|| format!("the lock file has no checksum of `{name}`"))?;
        if self.place_known(checksum, folder)? {
            return Ok(Origin::Store);
        }
        self.extract(package, checksum, archive, folder)
            .with_context(|| format!("failed to unpack `{name}`"))?;
        Ok(Origin::Archive)
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
        archive: &Path,
        folder: &Path,
    ) -> Result<()> {
        let file = open(archive)?;
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
            .crate_(BufReader::with_capacity(1 << 16, file), &root, &mut self.scratch, sink);
        // Also when the extraction failed: nobody may write below a folder that is being removed.
        let closed = group.wait();
        let extracted = extracted.map_err(|error| explain(error, archive));
        let mut contents = extracted?.committed;
        closed.with_context(|| format!("failed to write `{}`", folder.display()))?;
        let list = checksum_list(checksum, &contents);
        add_made(&destination, &mut contents, Path::new(CHECKSUM_FILE), list.as_bytes())?;
        self.store.write_tree(&tree_key(checksum), &contents.tree.build()?)?;
        Ok(())
    }
}

/// Whether the store has a manifest of the crate, so that its archive is not needed.
pub(crate) fn is_known(store: &Store, package: &Locked) -> bool {
    let tree = package.checksum.as_deref().map(|checksum| store.tree(&tree_key(checksum)));
    matches!(tree, Some(Ok(Some(_))))
}

fn tree_key(checksum: &str) -> String {
    format!("crate {checksum}")
}

fn make_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir(folder).with_context(|| format!("failed to create `{}`", folder.display()))
}

fn open(archive: &Path) -> Result<File> {
    match File::open(archive) {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(
            "the archive `{}` is not there\n\
             help: run `mini-cargo fetch` without --offline, which downloads it",
            archive.display()
        ),
        opened => opened.with_context(|| format!("failed to open `{}`", archive.display())),
    }
}

fn explain(error: stream_extract::Error, archive: &Path) -> anyhow::Error {
    let archive = archive.display();
    let what = if error.is_digest_mismatch() {
        format!(
            "the archive `{archive}` is not the one that the lock file names\n\
             help: delete it and run `mini-cargo fetch`, which downloads it again"
        )
    } else if error.is_sink() {
        "failed to store its files; nothing was left behind\nhelp: see whether the disk is full"
            .to_owned()
    } else {
        format!(
            "the archive `{archive}` is damaged\n\
             help: delete it and run `mini-cargo fetch`, which downloads it again"
        )
    };
    anyhow!(error).context(what)
}

/// What cargo reads in a directory source: the archive's checksum and that of each file.
fn checksum_list(checksum: &str, contents: &Contents) -> String {
    serde_json::json!({ "files": contents.checksums, "package": checksum }).to_string()
}
