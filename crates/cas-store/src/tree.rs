//! Trees: which content belongs at which path. Their manifests keep objects alive.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use crate::contest::{Contest, Wanted};
use crate::copying::{self, Copied};
use crate::destination::Destination;
use crate::digest::{Digest, Executable};
use crate::error::{Error, Missing, Result};
use crate::layout::{self, ObjectName};
use crate::manifest;
use crate::options::Durability;
use crate::path;
use crate::placed::{PlaceReport, Placed, Tally, Why};
use crate::plan::Means;
use crate::protocol;
use crate::store::{Inner, Store};
use crate::sys::{self, gone_is_fine};

/// One file of a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TreeFile {
    /// Relative, with `/` between names.
    pub path: String,
    /// Its content.
    pub digest: Digest,
    /// Whether it may be executed.
    pub executable: Executable,
    /// Its length in bytes.
    pub size: u64,
}

/// A list of files, sorted by path: what a package unpacks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    files: Vec<TreeFile>,
    /// The name of the manifest it was read from.
    stored_as: Option<String>,
}

/// Collects the files of a [`Tree`] in any order.
#[derive(Debug, Clone, Default)]
pub struct TreeBuilder {
    files: Vec<TreeFile>,
}

impl TreeBuilder {
    /// A tree without files.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    ///
    /// # Errors
    ///
    /// [`is_unsafe_path`](Error::is_unsafe_path) when `path` is not a plain relative path.
    pub fn file(
        &mut self,
        path: &str,
        digest: Digest,
        executable: Executable,
        size: u64,
    ) -> Result<&mut Self> {
        let path = path::checked(path)?.to_owned();
        self.files.push(TreeFile { path, digest, executable, size });
        Ok(self)
    }

    /// Sorts and checks the files.
    ///
    /// # Errors
    ///
    /// [`is_unsafe_path`](Error::is_unsafe_path) when a path occurs twice, or is both a file and a
    /// folder.
    pub fn build(mut self) -> Result<Tree> {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        if let Some(pair) = self.files.windows(2).find(|pair| pair[0].path == pair[1].path) {
            return Err(Error::unsafe_path(&pair[0].path, "occurs twice"));
        }
        let tree = Tree { files: self.files, stored_as: None };
        match tree.folder_that_is_a_file() {
            Some(folder) => Err(Error::unsafe_path(folder, "is both a file and a folder")),
            None => Ok(tree),
        }
    }
}

impl Tree {
    /// The files, sorted by path.
    pub fn files(&self) -> &[TreeFile] {
        &self.files
    }

    /// The file at `path`.
    pub fn get(&self, path: &str) -> Option<&TreeFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// Looks at every folder once: files are sorted, so a folder that the file before lies in too was
    /// looked at already.
    fn folder_that_is_a_file(&self) -> Option<&str> {
        let mut before = "";
        for file in &self.files {
            let inside = |folder: &str| {
                before.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            };
            let mut new = path::ancestors(&file.path).filter(|folder| !inside(folder));
            if let Some(folder) = new.find(|folder| self.get(folder).is_some()) {
                return Some(folder);
            }
            before = &file.path;
        }
        None
    }

    /// The digest of all paths, contents, sizes and executable marks: equal trees, equal digests.
    pub fn digest(&self) -> Digest {
        let mut text = Vec::new();
        manifest::encode_files(&self.files, &mut text);
        Digest::of(&text)
    }

    /// Places every file in `destination`, on this thread.
    ///
    /// The report counts this call alone; the destination's own report includes it.
    ///
    /// # Errors
    ///
    /// [`is_missing`](Error::is_missing) when objects are gone: everything else was placed, and
    /// [`missing`](Error::missing) lists what to fetch. Otherwise as [`Destination::put`], at the
    /// first file that fails.
    pub fn place(&self, destination: &Destination) -> Result<PlaceReport> {
        let counting = destination.recounting();
        let mut missing = Vec::new();
        for file in &self.files {
            if !counting.place_file(file)? {
                missing.push(file.as_missing());
            }
        }
        self.finish_placing(destination, &counting, missing)
    }

    fn finish_placing(
        &self,
        destination: &Destination,
        counting: &Destination,
        missing: Vec<Missing>,
    ) -> Result<PlaceReport> {
        let report = counting.report();
        destination.tally.absorb(&report);
        if let Some(name) = &self.stored_as {
            destination.shared.store.mark_used(name);
        }
        if missing.is_empty() { Ok(report) } else { Err(Error::missing_objects(missing)) }
    }
}

impl TreeFile {
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { digest: self.digest, executable: self.executable, size: Some(self.size) }
    }

    fn as_missing(&self) -> Missing {
        Missing {
            path: self.path.clone(),
            digest: self.digest,
            executable: self.executable,
            size: self.size,
        }
    }
}

impl Destination {
    /// The same destination with counters of its own.
    fn recounting(&self) -> Self {
        Self { tally: Tally::default().into(), ..self.clone() }
    }

    /// Places one file of a tree; false when its object is gone.
    fn place_file(&self, file: &TreeFile) -> Result<bool> {
        self.prepare(&file.path)?;
        if file.size == 0 {
            self.create_empty(&file.path, file.executable)?;
            return Ok(true);
        }
        let placed = match self.try_place(&file.path, file.wanted())? {
            None if self.shared.store.make_from_variant(&self.tally, file.wanted())? => {
                self.try_place(&file.path, file.wanted())?
            }
            other => other,
        };
        Ok(placed.map(|placed| self.tally.count(placed)).is_some())
    }

    fn create_empty(&self, path: &str, executable: Executable) -> Result<()> {
        let (file, written_as) = self.create_file(path, executable)?;
        drop(file);
        self.reveal(&written_as, path)?;
        self.tally.count(Placed::WrotePrivate(Why::Empty));
        Ok(())
    }
}

impl Inner {
    /// Makes a missing object from its other variant, the same bytes with another mode. True when it
    /// is there now.
    fn make_from_variant(&self, tally: &Tally, wanted: Wanted) -> Result<bool> {
        let other = ObjectName::new(&wanted.digest, wanted.executable.flipped());
        if self.is_read_only() {
            return Ok(false);
        }
        let from = match self.objects.open_file(other.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(|error| self.object_error("open", &other, error))?,
        };
        self.add_copy(tally, from, wanted).map_err(|error| self.object_error("copy", &other, error))
    }

    /// Adds an object with the bytes of `from`, unless they are not what was wanted.
    pub(crate) fn add_copy(
        &self,
        tally: &Tally,
        mut from: File,
        wanted: Wanted,
    ) -> io::Result<bool> {
        let name = self.temporary();
        let mut to = self.home.create_new(&name, self.config.mode(wanted.executable))?;
        let copied = copying::copy(&mut from, &mut to, Means::Copy);
        let stamped = self.stamp(&to, &wanted.digest, wanted.executable);
        drop(to);
        let good = matches!(&copied, Ok(Copied::Hashed(found)) if *found == wanted.digest);
        let published = match stamped {
            Ok(()) if good => {
                protocol::publish(&Contest::inside(self, tally, &name, wanted)).map(|_| true)
            }
            other => other.map(|()| false),
        };
        gone_is_fine(self.home.unlink(&name))?;
        copied.and(published)
    }

    /// Notes that a tree was used, for a sweep by age. A failure only makes the tree look older.
    fn mark_used(&self, name: &str) {
        if !self.is_read_only() {
            sys::touch(&self.home, &format!("{}/{name}", layout::TREES)).unwrap_or(());
        }
    }
}

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
        let folder = self.home.path().join(layout::TREES);
        let fail = |error| Error::io("list", &folder, error);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            if let Some(name) = name.to_str().filter(|name| name.ends_with(layout::TREE_SUFFIX)) {
                names.push(format!("{}/{name}", layout::TREES));
            }
        }
        Ok(names)
    }

    /// The key and the tree of the manifest at `name`; `None` when it is not there.
    pub(crate) fn read_tree(&self, name: &str) -> Result<Option<(String, Tree)>> {
        let mut bytes = Vec::new();
        match self.home.open_file(name).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.home_error("read", name, error)),
        }
        let found = manifest::decode(&bytes).map_err(|fault| {
            Error::corrupt(self.home.path().join(PathBuf::from(name)), fault.line, fault.what)
        })?;
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
