//! The other way to keep objects alive: a folder of hard links per package.
//!
//! A manifest keeps objects alive because the sweep reads it. An archive keeps them alive by itself:
//! each of its files is one more link, and an object with more than one link is never swept. It costs
//! a folder tree and a link per file, and it survives tools that know nothing of manifests; a person
//! can look into it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::contest::Contest;
use crate::destination::Destination;
use crate::error::Result;
use crate::layout::{self, ARCHIVE_FILES, ARCHIVE_MANIFEST};
use crate::manifest;
use crate::placed::{PlaceReport, Tally};
use crate::protocol::{self, Published};
use crate::store::{Inner, Store, make_folder};
use crate::sys::gone_is_fine;
use crate::tree::{Tree, TreeFile};

/// A finished archive: a tree, and the links that keep its objects alive.
#[derive(Debug, Clone)]
pub struct Archive {
    tree: Tree,
    folder: PathBuf,
    store: Arc<Inner>,
}

/// An archive that is being filled. Dropping it removes what was placed so far.
#[derive(Debug)]
pub struct ArchiveBuilder {
    destination: Destination,
    /// Relative to the store's folder.
    stage: String,
    key: String,
    store: Arc<Inner>,
}

impl Store {
    /// Starts an archive under `key`, with a destination of its own inside the store.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub fn begin_archive(&self, key: &str) -> Result<ArchiveBuilder> {
        let store = &self.inner;
        let stage = store.temporary();
        let files = format!("{stage}/{ARCHIVE_FILES}");
        [&stage, &files]
            .into_iter()
            .try_for_each(|folder| make_folder(&store.home, folder, &store.options).map(drop))
            .map_err(|error| store.home_error("create", &stage, error))?;
        let destination = self.destination(self.path().join(&files))?;
        Ok(ArchiveBuilder { destination, stage, key: key.to_owned(), store: Arc::clone(store) })
    }

    /// The archive under `key`.
    ///
    /// # Errors
    ///
    /// [`is_corrupt`](crate::Error::is_corrupt) when its manifest is damaged: remove it and make it anew.
    pub fn archive(&self, key: &str) -> Result<Option<Archive>> {
        let name = archive_path(key);
        let read = self.inner.read_tree(&format!("{name}/{ARCHIVE_MANIFEST}"))?;
        Ok(read.map(|(_, tree)| Archive {
            tree,
            folder: self.path().join(&name).join(ARCHIVE_FILES),
            store: Arc::clone(&self.inner),
        }))
    }

    /// Removes the archive under `key`; true when there was one. Its objects stay until a sweep.
    ///
    /// # Errors
    ///
    /// An I/O error. What could not be removed is left in `tmp`.
    pub fn remove_archive(&self, key: &str) -> Result<bool> {
        let (name, trash) = (archive_path(key), self.inner.temporary());
        match self.inner.home.rename(&name, &self.inner.home, &trash) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(self.inner.home_error("remove", &name, error)),
        }
        gone_is_fine(self.inner.home.remove_all(&trash))
            .map_err(|error| self.inner.home_error("remove", &trash, error))?;
        Ok(true)
    }
}

fn archive_path(key: &str) -> String {
    format!("{}/{}", layout::ARCHIVES, layout::key_name(key))
}

impl ArchiveBuilder {
    /// Where to put the files.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Gives the archive its name. `tree` lists what was placed.
    ///
    /// When another process finished the same key first, its archive stays and this one is dropped:
    /// false.
    ///
    /// # Errors
    ///
    /// An I/O error.
    ///
    /// # Durability
    ///
    /// As [`Store::write_tree`].
    pub fn commit(self, tree: &Tree) -> Result<bool> {
        let bytes = manifest::encode(&self.key, tree.files());
        let manifest = format!("{}/{ARCHIVE_MANIFEST}", self.stage);
        let home = &self.store.home;
        let fail = |error| self.store.home_error("finish the archive", &self.stage, error);
        self.store.install(&manifest, &bytes).map_err(fail)?;
        match home.rename(&self.stage, home, &archive_path(&self.key)) {
            Ok(()) => Ok(true),
            Err(error) if is_taken(&error) => Ok(false),
            Err(error) => Err(fail(error)),
        }
    }
}

/// A folder cannot be renamed over one that has files.
fn is_taken(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, PermissionDenied};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
        || (cfg!(windows) && error.kind() == PermissionDenied)
}

impl Drop for ArchiveBuilder {
    fn drop(&mut self) {
        // Gone already when it was committed; a sweep removes what is left.
        self.store.home.remove_all(&self.stage).unwrap_or(());
    }
}

impl Archive {
    /// What it holds.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The folder of hard links.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Places every file in `destination`, like [`Tree::place`].
    ///
    /// Objects that the store lost are named again from the archive's own links.
    ///
    /// # Errors
    ///
    /// As [`Tree::place`].
    pub fn place(&self, destination: &Destination) -> Result<PlaceReport> {
        self.tree.place_with(destination, &|file| self.restore(file))
    }

    /// Makes the archive's link of a file the object again, if it still is what it should be.
    fn restore(&self, file: &TreeFile) -> Result<bool> {
        let store = &self.store;
        let name = format!("{}/{}", self.name(), file.path);
        let fail = |error| store.home_error("restore", &name, error);
        let seen = match store.home.stat(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.map_err(fail)?,
        };
        let wanted = file.wanted();
        if !store.looks_like(&seen, &wanted.digest, wanted.executable) {
            return Ok(false);
        }
        let tally = Tally::default();
        let published = protocol::publish(&Contest::inside(store, &tally, &name, wanted));
        Ok(!matches!(published.map_err(fail)?, Published::Private(_)))
    }

    /// The folder of links, relative to the store's.
    fn name(&self) -> String {
        let id = self.folder.parent().and_then(Path::file_name).unwrap_or_default();
        format!("{}/{}/{ARCHIVE_FILES}", layout::ARCHIVES, id.display())
    }
}
