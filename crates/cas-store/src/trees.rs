//! The store's manifests: written whole under a temporary name, then renamed.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::error::{Error, Result};
use crate::layout;
use crate::manifest;
use crate::options::Durability;
use crate::path;
use crate::store::{Inner, Store};
use crate::sys::gone_is_fine;
use crate::tree::Tree;

/// More than a manifest of ten million files; what is longer is cut, and its checksum does not match.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

impl Store {
    /// Writes the manifest of `tree` under `key`, replacing an older one: the files' objects are kept
    /// by sweeps from now on.
    ///
    /// Write it after every file was published and, for archives, verified.
    ///
    /// # Errors
    ///
    /// An I/O error; the older manifest is still there then.
    ///
    /// # Durability
    ///
    /// [`Durability::Durable`]: one sync of the store's file system before the manifest gets its
    /// name, and one of the manifest. Otherwise none.
    pub fn write_tree(&self, key: &str, tree: &Tree) -> Result<()> {
        let name = tree_path(key);
        let bytes = manifest::encode(key, &tree.files);
        self.inner.install(&name, &bytes).map_err(|e| self.inner.home_error("write", &name, e))
    }

    /// Reads the tree under `key`.
    ///
    /// # Errors
    ///
    /// [`is_corrupt`](Error::is_corrupt) when the manifest is damaged: remove the tree and write it
    /// anew.
    pub fn tree(&self, key: &str) -> Result<Option<Tree>> {
        let name = tree_path(key);
        let Some((stored, tree)) = self.inner.read_tree(&name)? else { return Ok(None) };
        if stored != key {
            return Err(Error::corrupt(self.path().join(name), 2, "it has another key"));
        }
        Ok(Some(tree))
    }

    /// Forgets the tree under `key`; true when there was one. Its objects stay until a sweep.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub fn remove_tree(&self, key: &str) -> Result<bool> {
        let name = tree_path(key);
        match self.inner.home.unlink(&name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.inner.home_error("remove", &name, error)),
        }
    }

    /// The keys of all trees, sorted. Damaged manifests are left out; [`sweep`](Store::sweep) counts
    /// them.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub fn trees(&self) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        for name in self.inner.tree_names()? {
            match self.inner.read_tree(&name) {
                Ok(found) => keys.extend(found.map(|(key, _)| key)),
                Err(error) if error.is_corrupt() => {}
                Err(error) => return Err(error),
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }
}

fn tree_path(key: &str) -> String {
    format!("{}/{}{}", layout::TREES, layout::key_name(key), layout::TREE_SUFFIX)
}

impl Inner {
    /// The paths of all manifests, relative to the store's folder.
    pub(crate) fn tree_names(&self) -> Result<Vec<String>> {
        let mut names = self.names_in(layout::TREES)?;
        names.retain(|name| name.ends_with(layout::TREE_SUFFIX));
        Ok(names.iter().map(|name| format!("{}/{name}", layout::TREES)).collect())
    }

    /// The key and the tree of the manifest at `name`; `None` when it is not there.
    pub(crate) fn read_tree(&self, name: &str) -> Result<Option<(String, Tree)>> {
        let mut bytes = Vec::new();
        let read = |file: File| file.take(MANIFEST_BYTES_MAX).read_to_end(&mut bytes);
        match self.home.open_file(name).and_then(read) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.home_error("read", name, error)),
        }
        let found = manifest::decode(&bytes)
            .map_err(|fault| Error::corrupt(self.home.path().join(name), fault.line, fault.what))?;
        let stored_as = name.rsplit('/').next().map(str::to_owned);
        Ok(Some((found.key, Tree { files: found.files, stored_as })))
    }

    /// Writes a file under a temporary name and renames it into place.
    pub(crate) fn install(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let durable = self.options.durability == Durability::Durable;
        if durable {
            self.objects.sync_file_system()?;
        }
        let temporary = self.temporary();
        let written = self.write_file(&temporary, bytes, durable);
        if let Err(error) = written.and_then(|()| self.home.rename(&temporary, &self.home, name)) {
            gone_is_fine(self.home.unlink(&temporary))?;
            return Err(error);
        }
        if durable { self.home.sync_folder(path::parent(name)) } else { Ok(()) }
    }

    fn write_file(&self, name: &str, bytes: &[u8], durable: bool) -> io::Result<()> {
        let mut file = self.home.create_new(name, 0o666)?;
        file.write_all(bytes)?;
        if durable { file.sync_all() } else { Ok(()) }
    }
}
