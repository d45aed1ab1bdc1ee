//! Trees: which content belongs at which path. This module does no I/O.

use crate::contest::Wanted;
use crate::digest::{Digest, Executable};
use crate::error::{Error, Missing, Result};
use crate::manifest;
use crate::path;

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
    /// Its length in bytes, for sums and decisions of the caller; the digest says what it contains.
    pub size: u64,
}

/// A list of files, sorted by path: what a package unpacks to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    pub(crate) files: Vec<TreeFile>,
    /// The name of the manifest it was read from.
    pub(crate) stored_as: Option<String>,
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
}

impl TreeFile {
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted { digest: self.digest, executable: self.executable, size: Some(self.size) }
    }

    pub(crate) fn as_missing(&self) -> Missing {
        Missing {
            path: self.path.clone(),
            digest: self.digest,
            executable: self.executable,
            size: self.size,
        }
    }
}
