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

/// Handles of folders that stay open: deeper trees than real ones keep the outermost and the innermost.
const OPEN_MAX: usize = 16;

/// The folder, and handles on the way to the folder that was used last: entries come grouped by
/// folder, so the next one is mostly the same or a neighbour.
#[derive(Debug)]
pub(crate) struct Tree {
    root: OwnedFd,
    open: Vec<Folder>,
    /// The path of the last of `open`.
    last_path: String,
}

#[derive(Debug)]
struct Folder {
    handle: OwnedFd,
    /// Its path is this many bytes of `last_path`.
    end: usize,
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
        Ok(Self::below(root))
    }

    fn below(root: OwnedFd) -> Self {
        Self { root, open: Vec::with_capacity(OPEN_MAX), last_path: String::new() }
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
        Ok(Self::below(self.root.try_clone()?))
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
        if self.last_path != path {
            self.descend(path)?;
        }
        Ok(self.last())
    }

    fn last(&self) -> BorrowedFd<'_> {
        self.open.last().map_or(self.root.as_fd(), |folder| folder.handle.as_fd())
    }

    /// Leaves folders that are not on the way to `path`, and enters or makes those that are.
    fn descend(&mut self, path: &str) -> io::Result<()> {
        let shared = shared_folders(&self.last_path, path);
        while self.open.last().is_some_and(|folder| folder.end > shared) {
            self.open.pop();
        }
        let entered = self.open.last().map_or(0, |folder| folder.end);
        self.last_path.truncate(entered);
        for component in path[entered..].split('/').filter(|component| !component.is_empty()) {
            self.enter(component)?;
        }
        Ok(())
    }

    /// Enters a folder of the last one by a single name, following no link.
    fn enter(&mut self, component: &str) -> io::Result<()> {
        match fs::mkdirat(self.last(), component, FOLDER_MODE) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let handle = fs::openat(self.last(), component, OPEN_FOLDER, Mode::empty())?;
        if !self.last_path.is_empty() {
            self.last_path.push('/');
        }
        self.last_path.push_str(component);
        if self.open.len() == OPEN_MAX {
            self.open.pop();
        }
        self.open.push(Folder { handle, end: self.last_path.len() });
        Ok(())
    }
}

/// Bytes of the longest path that both start with and that ends with a whole component.
fn shared_folders(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let ends = |path: &[u8]| path.get(same).is_none_or(|&byte| byte == b'/');
    if ends(a) && ends(b) {
        return same;
    }
    a[..same].iter().rposition(|&byte| byte == b'/').unwrap_or(0)
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
