//! The real disk.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod platform;

use super::{Disk, Lock, Map, Medium, Residence, Wait};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Paths and files of the operating system.
#[derive(Debug)]
pub(crate) struct OsDisk;

#[derive(Debug)]
struct OsFile(File);

impl Medium for OsFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        platform::read_exact_at(&self.0, buffer, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        platform::write_all_at(&self.0, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn will_need(&self, offset: u64, len: u64) {
        platform::will_need(&self.0, offset, len);
    }

    fn map(&self, len: u64) -> io::Result<Option<Map>> {
        match usize::try_from(len) {
            Ok(len) => Map::new(&self.0, len).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn residence(&self) -> Residence {
        platform::file_residence(&self.0)
    }
}

fn open(options: &OpenOptions, path: &Path) -> io::Result<Box<dyn Medium>> {
    Ok(Box::new(OsFile(options.open(path)?)))
}

impl Disk for OsDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        open(OpenOptions::new().read(true), path)
    }

    fn open_writable(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        open(OpenOptions::new().read(true).write(true), path)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        open(OpenOptions::new().read(true).write(true).create_new(true), path)
    }

    fn create_folder_of(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(folder_of(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn siblings(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let entries = fs::read_dir(folder_of(path))?.collect::<io::Result<Vec<_>>>()?;
        let mine = entries.into_iter().filter(|entry| {
            let found = entry.file_name();
            found.as_encoded_bytes().starts_with(name) && found.as_encoded_bytes() != name
        });
        Ok(mine.map(|entry| entry.path()).collect())
    }

    fn residence(&self, path: &Path) -> Residence {
        platform::folder_residence(folder_of(path))
    }

    fn sync_folder_of(&self, path: &Path) -> io::Result<()> {
        platform::sync_folder(folder_of(path))
    }

    fn lock(&self, path: &Path, wait: Wait) -> io::Result<Lock> {
        let file = open_lock(path)?;
        let outcome = match wait {
            Wait::Block => file.lock(),
            Wait::Try => match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(Lock::Busy),
                Err(TryLockError::Error(error)) => Err(error),
                Ok(()) => Ok(()),
            },
        };
        match outcome {
            Ok(()) => Ok(Lock::Held(Box::new(file))),
            Err(error) if is_lockless(&error) => Ok(Lock::Unsupported),
            Err(error) => Err(error),
        }
    }
}

/// A lock file made by another user may be readable only; that is enough to lock it.
fn open_lock(path: &Path) -> io::Result<File> {
    let writable = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    match writable {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => File::open(path),
        outcome => outcome,
    }
}

/// True when somebody has the file open in a way that keeps others from opening or replacing it.
pub(crate) fn is_held(error: &io::Error) -> bool {
    platform::is_held(error)
}

fn is_lockless(error: &io::Error) -> bool {
    error.kind() == ErrorKind::Unsupported || platform::is_lockless(error)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
