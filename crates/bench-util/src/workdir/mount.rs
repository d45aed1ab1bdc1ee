//! Makes, fills and renews a journaled ext4 inside a file; tells what file system a folder is on.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fs_err as fs;

use crate::error::{Error, Result};

/// A loop-mounted file system that belongs to one work folder; the guard unmounts it.
#[derive(Debug)]
pub(super) struct LoopMount {
    image: PathBuf,
    top: PathBuf,
    size_bytes: u64,
}

impl LoopMount {
    pub(super) fn make(root: &Path, size_bytes: u64) -> Result<Self> {
        require_root()?;
        require_space(root, size_bytes)?;
        let mount = Self { image: root.join("image"), top: root.join("mount"), size_bytes };
        fs::create_dir(&mount.top).map_err(|error| Error::io("make", &mount.top, error))?;
        mount.format()?;
        mount.attach()?;
        Ok(mount)
    }

    pub(super) fn top(&self) -> &Path {
        &self.top
    }

    /// A new file system instead of a deletion: same state as the first time, memory given back.
    pub(super) fn renew(&mut self) -> Result<()> {
        tool(Command::new("umount").arg(&self.top))?;
        self.format()?;
        self.attach()
    }

    pub(super) fn used_bytes(&self) -> Result<u64> {
        used_bytes(&self.top)
    }

    fn format(&self) -> Result<()> {
        let failed = |error| Error::io("make", &self.image, error);
        fs::File::create(&self.image)
            .and_then(|image| image.set_len(self.size_bytes))
            .map_err(failed)?;
        let lazy = "lazy_itable_init=1,lazy_journal_init=1,nodiscard";
        tool(
            Command::new("mkfs.ext4")
                .args(["-q", "-F", "-O", "has_journal", "-E", lazy])
                .arg(&self.image),
        )
    }

    /// `noinit_itable`: no kernel thread fills inode tables while we measure.
    fn attach(&self) -> Result<()> {
        let options = "loop,noinit_itable,noatime";
        tool(
            Command::new("mount")
                .args(["-t", "ext4", "-o", options])
                .arg(&self.image)
                .arg(&self.top),
        )
    }
}

fn tool(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|_| {
        Error::unavailable(format!("the tool `{name}`"), "install e2fsprogs and util-linux")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(Error::unavailable(
        format!("a loop mount (`{name}`: {})", reason.trim()),
        "run as root where loop devices are allowed",
    ))
}

#[cfg(unix)]
fn require_root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(Error::unavailable("the right to mount", "run as root"))
}

#[cfg(not(unix))]
fn require_root() -> Result<()> {
    Err(Error::unavailable("loop mounts", "run on Linux"))
}

#[cfg(unix)]
fn require_space(root: &Path, size_bytes: u64) -> Result<()> {
    let space = statvfs(root)?;
    let free = space.f_bavail * space.f_frsize;
    if free >= size_bytes {
        return Ok(());
    }
    let (free, size) = (free >> 20, size_bytes >> 20);
    Err(Error::unavailable(
        format!("memory for a file system of {size} MiB ({free} MiB are free)"),
        "free some, or use --quick",
    ))
}

#[cfg(not(unix))]
fn require_space(_root: &Path, _size_bytes: u64) -> Result<()> {
    require_root()
}

#[cfg(unix)]
fn used_bytes(top: &Path) -> Result<u64> {
    let space = statvfs(top)?;
    Ok((space.f_blocks - space.f_bfree) * space.f_frsize)
}

#[cfg(not(unix))]
fn used_bytes(_top: &Path) -> Result<u64> {
    Err(Error::unavailable("the space that a folder uses", "run on Linux"))
}

#[cfg(unix)]
fn statvfs(path: &Path) -> Result<rustix::fs::StatVfs> {
    rustix::fs::statvfs(path).map_err(|error| Error::io("measure", path, error.into()))
}

/// A file system as the mount table shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filesystem {
    /// Its type, such as `ext4`.
    pub kind: String,
    /// Its mount options.
    pub options: String,
}

impl Filesystem {
    /// Looks up the file system that holds `path`.
    pub fn of(path: &Path) -> Self {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Self::find(&table, &path)
            .unwrap_or_else(|| Self { kind: "unknown".to_owned(), options: String::new() })
    }

    /// The longest mount point above `path` wins; of equal ones the last, which hides the others.
    fn find(table: &str, path: &Path) -> Option<Self> {
        let mounts = table.lines().filter_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let point = PathBuf::from(front.split(' ').nth(4)?.replace("\\040", " "));
            let mut back = back.split(' ');
            let (kind, options) = (back.next()?.to_owned(), back.nth(1)?.to_owned());
            path.starts_with(&point).then_some((point.as_os_str().len(), Self { kind, options }))
        });
        mounts.max_by_key(|(length, _)| *length).map(|(_, filesystem)| filesystem)
    }
}

impl fmt::Display for Filesystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_is_the_one_that_counts() {
        let table = "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                     30 21 0:26 / /dev/shm rw - tmpfs tmpfs rw,size=1k\n\
                     31 30 7:0 / /dev/shm/a\\040b rw - ext4 /dev/loop0 rw,data=ordered\n";
        let kind = |path: &str| Filesystem::find(table, Path::new(path)).unwrap().to_string();
        assert_eq!(kind("/home"), "ext4 (rw)");
        assert_eq!(kind("/dev/shm/x"), "tmpfs (rw,size=1k)");
        assert_eq!(kind("/dev/shm/a b/c"), "ext4 (rw,data=ordered)");
    }
}
