//! The lock files: put back before each run, and compared once between the two programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A workspace's `Cargo.lock` and what it held when cargo wrote it.
pub(crate) struct Lock {
    path: PathBuf,
    text: String,
}

impl Lock {
    pub(crate) fn read(project: &Path) -> io::Result<Self> {
        let path = project.join("Cargo.lock");
        Ok(Self { text: fs::read_to_string(&path)?, path })
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn put_back(&self) -> io::Result<()> {
        fs::write(&self.path, &self.text)
    }

    /// Packages in the lock.
    pub(crate) fn packages(&self) -> usize {
        self.text.matches("[[package]]").count()
    }

    /// The package to update alone: the first of some well-known names, else the first one.
    pub(crate) fn one_package(&self) -> Option<String> {
        let name = |line: &str| Some(line.strip_prefix("name = \"")?.strip_suffix('"')?.to_owned());
        let names: Vec<String> = self.text.lines().filter_map(name).collect();
        let once = |wanted: &&str| names.iter().filter(|name| name == wanted).count() == 1;
        let known = ["git2", "serde_json", "serde", "libc"].into_iter().find(once);
        known.map(str::to_owned).or_else(|| names.first().cloned())
    }

    /// Lines that differ from what is on disk now; the line with the lock's version is not compared.
    pub(crate) fn difference(&self) -> io::Result<usize> {
        let now = fs::read_to_string(&self.path)?;
        let lines = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| !line.starts_with("version = ") || line.contains('.'))
                .map(str::to_owned)
                .collect()
        };
        let (theirs, ours) = (lines(&self.text), lines(&now));
        let changed = theirs.iter().zip(&ours).filter(|(one, other)| one != other).count();
        Ok(changed + theirs.len().abs_diff(ours.len()))
    }
}
