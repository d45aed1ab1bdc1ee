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
        Store::open(self.path("store"), Options::default()).unwrap()
    }

    #[cfg(unix)]
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

#[cfg(unix)]
pub(crate) fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap())
}

#[cfg(unix)]
pub(crate) fn links(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(&fs::metadata(path).unwrap())
}

#[cfg(unix)]
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

/// Whether a test that mounts or needs other programs can run here.
///
/// Where `CI` is set everything must be there, and what is missing fails the test. Elsewhere the test
/// says what it lacks, past the harness's capture, and is not run.
#[cfg(unix)]
pub(crate) fn can_run(needs_root: bool, programs: &[&str]) -> bool {
    use std::io::Write;

    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let absent = |program: &&&str| !path.split(':').any(|at| Path::new(at).join(program).exists());
    let mut missing: Vec<_> =
        programs.iter().filter(absent).map(|name| format!("`{name}`")).collect();
    if needs_root && !is_root() {
        missing.push("root".to_owned());
    }
    if missing.is_empty() {
        return true;
    }
    let missing = missing.join(", ");
    assert!(std::env::var_os("CI").is_none(), "this test needs {missing}");
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let line = format!("NOT RUN: {name} needs {missing}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    false
}

/// The owner of a file that this process makes tells who it is.
#[cfg(unix)]
fn is_root() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::MetadataExt::uid(&file.as_file().metadata().unwrap()) == 0
}
