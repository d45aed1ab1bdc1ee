//! FUSE requests in, answers out; only `flush` is special.

use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::How;
use crate::delay::Delay;
use crate::mount::Dial;
use crate::tree::{Kind, Node, Tree};

/// How long the kernel may believe an answer; nobody else changes these files.
const TTL: Duration = Duration::from_secs(60);

pub(crate) struct Requests {
    tree: Mutex<Tree>,
    dial: Arc<Dial>,
    delay: Delay,
}

impl Requests {
    pub(crate) fn new(dial: Arc<Dial>, delay: Delay) -> Self {
        Self { tree: Mutex::new(Tree::new()), dial, delay }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        self.tree().node(number).map(|node| attributes(number, node))
    }

    fn add(&self, folder: INodeNo, name: &OsStr, kind: Kind, mode: u32) -> FileAttr {
        let mut tree = self.tree();
        let number = tree.add(folder.0, name, kind, mode);
        let node = tree.node(number).expect("just added");
        attributes(number, node)
    }
}

fn attributes(number: u64, node: &Node) -> FileAttr {
    let size = node.bytes.len() as u64;
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: file_type(node.kind),
        perm: node.mode,
        nlink: 1,
        // Whoever mounts it may write in it.
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Folder => FileType::Directory,
        Kind::File => FileType::RegularFile,
    }
}

fn entry(reply: ReplyEntry, attributes: Option<FileAttr>) {
    match attributes {
        Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
        None => reply.error(Errno::ENOENT),
    }
}

fn answer(reply: ReplyEmpty, error: Option<Errno>) {
    match error {
        None => reply.ok(),
        Some(error) => reply.error(error),
    }
}

fn compute(takes: Duration) {
    let start = Instant::now();
    while start.elapsed() < takes {
        std::hint::spin_loop();
    }
}

impl Filesystem for Requests {
    /// The kernel's `close(2)`.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        let (close, code) = self.dial.closing();
        let error = code.map(Errno::from_i32);
        let points = match close.how {
            How::Computes => {
                compute(close.takes);
                return answer(reply, error);
            }
            How::Waits if close.takes.is_zero() => return answer(reply, error),
            How::Waits => 0,
            How::Queues(points) => points,
        };
        self.delay.answer(close.takes, points, Box::new(move || answer(reply, error)));
    }

    fn lookup(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = self.tree().find(folder.0, name);
        entry(reply, number.and_then(|number| self.attributes(number)));
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(number.0) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut tree = self.tree();
        let Some(node) = tree.node_mut(number.0) else {
            return reply.error(Errno::ENOENT);
        };
        if let Some(mode) = mode {
            node.mode = (mode & 0o7777) as u16;
        }
        if let Some(size) = size {
            node.bytes.resize(usize::try_from(size).unwrap_or(0), 0);
        }
        reply.attr(&TTL, &attributes(number.0, node));
    }

    fn mkdir(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        entry(reply, Some(self.add(folder, name, Kind::Folder, mode)));
    }

    fn create(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let attributes = self.add(folder, name, Kind::File, mode);
        let handle = FileHandle(attributes.ino.0);
        reply.created(&TTL, &attributes, Generation(0), handle, FopenFlags::empty());
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(number.0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.tree().node(number.0) {
            Some(node) => reply.data(node.read(offset, size)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let mut tree = self.tree();
        let Some(node) = tree.node_mut(number.0) else {
            return reply.error(Errno::ENOENT);
        };
        node.write(offset, data);
        drop(tree);
        reply.written(u32::try_from(data.len()).expect("the kernel sends at most 16 MiB"));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn unlink(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.tree().remove(folder.0, name);
        answer(reply, (!removed).then_some(Errno::ENOENT));
    }

    fn rmdir(&self, request: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.unlink(request, folder, name, reply);
    }

    fn rename(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        new_folder: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = self.tree().rename((folder.0, name), (new_folder.0, new_name));
        answer(reply, (!renamed).then_some(Errno::ENOENT));
    }

    fn readdir(
        &self,
        _: &Request,
        folder: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let entries = self.tree().list(folder.0);
        for (next, (number, kind, name)) in (1..).zip(entries) {
            if next > offset && reply.add(INodeNo(number), next, file_type(kind), name) {
                break;
            }
        }
        reply.ok();
    }
}
