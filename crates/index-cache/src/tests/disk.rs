//! A disk in memory: it keeps a log of what was asked of it, can fail at any call, and can say what
//! a power cut at any point may have left.

use crate::medium::{Disk, Lock, Map, Medium, Residence, Wait};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The unit that a medium writes whole or not at all.
const SECTOR: usize = 512;

/// Shared by its clones, like a disk by those who use it.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    names: BTreeMap<PathBuf, usize>,
    files: Vec<Vec<u8>>,
    log: Vec<Op>,
    calls: usize,
    reads: Reads,
    fail: Option<Failure>,
    locking: Locking,
}

/// What was read, and in how many calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) calls: usize,
    pub(super) bytes: usize,
}

/// What the file system knows about locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Locking {
    #[default]
    Works,
    /// Asking for a lock is refused.
    Unsupported,
    /// A network file system.
    Remote,
}

/// From which call on, and how, calls fail.
#[derive(Clone, Copy, Debug)]
struct Failure {
    call: usize,
    kind: ErrorKind,
    /// Later calls fail too.
    for_good: bool,
}

/// What changes the medium.
#[derive(Clone, Debug)]
enum Op {
    Create { path: PathBuf, file: usize },
    Write { file: usize, at: usize, bytes: Vec<u8> },
    Sync { file: usize },
    Rename { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
    SyncFolder,
}

/// One write that a power cut may have lost.
#[derive(Clone, Copy, Debug)]
struct Sector<'a> {
    /// Number of the write it is part of.
    write: usize,
    file: usize,
    at: usize,
    bytes: &'a [u8],
}

/// What a power cut kept of the operations that were not synced.
pub(super) type Keep<'a> = &'a dyn Fn(Fate) -> bool;

/// An unsynced operation: the `index`-th write of `writes`, and in it the `sector`-th of `sectors`;
/// a rename counts as one sector of no write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    pub(super) write: Option<usize>,
    pub(super) writes: usize,
    pub(super) sector: usize,
    pub(super) sectors: usize,
}

impl FakeDisk {
    /// A disk with one file.
    pub(super) fn with(path: &str, bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state(|state| {
            state.files.push(bytes);
            state.names.insert(path.into(), 0);
        });
        disk
    }

    fn state<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }

    pub(super) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.state(|state| state.names.get(Path::new(path)).map(|file| state.files[*file].clone()))
    }

    pub(super) fn names(&self) -> Vec<PathBuf> {
        self.state(|state| state.names.keys().cloned().collect())
    }

    /// Number of operations so far that changed the medium.
    pub(super) fn ops(&self) -> usize {
        self.state(|state| state.log.len())
    }

    /// Number of calls so far that could have failed.
    pub(super) fn calls(&self) -> usize {
        self.state(|state| state.calls)
    }

    /// What has been read so far.
    pub(super) fn reads(&self) -> Reads {
        self.state(|state| state.reads)
    }

    pub(super) fn set_locking(&self, locking: Locking) {
        self.state(|state| state.locking = locking);
    }

    /// From now on, lets the `call`-th call fail.
    pub(super) fn fail_at(&self, call: usize, kind: ErrorKind, for_good: bool) {
        self.state(|state| state.fail = Some(Failure { call: state.calls + call, kind, for_good }));
    }

    pub(super) fn heal(&self) {
        self.state(|state| state.fail = None);
    }

    /// The disk after a power cut behind the first `ops` operations.
    pub(super) fn after_power_cut(&self, ops: usize, keep: Keep<'_>) -> Self {
        let (log, start) = self.state(|state| (state.log[..ops].to_vec(), state.files.len()));
        Image::new(&log, start).build(keep)
    }
}

/// The state on the medium, derived from a log.
struct Image<'a> {
    log: &'a [Op],
    files: usize,
}

impl<'a> Image<'a> {
    fn new(log: &'a [Op], files: usize) -> Self {
        Self { log, files }
    }

    fn build(&self, keep: Keep<'_>) -> FakeDisk {
        let disk = FakeDisk::default();
        disk.state(|state| {
            state.files = vec![Vec::new(); self.files];
            self.synced_writes(state);
            self.unsynced_writes(state, keep);
            self.names(state, keep);
        });
        disk
    }

    fn last_sync(&self, file: usize) -> usize {
        let is_sync = |op: &Op| matches!(op, Op::Sync { file: synced } if *synced == file);
        self.log.iter().rposition(is_sync).unwrap_or(0)
    }

    fn synced_writes(&self, state: &mut State) {
        for (index, op) in self.log.iter().enumerate() {
            if let Op::Write { file, at, bytes } = op
                && index < self.last_sync(*file)
            {
                write(&mut state.files[*file], *at, bytes);
            }
        }
    }

    fn unsynced_writes(&self, state: &mut State, keep: Keep<'_>) {
        let unsynced = self.log.iter().enumerate().filter_map(|(index, op)| match op {
            Op::Write { file, at, bytes } if index >= self.last_sync(*file) => {
                Some((*file, *at, &bytes[..]))
            }
            _ => None,
        });
        let unsynced: Vec<_> = unsynced.collect();
        for (number, (file, at, bytes)) in unsynced.iter().enumerate() {
            let sectors = sectors(number, *file, *at, bytes);
            for (index, sector) in sectors.iter().enumerate() {
                let fate = Fate {
                    write: Some(sector.write),
                    writes: unsynced.len(),
                    sector: index,
                    sectors: sectors.len(),
                };
                if keep(fate) {
                    write(&mut state.files[sector.file], sector.at, sector.bytes);
                }
            }
        }
    }

    fn names(&self, state: &mut State, keep: Keep<'_>) {
        let synced = self.log.iter().rposition(|op| matches!(op, Op::SyncFolder)).unwrap_or(0);
        for (index, op) in self.log.iter().enumerate() {
            let fate = Fate { write: None, writes: 0, sector: 0, sectors: 1 };
            match op {
                Op::Create { path, file } => {
                    state.names.insert(path.clone(), *file);
                }
                Op::Rename { from, to } if index < synced || keep(fate) => {
                    if let Some(file) = state.names.remove(from) {
                        state.names.insert(to.clone(), file);
                    }
                }
                Op::Remove { path } => {
                    state.names.remove(path);
                }
                _ => {}
            }
        }
    }
}

fn sectors(write: usize, file: usize, at: usize, bytes: &[u8]) -> Vec<Sector<'_>> {
    let chunks = bytes.chunks(SECTOR).enumerate();
    chunks.map(|(index, bytes)| Sector { write, file, at: at + index * SECTOR, bytes }).collect()
}

/// A hole reads as zeros.
fn write(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[at..end].copy_from_slice(bytes);
}

impl State {
    /// Counts a call, and fails it when its time has come.
    fn call(&mut self) -> io::Result<()> {
        self.calls += 1;
        match self.fail {
            Some(Failure { call, kind, for_good })
                if self.calls == call || (for_good && self.calls > call) =>
            {
                Err(kind.into())
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug)]
struct FakeFile {
    disk: FakeDisk,
    file: usize,
}

impl FakeDisk {
    fn open_file(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        let file = self.state(|state| {
            state.call()?;
            state.names.get(path).copied().ok_or(io::Error::from(ErrorKind::NotFound))
        })?;
        Ok(Box::new(FakeFile { disk: self.clone(), file }))
    }

    fn log(&self, op: Op) {
        self.state(|state| state.log.push(op));
    }
}

impl Disk for FakeDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        self.open_file(path)
    }

    fn open_writable(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        self.open_file(path)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn Medium>> {
        let file = self.state(|state| {
            state.call()?;
            state.files.push(Vec::new());
            let file = state.files.len() - 1;
            match state.names.insert(path.into(), file) {
                Some(_) => Err(io::Error::from(ErrorKind::AlreadyExists)),
                None => Ok(file),
            }
        })?;
        self.log(Op::Create { path: path.into(), file });
        Ok(Box::new(FakeFile { disk: self.clone(), file }))
    }

    fn create_folder_of(&self, _path: &Path) -> io::Result<()> {
        self.state(State::call)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.state(|state| {
            state.call()?;
            let file = state.names.remove(from).ok_or(io::Error::from(ErrorKind::NotFound))?;
            state.names.insert(to.into(), file);
            state.log.push(Op::Rename { from: from.into(), to: to.into() });
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state(|state| {
            state.call()?;
            state.names.remove(path).ok_or(io::Error::from(ErrorKind::NotFound))?;
            state.log.push(Op::Remove { path: path.into() });
            Ok(())
        })
    }

    fn siblings(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.state(|state| {
            state.call()?;
            let prefix = path.as_os_str().as_encoded_bytes();
            let others = state.names.keys().filter(|name| {
                *name != path && name.as_os_str().as_encoded_bytes().starts_with(prefix)
            });
            Ok(others.cloned().collect())
        })
    }

    fn residence(&self, _path: &Path) -> Residence {
        match self.state(|state| state.locking) {
            Locking::Remote => Residence::Network,
            Locking::Works | Locking::Unsupported => Residence::Local,
        }
    }

    fn sync_folder_of(&self, _path: &Path) -> io::Result<()> {
        self.state(|state| {
            state.call()?;
            state.log.push(Op::SyncFolder);
            Ok(())
        })
    }

    fn lock(&self, _path: &Path, _wait: Wait) -> io::Result<Lock> {
        self.state(|state| {
            state.call()?;
            Ok(match state.locking {
                Locking::Unsupported => Lock::Unsupported,
                Locking::Works | Locking::Remote => Lock::Held(Box::new(())),
            })
        })
    }
}

impl Medium for FakeFile {
    fn len(&self) -> io::Result<u64> {
        self.disk.state(|state| {
            state.call()?;
            Ok(crate::put::wide(state.files[self.file].len()))
        })
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.state(|state| {
            state.call()?;
            state.reads.calls += 1;
            state.reads.bytes += buffer.len();
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let range = from..from.saturating_add(buffer.len());
            let bytes = state.files[self.file].get(range);
            buffer.copy_from_slice(bytes.ok_or(io::Error::from(ErrorKind::UnexpectedEof))?);
            Ok(())
        })
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let at = usize::try_from(offset).unwrap();
        self.disk.state(|state| {
            let called = state.call();
            // A write that fails has got half way.
            let len = if called.is_ok() { bytes.len() } else { bytes.len() / 2 };
            write(&mut state.files[self.file], at, &bytes[..len]);
            state.log.push(Op::Write { file: self.file, at, bytes: bytes[..len].to_vec() });
            called
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.state(|state| {
            state.call()?;
            state.log.push(Op::Sync { file: self.file });
            Ok(())
        })
    }

    fn will_need(&self, _offset: u64, _len: u64) {}

    fn map(&self, _len: u64) -> io::Result<Option<Map>> {
        Ok(None)
    }

    fn residence(&self) -> Residence {
        Residence::Local
    }
}
