//! A tree written through folder handles: no name is ever resolved through a link.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use rustix::fs::{self, Mode, OFlags};

const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);
const OPEN_FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NEW_FILE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The folder, and a handle of the folder that was used last: entries come grouped by folder.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
    last: Option<OwnedFd>,
    last_path: String,
}

/// Makes a folder that only its owner may enter.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

impl Tree {
    /// Makes and opens the folder.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        DirBuilder::new().create(path)?;
        let root = fs::open(path, OPEN_FOLDER, Mode::empty())?;
        Ok(Self { root, last: None, last_path: String::new() })
    }

    pub(crate) fn directory(&mut self, path: &str) -> io::Result<()> {
        self.folder(path).map(drop)
    }

    pub(crate) fn file(&mut self, path: &str, executable: bool) -> io::Result<File> {
        let (folder, leaf) = self.parent(path)?;
        let mode = Mode::from_raw_mode(if executable { 0o777 } else { 0o666 });
        Ok(fs::openat(folder, leaf, NEW_FILE, mode)?.into())
    }

    /// Another handle of the same tree.
    pub(crate) fn share(&self) -> io::Result<Self> {
        Ok(Self { root: self.root.try_clone()?, last: None, last_path: String::new() })
    }

    /// Makes a symbolic link with the text `target`.
    pub(crate) fn symlink(&mut self, path: &str, target: &str) -> io::Result<()> {
        let (folder, leaf) = self.parent(path)?;
        Ok(fs::symlinkat(target, folder, leaf)?)
    }

    /// Makes another name for the file at `target`.
    pub(crate) fn hard_link(&mut self, path: &str, target: &str) -> io::Result<()> {
        let mut other = self.share()?;
        let (from_folder, from) = other.parent(target)?;
        let (folder, leaf) = self.parent(path)?;
        Ok(fs::linkat(from_folder, from, folder, leaf, fs::AtFlags::empty())?)
    }

    /// Grants execution to everybody who may read.
    pub(crate) fn make_executable(&mut self, path: &str) -> io::Result<()> {
        let (folder, leaf) = self.parent(path)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::openat(folder, leaf, flags, Mode::empty())?;
        let mode = Mode::from_raw_mode(fs::fstat(&file)?.st_mode);
        let readers = mode & Mode::from_raw_mode(0o444);
        let execute = Mode::from_raw_mode(readers.as_raw_mode() >> 2);
        Ok(fs::fchmod(&file, mode | execute)?)
    }

    fn parent<'p>(&mut self, path: &'p str) -> io::Result<(BorrowedFd<'_>, &'p str)> {
        match path.rsplit_once('/') {
            Some((parent, leaf)) => Ok((self.folder(parent)?, leaf)),
            None => Ok((self.root.as_fd(), path)),
        }
    }

    /// A handle of the folder at `path`, which is made if it is missing.
    fn folder(&mut self, path: &str) -> io::Result<BorrowedFd<'_>> {
        if self.last.is_none() || self.last_path != path {
            let folder = match open_beneath(self.root.as_fd(), path) {
                Err(rustix::io::Errno::NOENT) => make_all(self.root.as_fd(), path)?,
                other => other?,
            };
            self.last = Some(folder);
            self.last_path.clear();
            self.last_path.push_str(path);
        }
        Ok(self.last.as_ref().map_or(self.root.as_fd(), AsFd::as_fd))
    }
}

/// Opens a folder in one call where the kernel can promise to stay inside.
#[cfg(target_os = "linux")]
fn open_beneath(root: BorrowedFd<'_>, path: &str) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match fs::openat2(root, path, OPEN_FOLDER, Mode::empty(), inside) {
        // Before Linux 5.6, or a sandbox that does not know the call.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => walk(root, path),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: BorrowedFd<'_>, path: &str) -> rustix::io::Result<OwnedFd> {
    walk(root, path)
}

/// Opens a folder component by component, following no link.
fn walk(root: BorrowedFd<'_>, path: &str) -> rustix::io::Result<OwnedFd> {
    let mut folder = fs::openat(root, ".", OPEN_FOLDER, Mode::empty())?;
    for component in path.split('/') {
        folder = fs::openat(&folder, component, OPEN_FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

/// Makes the missing components of a path and opens the last one.
fn make_all(root: BorrowedFd<'_>, path: &str) -> io::Result<OwnedFd> {
    let mut folder = fs::openat(root, ".", OPEN_FOLDER, Mode::empty())?;
    for component in path.split('/') {
        match fs::mkdirat(&folder, component, FOLDER_MODE) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        folder = fs::openat(&folder, component, OPEN_FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

/// Renames `from` to `to` unless `to` exists.
#[cfg(target_os = "linux")]
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    match fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems without the flag: an empty folder that appeared meanwhile is replaced.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => std::fs::rename(from, to),
        other => Ok(other?),
    }
}

/// Renames `from` to `to`; an empty folder that appeared meanwhile is replaced.
#[cfg(not(target_os = "linux"))]
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}
