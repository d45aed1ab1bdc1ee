//! Linux, macOS and other Unix: everything is relative to an open folder.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RawMode, Timespec, Timestamps};
use rustix::io::Errno;

use super::{FileKind, Inode, LinkFailure, MountId, Seen, gone_is_fine};
use crate::fingerprint::Instant;

/// An open folder.
#[derive(Debug)]
pub(crate) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Dir {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, FOLDER, Mode::empty())?;
        Ok(Self { fd, path: path.to_path_buf() })
    }

    /// Opens a folder in this one. A symbolic link is refused: it would lead out of the store.
    pub(crate) fn open_folder(&self, name: &str) -> io::Result<Self> {
        let fd = rustix::fs::openat(&self.fd, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names in this folder that are text, whatever its path leads to by now.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            match entry?.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => names.push(name.to_owned()),
            }
        }
        Ok(names)
    }

    /// Removes a file, or a folder with all that is in it. Links are removed, never followed.
    pub(crate) fn remove_all(&self, name: &str) -> io::Result<()> {
        remove_beneath(&self.fd, name)
    }

    /// Opens a file to lock it, made if need be; neither a link nor a named pipe gets in the way.
    pub(crate) fn open_lock(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        Ok(rustix::fs::openat(&self.fd, name, flags | OFlags::CLOEXEC, bits(0o666))?.into())
    }

    pub(crate) fn link(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        Ok(rustix::fs::linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty())?)
    }

    pub(crate) fn rename(&self, name: &str, to: &Self, to_name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name, &to.fd, to_name)?)
    }

    pub(crate) fn unlink(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    pub(crate) fn make_dir(&self, name: &str, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, bits(mode))?)
    }

    pub(crate) fn stat(&self, name: &str) -> io::Result<Seen> {
        Ok(seen(&rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Creates a file that did not exist, readable so that it can be copied or hashed afterwards.
    pub(crate) fn create_new(&self, name: &str, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, name, flags, bits(mode))?.into())
    }

    /// Opens for reading. A named pipe that somebody put there does not make us wait.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.fd, name, flags, Mode::empty())?.into())
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::chmodat(&self.fd, name, bits(mode), AtFlags::empty())?)
    }

    /// Writes everything that the folder's file system holds back to the medium.
    #[cfg(target_os = "linux")]
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.fd)?)
    }

    /// Other systems can only sync all file systems, and then do not wait for all of them.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        rustix::fs::sync();
        Ok(())
    }

    /// Makes the names in a folder durable.
    pub(crate) fn sync_folder(&self, name: &str) -> io::Result<()> {
        let folder = rustix::fs::openat(&self.fd, name, FOLDER, Mode::empty())?;
        Ok(rustix::fs::fsync(folder)?)
    }

    /// Identifies the mount that this folder is on.
    pub(crate) fn mount(&self) -> io::Result<MountId> {
        let device = seen(&rustix::fs::fstat(&self.fd)?).inode.device;
        Ok(MountId { device, mount: mount_number(&self.fd) })
    }
}

fn remove_beneath(folder: &OwnedFd, name: impl rustix::path::Arg + Copy) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        // What systems say of a folder.
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return Ok(other?),
    }
    let inner = rustix::fs::openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    for entry in rustix::fs::Dir::read_from(&inner)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            gone_is_fine(remove_beneath(&inner, entry.file_name()))?;
        }
    }
    Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
}

/// The mount's number, zero where the kernel cannot say (then `st_dev` has to do).
#[cfg(target_os = "linux")]
fn mount_number(fd: &OwnedFd) -> u64 {
    use rustix::fs::StatxFlags;
    rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)
        .map_or(0, |found| found.stx_mnt_id)
}

#[cfg(not(target_os = "linux"))]
fn mount_number(_: &OwnedFd) -> u64 {
    0
}

fn bits(mode: u32) -> Mode {
    Mode::from_raw_mode(mode as RawMode)
}

pub(crate) fn stat_file(file: &File) -> io::Result<Seen> {
    Ok(seen(&rustix::fs::fstat(file)?))
}

pub(crate) fn set_file_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, bits(mode))?)
}

pub(crate) fn set_modified(file: &File, time: Instant) -> io::Result<()> {
    let modified = Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() };
    let kept = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    Ok(rustix::fs::futimens(file, &Timestamps { last_access: kept, last_modification: modified })?)
}

/// Shares `from`'s extents with the new, empty file `to`.
#[cfg(target_os = "linux")]
pub(crate) fn clone_into(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn clone_into(_: &File, _: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Who we are, to recognise objects that somebody else may change.
pub(crate) fn current_owner() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[expect(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "the widths of stat fields differ between targets"
)]
fn seen(stat: &rustix::fs::Stat) -> Seen {
    let kind = match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => FileKind::Regular,
        rustix::fs::FileType::Directory => FileKind::Folder,
        _ => FileKind::Other,
    };
    Seen {
        kind,
        size: stat.st_size as u64,
        modified: Instant { seconds: stat.st_mtime as i64, nanoseconds: stat.st_mtime_nsec as u32 },
        changed_s: stat.st_ctime as i64,
        mode: stat.st_mode as u32 & 0o7777,
        links: stat.st_nlink as u64,
        inode: Inode { device: stat.st_dev as u64, number: stat.st_ino as u64 },
        owner: stat.st_uid,
        disk_bytes: stat.st_blocks as u64 * 512,
    }
}

/// What a call says of a path through something else.
pub(crate) fn not_a_folder() -> io::Error {
    Errno::NOTDIR.into()
}

/// Sorts a failed `link` by its raw number: `PermissionDenied` would merge EPERM (another owner's
/// file, `fs.protected_hardlinks`, Android) with EACCES, and old kernels say ENOTSUP in three ways.
pub(crate) fn link_failure(error: &io::Error) -> LinkFailure {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        // A shard that is no folder holds no object.
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => LinkFailure::Missing,
        Some(Errno::EXIST) => LinkFailure::Exists,
        Some(Errno::MLINK) => LinkFailure::Crowded,
        Some(
            Errno::XDEV
            | Errno::PERM
            | Errno::ACCESS
            | Errno::OPNOTSUPP
            | Errno::NOSYS
            | Errno::ROFS
            | Errno::NOTTY
            | Errno::INVAL,
        ) => LinkFailure::Refused,
        _ => LinkFailure::Other,
    }
}

/// Sets the modification time of `name` to now.
pub(crate) fn touch(dir: &Dir, name: &str) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(rustix::fs::utimensat(&dir.fd, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// The stat of a path, of a symbolic link itself.
pub(crate) fn stat_path(path: &Path) -> io::Result<Seen> {
    Ok(seen(&rustix::fs::lstat(path)?))
}

/// True when a file carries more than its mode: capabilities, access lists, user attributes. Security
/// labels are no difference: every file has one.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub(crate) fn has_attributes(path: &Path) -> bool {
    let mut names = [0; 4096];
    match rustix::fs::llistxattr(path, &mut names) {
        Ok(length) => names[..length]
            .split(|byte| *byte == 0)
            .any(|name| !name.is_empty() && name != b"security.selinux"),
        Err(error) => error != Errno::OPNOTSUPP,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub(crate) fn has_attributes(_: &Path) -> bool {
    false
}

/// True when the folder lies on an overlay file system, where linking a file of a lower layer first
/// copies it whole.
#[cfg(target_os = "linux")]
pub(crate) fn is_overlay(dir: &Dir) -> bool {
    const OVERLAYFS_SUPER_MAGIC: u32 = 0x794c_7630;
    rustix::fs::fstatfs(&dir.fd).is_ok_and(|found| {
        u32::try_from(found.f_type).is_ok_and(|kind| kind == OVERLAYFS_SUPER_MAGIC)
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_overlay(_: &Dir) -> bool {
    false
}

/// When the inode was made, where the file system says. A file that is copied up gets a new inode,
/// and with it a new time.
#[cfg(target_os = "linux")]
pub(crate) fn born(dir: &Dir, name: &str) -> Option<(i64, u32)> {
    use rustix::fs::StatxFlags;
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let found = rustix::fs::statx(&dir.fd, name, flags, StatxFlags::BTIME).ok()?;
    Some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn born(_: &Dir, _: &str) -> Option<(i64, u32)> {
    None
}

/// Nobody can keep a file from being renamed or removed by opening it.
pub(crate) fn is_held(_: &io::Error) -> bool {
    false
}
