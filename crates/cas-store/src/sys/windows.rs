//! Windows: no handles to folders, so names are joined to a path; the read-only attribute is the
//! only permission, and executables are told by their names.

#![expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "same signatures as on Unix")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{FileKind, Inode, LinkFailure, MountId, Seen};
use crate::fingerprint::Instant;

/// A folder, by path.
#[derive(Debug)]
pub(crate) struct Dir {
    path: PathBuf,
}

impl Dir {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if !fs::metadata(path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path: path.to_path_buf() })
    }

    /// Opens a folder in this one. A symbolic link is refused: it would lead out of the store.
    pub(crate) fn open_folder(&self, name: &str) -> io::Result<Self> {
        let path = self.at(name);
        if !fs::symlink_metadata(&path)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names in this folder that are text.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().into_string().ok());
        fs::read_dir(&self.path)?.filter_map(|entry| name(entry).transpose()).collect()
    }

    /// Removes a file, or a folder with all that is in it. Links are removed, never followed.
    pub(crate) fn remove_all(&self, name: &str) -> io::Result<()> {
        let path = self.at(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        }
    }

    /// Opens a file to lock it, made if need be.
    pub(crate) fn open_lock(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.at(name))
    }

    fn at(&self, name: &str) -> PathBuf {
        let mut path = self.path.clone();
        path.extend(name.split('/'));
        path
    }

    pub(crate) fn link(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        fs::hard_link(self.at(name), to.at(to_name))
    }

    pub(crate) fn rename(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        fs::rename(self.at(name), to.at(to_name))
    }

    pub(crate) fn unlink(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.at(name))
    }

    pub(crate) fn make_dir(&self, name: &str, _mode: u32) -> io::Result<()> {
        fs::create_dir(self.at(name))
    }

    pub(crate) fn stat(&self, name: &str) -> io::Result<Seen> {
        stat_path(&self.at(name))
    }

    pub(crate) fn create_new(&self, name: &str, _mode: u32) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.at(name))
    }

    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        File::open(self.at(name))
    }

    pub(crate) fn set_mode(&self, _name: &str, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    /// Windows has no sync of a volume without privileges: durable trees rest on the manifest's own.
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn sync_folder(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn mount(&self) -> io::Result<MountId> {
        let handle = winapi_util::Handle::from_path_any(&self.path)?;
        let found = winapi_util::file::information(&handle)?;
        Ok(MountId { device: found.volume_serial_number(), mount: 0 })
    }
}

pub(crate) fn stat_file(file: &File) -> io::Result<Seen> {
    let metadata = file.metadata()?;
    let found = winapi_util::file::information(file)?;
    let kind = match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => FileKind::Regular,
        (_, true) => FileKind::Folder,
        _ => FileKind::Other,
    };
    Ok(Seen {
        kind,
        size: metadata.len(),
        modified: instant(metadata.modified()?),
        // Windows has a change time, but no safe call returns it: grace falls back to the write time
        // of the link's own creation, which `created` is for a name that was just made.
        changed_s: instant(metadata.created()?).seconds,
        mode: 0,
        links: found.number_of_links(),
        inode: Inode { device: found.volume_serial_number(), number: found.file_index() },
        owner: 0,
        disk_bytes: metadata.len(),
    })
}

fn instant(time: SystemTime) -> Instant {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant {
        seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        nanoseconds: since.subsec_nanos(),
    }
}

pub(crate) fn set_file_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

pub(crate) fn set_modified(file: &File, time: Instant) -> io::Result<()> {
    let seconds = u64::try_from(time.seconds).unwrap_or_default();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::new(seconds, time.nanoseconds))
}

pub(crate) fn clone_into(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn current_owner() -> u32 {
    0
}

/// What a call says of a path through something else: `ERROR_DIRECTORY`.
pub(crate) fn not_a_folder() -> io::Error {
    io::Error::from_raw_os_error(267)
}

/// Refused are `ERROR_INVALID_FUNCTION`, `_ACCESS_DENIED`, `_NOT_SAME_DEVICE`, `_NOT_SUPPORTED` and
/// the cloud file that cannot be linked (396); 1142 is `ERROR_TOO_MANY_LINKS`.
pub(crate) fn link_failure(error: &io::Error) -> LinkFailure {
    match error.raw_os_error() {
        Some(2 | 3 | 267) => LinkFailure::Missing,
        Some(80 | 183) => LinkFailure::Exists,
        Some(1142) => LinkFailure::Crowded,
        Some(1 | 5 | 17 | 50 | 396) => LinkFailure::Refused,
        _ => LinkFailure::Other,
    }
}

/// Sets the modification time of `name` to now.
pub(crate) fn touch(dir: &Dir, name: &str) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(dir.at(name))?;
    file.set_modified(SystemTime::now())
}

/// Asks for attributes only, which no other program's share mode can refuse; opens folders too, and
/// a link itself instead of what it points to.
pub(crate) fn stat_path(path: &Path) -> io::Result<Seen> {
    const FILE_READ_ATTRIBUTES: u32 = 0x80;
    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
    const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
    let file = OpenOptions::new()
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)?;
    stat_file(&file)
}

/// True when another program opened the file without sharing it, or locked a part of it.
pub(crate) fn is_held(error: &io::Error) -> bool {
    const ERROR_SHARING_VIOLATION: i32 = 32;
    const ERROR_LOCK_VIOLATION: i32 = 33;
    matches!(error.raw_os_error(), Some(ERROR_SHARING_VIOLATION | ERROR_LOCK_VIOLATION))
}

pub(crate) fn has_attributes(_: &Path) -> bool {
    false
}

pub(crate) fn is_overlay(_: &Dir) -> bool {
    false
}

pub(crate) fn born(_: &Dir, _: &str) -> Option<(i64, u32)> {
    None
}
