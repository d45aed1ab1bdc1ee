//! Linux, macOS and the other systems with `pread`.

use super::super::Residence;
use rustix::fs::StatFs;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(super) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(buffer, offset)
}

pub(super) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

#[cfg(not(target_vendor = "apple"))]
pub(super) fn will_need(file: &File, offset: u64, len: u64) {
    let len = std::num::NonZeroU64::new(len);
    // Advice: where it is refused the later read is slower, and nothing else.
    let _refused = rustix::fs::fadvise(file, offset, len, rustix::fs::Advice::WillNeed);
}

#[cfg(target_vendor = "apple")]
pub(super) fn will_need(_file: &File, _offset: u64, _len: u64) {
    // `F_RDADVISE` has no safe wrapper; the system's own read-ahead has to do.
}

pub(super) fn file_residence(file: &File) -> Residence {
    rustix::fs::fstatfs(file).map_or(Residence::Local, |found| classify(&found))
}

pub(super) fn folder_residence(folder: &Path) -> Residence {
    rustix::fs::statfs(folder).map_or(Residence::Local, |found| classify(&found))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn classify(found: &StatFs) -> Residence {
    const FUSE: u64 = 0x6573_5546;
    // From statfs(2): NFS, SMB, SMB2, CIFS, 9p, AFS, Ceph, Coda, GFS2, OCFS2.
    const NETWORK: [u64; 10] = [
        0x6969,
        0x517b,
        0xfe53_4d42,
        0xff53_4d42,
        0x0102_1997,
        0x5346_414f,
        0x00c3_6400,
        0x7375_7245,
        0x0116_1970,
        0x7461_636f,
    ];
    // Signed or not, 32 bits or 64, by architecture; only the low 32 bits mean anything.
    match u64::try_from(i128::from(found.f_type) & 0xffff_ffff) {
        Ok(FUSE) => Residence::User,
        Ok(kind) if NETWORK.contains(&kind) => Residence::Network,
        _ => Residence::Local,
    }
}

#[cfg(target_vendor = "apple")]
fn classify(found: &StatFs) -> Residence {
    const MNT_LOCAL: u32 = 0x1000;
    if found.f_flags & MNT_LOCAL == 0 { Residence::Network } else { Residence::Local }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn classify(_found: &StatFs) -> Residence {
    Residence::User
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn is_lockless(error: &io::Error) -> bool {
    let lockless = [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOTSUP];
    Errno::from_io_error(error).is_some_and(|errno| lockless.contains(&errno))
}

/// Nobody can keep a file from being opened or replaced here.
pub(super) fn is_held(_error: &io::Error) -> bool {
    false
}
