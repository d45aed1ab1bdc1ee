//! A tree written through paths, for systems without folder handles.
//!
//! The private folder keeps others out, and every path was judged by Windows' rules before.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Tree {
    root: PathBuf,
    last_path: String,
}

/// Makes a folder; it inherits the permissions of its parent.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

impl Tree {
    /// Makes the folder.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        Ok(Self { root: path.to_path_buf(), last_path: String::new() })
    }

    pub(crate) fn directory(&mut self, path: &str) -> io::Result<()> {
        if self.last_path != path {
            fs::create_dir_all(self.root.join(path))?;
            self.last_path.clear();
            self.last_path.push_str(path);
        }
        Ok(())
    }

    pub(crate) fn file(&mut self, path: &str, _executable: bool) -> io::Result<File> {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent)?;
        }
        OpenOptions::new().write(true).create_new(true).open(self.root.join(path))
    }

    /// Another handle of the same tree.
    #[expect(clippy::unnecessary_wraps, reason = "same signature everywhere")]
    pub(crate) fn share(&self) -> io::Result<Self> {
        Ok(Self { root: self.root.clone(), last_path: String::new() })
    }

    /// Symbolic links need a privilege here, and a kind that an archive does not tell.
    #[expect(clippy::unused_self, reason = "same signature everywhere")]
    pub(crate) fn symlink(&mut self, _path: &str, _target: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes another name for the file at `target`.
    pub(crate) fn hard_link(&mut self, path: &str, target: &str) -> io::Result<()> {
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent)?;
        }
        fs::hard_link(self.root.join(target), self.root.join(path))
    }

    /// There is no executable bit here.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "same signature everywhere")]
    pub(crate) fn make_executable(&mut self, _path: &str) -> io::Result<()> {
        Ok(())
    }
}

/// Renames `from` to `to` unless `to` exists.
///
/// Windows' own rename replaces, at least an empty folder, and no safe call is without it: what appears
/// between the look and the rename may be replaced.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}
