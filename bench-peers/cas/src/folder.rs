//! An open folder with the calls that the peers' orders are made of, each one system call: the
//! peers are measured without any overhead of a library of theirs.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

/// An open folder.
pub struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    made: RefCell<HashSet<String>>,
}

impl Folder {
    /// Makes the folder if need be and opens it.
    pub fn make(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self { fd, path: path.to_owned(), made: RefCell::default() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folders above `name`, each once.
    pub fn make_parents(&self, name: &str) -> io::Result<()> {
        let parent = name.rsplit_once('/').map_or("", |(parent, _)| parent);
        if parent.is_empty() || self.made.borrow().contains(parent) {
            return Ok(());
        }
        // From the innermost outwards to one that is there: nearly always the first or the second.
        let mut inner_first = name.rmatch_indices('/').map(|(at, _)| &name[..at]);
        let known = inner_first.find(|folder| self.made.borrow().contains(*folder));
        let known = known.map_or(0, str::len);
        for (at, _) in name.match_indices('/').filter(|(at, _)| *at > known) {
            self.make_folder(&name[..at])?;
            self.made.borrow_mut().insert(name[..at].to_owned());
        }
        Ok(())
    }

    /// Makes one folder, if it is not there.
    pub fn make_folder(&self, name: &str) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o777)) {
            Err(rustix::io::Errno::EXIST) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Creates a file that was not there.
    pub fn create(&self, name: &str, executable: bool) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, name, flags, mode(executable))?.into())
    }

    /// Creates a file without a name.
    pub fn create_unnamed(&self, executable: bool) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, ".", flags, mode(executable))?.into())
    }

    /// Gives a file without a name one here.
    pub fn name(&self, file: &File, name: &str) -> io::Result<()> {
        let open = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file));
        let flags = AtFlags::SYMLINK_FOLLOW;
        Ok(rustix::fs::linkat(CWD, open, &self.fd, name, flags)?)
    }

    /// Links `name` here to `to` there.
    pub fn link(&self, name: &str, there: &Self, to: &str) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.fd, name, &there.fd, to, AtFlags::empty())?)
    }

    /// Moves `name` here to `to` there.
    pub fn rename(&self, name: &str, there: &Self, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name, &there.fd, to)?)
    }

    /// Removes a file.
    pub fn unlink(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Whether a name is there, by `stat`.
    pub fn has(&self, name: &str) -> bool {
        rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

fn mode(executable: bool) -> Mode {
    Mode::from_raw_mode(if executable { 0o777 } else { 0o666 })
}

/// Makes every folder of `from` in `to` and links every file: how an archive folder is installed.
pub fn link_tree(from: &Folder, to: &Folder) -> io::Result<u64> {
    link_folder(from, to, "")
}

fn link_folder(from: &Folder, to: &Folder, folder: &str) -> io::Result<u64> {
    let mut files = 0;
    for entry in fs::read_dir(from.path.join(folder))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or(io::ErrorKind::InvalidData)?;
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if entry.file_type()?.is_dir() {
            to.make_folder(&path)?;
            files += link_folder(from, to, &path)?;
        } else {
            from.link(&path, to, &path)?;
            files += 1;
        }
    }
    Ok(files)
}
