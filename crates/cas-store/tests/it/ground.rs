//! A fresh folder with a store and environments to place into.

use std::fs;
use std::path::{Path, PathBuf};

use cas_store::{Destination, Digest, Executable, Options, Placed, Store};
use tempfile::TempDir;

pub(crate) struct Ground {
    pub(crate) root: TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    /// For tests that make many files: the root file system may be a slow one.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_memory() -> Self {
        Self { root: tempfile::tempdir_in("/dev/shm").unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn store(&self) -> Store {
        self.store_with(Options::default())
    }

    pub(crate) fn store_with(&self, options: Options) -> Store {
        Store::open(self.path("store"), options).unwrap()
    }

    /// A destination in the folder `name`, made if need be.
    pub(crate) fn env(&self, store: &Store, name: &str) -> Destination {
        fs::create_dir_all(self.path(name)).unwrap();
        store.destination(self.path(name)).unwrap()
    }
}

/// Puts a plain file.
pub(crate) fn put(env: &Destination, path: &str, bytes: &[u8]) -> Placed {
    env.put(path, bytes, Digest::of(bytes), Executable::No).unwrap()
}

pub(crate) fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

pub(crate) fn links(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(&fs::metadata(path).unwrap())
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&fs::metadata(path).unwrap()) & 0o7777
}

/// Names in a folder, sorted.
pub(crate) fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
