//! Folders to measure in: always fresh, on a stated file system, gone at the end.
//!
//! Two faults are designed out:
//!
//! * *Deleting before creating.* ext4 without a journal skips recently deleted inodes, so creating
//!   files after anybody's `rm -rf` costs 20 to 35 times more for minutes. A [`Workdir`] never
//!   deletes while it is measured in; when it gets full, the loop-mounted file system is made anew.
//! * *Leftovers.* A guard process holds the other end of a pipe. When this process ends, by return,
//!   panic, Ctrl-C or `kill -9`, the pipe closes, and the guard unmounts and deletes.
//!
//! Only `mount.rs` knows how a file system is made; only `guard_*.rs` deletes at the end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fs_err as fs;

use crate::disk_usage::disk_usage;
use crate::error::{Error, Result};
use guard::Guard;
use mount::LoopMount;

#[cfg_attr(unix, path = "guard_unix.rs")]
#[cfg_attr(not(unix), path = "guard_other.rs")]
mod guard;
mod mount;

pub use mount::Filesystem;

/// Where to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// Memory, through tmpfs: no medium, no journal, the cheapest file operations there are.
    Memory,
    /// ext4 with its journal, on a loop mount in memory: a real file system's work without a disk's
    /// noise. Needs root on Linux.
    JournaledExt4 {
        /// Size of the file system; memory is taken only as it fills.
        size_bytes: u64,
    },
    /// A fresh folder inside this one, on whatever file system it is. It is never deleted from
    /// before the end.
    Folder(PathBuf),
}

/// A place for fresh folders.
///
/// # Examples
///
/// ```
/// use bench_util::{Place, Workdir};
///
/// let work = Workdir::on(&Place::Folder(std::env::temp_dir()))?;
/// let (first, second) = (work.fresh("tree")?, work.fresh("tree")?);
/// assert_ne!(first, second);
/// let top = work.path().to_owned();
/// drop(work);
/// assert!(!top.exists());
/// # Ok::<(), bench_util::Error>(())
/// ```
#[derive(Debug)]
pub struct Workdir {
    // Field order is drop order: the guard unmounts and deletes.
    _guard: Guard,
    mount: Option<LoopMount>,
    may_empty: bool,
    top: PathBuf,
    next: AtomicU64,
}

impl Workdir {
    /// Makes an empty work folder in `place`.
    ///
    /// # Errors
    ///
    /// `is_unavailable` when the place needs root, memory or a tool that is not there; else when
    /// the folder cannot be made.
    pub fn on(place: &Place) -> Result<Self> {
        let parent = match place {
            Place::Folder(parent) => parent.clone(),
            Place::Memory | Place::JournaledExt4 { .. } => memory()?,
        };
        let root = tempfile::Builder::new()
            .prefix("bench-util-")
            .tempdir_in(&parent)
            .map_err(|error| Error::io("make a folder in", &parent, error))?;
        let guard = Guard::start(root.path())?;
        let root = root.keep(); // The guard removes it from here on.
        let mount = match *place {
            Place::JournaledExt4 { size_bytes } => Some(LoopMount::make(&root, size_bytes)?),
            _ => None,
        };
        let top = mount.as_ref().map_or_else(|| root.clone(), |mount| mount.top().to_path_buf());
        let may_empty = *place == Place::Memory;
        Ok(Self { _guard: guard, mount, may_empty, top, next: AtomicU64::new(0) })
    }

    /// The folder that holds the fresh ones.
    pub fn path(&self) -> &Path {
        &self.top
    }

    /// Makes a folder that was never there before, not even under this name.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
    pub fn fresh(&self, label: &str) -> Result<PathBuf> {
        let path = self.unused(label);
        fs::create_dir(&path).map_err(|error| Error::io("make", &path, error))?;
        Ok(path)
    }

    /// Names a path that does not exist, for work that makes its target itself.
    pub fn unused(&self, label: &str) -> PathBuf {
        let number = self.next.fetch_add(1, Relaxed);
        let label: String =
            label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.top.join(format!("{number:06}-{label}"))
    }

    /// Starts over with an empty file system when more than `bytes` are used. Everything in it is
    /// lost, so call it between rounds and keep inputs elsewhere.
    ///
    /// Returns whether it did. A [`Place::Folder`] is never emptied: that is the fault to avoid.
    ///
    /// # Errors
    ///
    /// When the file system cannot be made anew.
    pub fn renew_over(&mut self, bytes: u64) -> Result<bool> {
        if let Some(mount) = &mut self.mount {
            return Ok(mount.used_bytes()? > bytes && mount.renew().map(|()| true)?);
        }
        if !self.may_empty || disk_usage(&self.top)?.allocated_bytes <= bytes {
            return Ok(false);
        }
        self.empty().map(|()| true)
    }

    /// tmpfs has no memory of deleted inodes: deleting there does no harm.
    fn empty(&self) -> Result<()> {
        let failed = |error| Error::io("empty", &self.top, error);
        for entry in fs::read_dir(&self.top).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                fs::remove_dir_all(entry.path()).map_err(failed)?;
            } else {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The file system and its mount options, for the report.
    pub fn filesystem(&self) -> Filesystem {
        Filesystem::of(&self.top)
    }
}

fn memory() -> Result<PathBuf> {
    let path = PathBuf::from("/dev/shm");
    if path.is_dir() { Ok(path) } else { Err(Error::unavailable("tmpfs", "run on Linux")) }
}
