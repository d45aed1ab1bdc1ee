//! Writing: the lock, the order of writes, and what is done where writing is not possible.
//!
//! A commit appends records and index pages behind the current snapshot's end, then writes one of
//! the two header slots. Nothing that a reader can reach is modified, so a process that is killed
//! or runs out of space at any point leaves the previous snapshot in force. A durable commit syncs
//! between the two steps and after them.

use crate::batch::{Changes, Durability, Op};
use crate::buffers::Pool;
use crate::content;
use crate::edit::Edit;
use crate::error::{Error, Result};
use crate::fresh;
use crate::header::Header;
use crate::layer::{self, Found, Layer, Opened, Status};
use crate::layout::{LOG_START, PAGE};
use crate::medium::{self, Disk, Lock, Residence, Wait};
use crate::options::{LockWait, Options, ReadMode};
use crate::put::wide;
use crate::record::{self, Content, Encoded, Kind};
use crate::slot::{OFFSET_END, Slot};
use crate::snapshot;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The outcome of [`Batch::commit`](crate::Batch::commit).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a skipped write is not an error, but the caller may want to say so once"]
pub enum Committed {
    /// The batch is in the file.
    Written(Written),
    /// Nothing was written, nothing was changed, and the batch was emptied.
    Skipped(WriteSkipped),
}

impl Committed {
    /// The reason for which nothing was written, if so.
    pub fn skipped(&self) -> Option<WriteSkipped> {
        match self {
            Self::Written(_) => None,
            Self::Skipped(reason) => Some(*reason),
        }
    }
}

/// What a commit wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Bytes added to the file: records, index pages, padding.
    pub appended_bytes: u64,
    /// Length of the file up to the end of the new snapshot.
    pub file_bytes: u64,
    /// Upper bound, at most one eighth too high, of the bytes that a compaction would keep.
    pub live_bytes: u64,
    /// Entries of the writable file.
    pub entries: u64,
    /// Touches of keys that had no entry, or met damage on the way to one.
    pub touches_missed: u64,
}

impl Written {
    /// Returns true when more than half of the file, and at least 4 MiB, is no longer reachable:
    /// a good time for [`IndexCache::compact`](crate::IndexCache::compact).
    pub fn wants_compaction(&self) -> bool {
        is_wasteful(self.file_bytes, self.live_bytes)
    }
}

pub(crate) fn is_wasteful(file_bytes: u64, live_bytes: u64) -> bool {
    const SLACK: u64 = 4 << 20;
    file_bytes > live_bytes.saturating_mul(2).saturating_add(SLACK)
}

/// Why a write was not even tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteSkipped {
    /// Read-only media, or no permission for the file or its folder.
    ReadOnly,
    /// The file system has no working locks (or is a network file system, whose locks the caller
    /// does not trust): two writers could destroy each other's work.
    NoLocking,
    /// Another process is committing, and the caller did not want to wait.
    Busy,
    /// Somebody holds the file in a way that keeps it from being opened or replaced (Windows).
    InUse,
    /// The file is not ours.
    Foreign,
    /// The file was written by a later version of this crate.
    NewerFormat,
}

impl fmt::Display for WriteSkipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "writes skipped: the cache is read-only",
            Self::NoLocking => "writes skipped: no file locking here",
            Self::Busy => "writes skipped: another process is writing",
            Self::InUse => "writes skipped: the file is in use",
            Self::Foreign => "writes skipped: the file is not an index cache",
            Self::NewerFormat => "writes skipped: the file has a newer format",
        })
    }
}

/// What a write needs to know.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) path: &'a Path,
    pub(crate) options: &'a Options,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) bases: &'a [Arc<Layer>],
}

/// A write that goes ahead, or the reason why not.
pub(crate) type Attempt<T> = Result<Result<T, WriteSkipped>>;

/// What the path holds, now that the lock is held.
#[derive(Debug)]
pub(crate) enum Target {
    Existing(Box<Layer>),
    /// Nothing of use: a new file takes the path.
    Fresh,
}

impl Writer<'_> {
    /// Writes `changes`. They are unchanged when this fails.
    pub(crate) fn commit(
        &self,
        changes: &mut Changes,
        durability: Durability,
    ) -> Result<Committed> {
        let len = changes.log.len();
        let outcome = self.attempt(changes, durability);
        // Touches and index pages were appended for this attempt only.
        changes.log.truncate(len);
        outcome.map(|attempt| attempt.map_or_else(Committed::Skipped, Committed::Written))
    }

    fn attempt(&self, changes: &mut Changes, durability: Durability) -> Attempt<Written> {
        let _lock = match self.lock()? {
            Ok(lock) => lock,
            Err(reason) => return Ok(Err(reason)),
        };
        match self.target()? {
            Ok(Target::Existing(old)) => self.append(&old, changes, durability).map(Ok),
            Ok(Target::Fresh) => self.create(changes, durability),
            Err(reason) => Ok(Err(reason)),
        }
    }

    /// Takes the lock, which is a file of its own: on Windows a lock on the data would keep readers
    /// out.
    pub(crate) fn lock(&self) -> Attempt<Box<dyn fmt::Debug + Send>> {
        if !self.options.network_writes && self.disk.residence(self.path) == Residence::Network {
            return Ok(Err(WriteSkipped::NoLocking));
        }
        let lock_path = lock_path(self.path);
        let wait = match self.options.wait {
            LockWait::Block => Wait::Block,
            LockWait::Skip => Wait::Try,
        };
        let made = self.disk.create_folder_of(self.path);
        match made.and_then(|()| self.disk.lock(&lock_path, wait)) {
            Ok(Lock::Held(guard)) => Ok(Ok(guard)),
            Ok(Lock::Busy) => Ok(Err(WriteSkipped::Busy)),
            Ok(Lock::Unsupported) => Ok(Err(WriteSkipped::NoLocking)),
            Err(error) => refusal("lock", &lock_path, error).map(Err),
        }
    }

    /// Opens the file by name, after the lock: a compaction may have put another one there.
    pub(crate) fn target(&self) -> Attempt<Target> {
        let medium = match self.disk.open_writable(self.path) {
            Ok(medium) => medium,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Ok(Target::Fresh)),
            Err(error) => return refusal("open for writing", self.path, error).map(Err),
        };
        let schema = &self.options.schema;
        let opened = Layer::from_medium(medium, self.path, schema, ReadMode::Pread, self.pool)?;
        Ok(match opened {
            Opened::Ready(layer) if layer.header.is_last() => Ok(Target::Fresh),
            Opened::Ready(layer) => Ok(Target::Existing(layer)),
            Opened::Not(Status::Foreign) => Err(WriteSkipped::Foreign),
            Opened::Not(Status::NewerFormat) => Err(WriteSkipped::NewerFormat),
            Opened::Not(_) => Ok(Target::Fresh),
        })
    }

    fn append(
        &self,
        old: &Layer,
        changes: &mut Changes,
        durability: Durability,
    ) -> Result<Written> {
        let base = old.header.end;
        let mut edit = Edit::of(old);
        let touches_missed = self.apply(&mut edit, changes, base)?;
        if !edit.is_changed {
            return Ok(written(&old.header, 0, touches_missed));
        }
        edit.heal(durability)?;
        pad_to_page(&mut changes.log, base);
        let mut header = edit.finish(&mut changes.log, base)?;
        header.synced = durability == Durability::Durable;
        check_end(header.end)?;
        self.publish(old, &changes.log, &header)?;
        Ok(written(&header, wide(changes.log.len()), touches_missed))
    }

    fn publish(&self, old: &Layer, tail: &[u8], header: &Header) -> Result<()> {
        let medium = old.medium();
        let slots = layer::read_slots(medium, self.path)?;
        let at = wide(slots.next_slot(header.synced)) * PAGE;
        let write = || -> io::Result<()> {
            medium.write_all_at(tail, old.header.end)?;
            if !header.synced {
                return medium.write_all_at(&header.encode(), at);
            }
            medium.sync()?;
            medium.write_all_at(&header.encode(), at)?;
            medium.sync()?;
            // A file that was created without a sync may not have a durable name yet.
            if slots.is_name_synced() { Ok(()) } else { self.disk.sync_folder_of(self.path) }
        };
        write().map_err(|error| Error::io("write", self.path, error))
    }

    fn create(&self, changes: &mut Changes, durability: Durability) -> Attempt<Written> {
        let header = fresh::header(self.options.schema);
        let mut edit = Edit::new(header);
        let touches_missed = self.apply(&mut edit, changes, LOG_START)?;
        pad_to_page(&mut changes.log, LOG_START);
        let mut header = edit.finish(&mut changes.log, LOG_START)?;
        header.synced = durability == Durability::Durable;
        check_end(header.end)?;
        let mut file = match fresh::Fresh::create(self.disk, self.path) {
            Ok(file) => file,
            Err(error) => return refusal("create", self.path, error).map(Err),
        };
        file.append(&changes.log)?;
        file.publish(&header)?;
        Ok(Ok(written(&header, header.end, touches_missed)))
    }

    /// Applies each operation to the index; gives the number of touches that met no entry.
    fn apply(&self, edit: &mut Edit<'_>, changes: &mut Changes, base: u64) -> Result<u64> {
        let mut missed = 0;
        let Changes { log, ops } = changes;
        for (key, op) in ops {
            let encoded = match op {
                Op::Store(encoded) => Some(encoded.clone()),
                Op::Touch(token) => {
                    let touched = self.touch(edit, log, key, token)?;
                    missed += u64::from(touched.is_none());
                    touched
                }
                Op::Remove => self.remove(edit, log, key)?,
            };
            if let Some(encoded) = encoded {
                check_end(base.saturating_add(wide(log.len())))?;
                let (hash, place) = (edit.hash(key), encoded.place(base));
                edit.set(key, Slot { hash, check: encoded.check, place })?;
            }
        }
        Ok(missed)
    }

    /// A record with the new token; its content stays where it is, or is copied up from a base.
    ///
    /// Damage is a miss: what lies below it may be older than what the token is for, and the rest of
    /// the batch has nothing to do with it.
    fn touch(
        &self,
        edit: &mut Edit<'_>,
        log: &mut Vec<u8>,
        key: &str,
        token: &[u8],
    ) -> Result<Option<Encoded>> {
        match (edit.find(key)?, edit.old) {
            (Found::Record(record), Some(old)) => {
                let head = old.head(&record);
                let (kind, content) = (head.kind(), head.content());
                if kind == Kind::Removed {
                    return Ok(None);
                }
                let at = if content.len() == 0 { 0 } else { head.content_at(record.offset()) };
                let content = Content { at, ..content };
                Ok(Some(record::append_touch(log, kind, key, token, content)))
            }
            (Found::Nothing, _) => self.copy_up(log, key, token),
            _ => Ok(None),
        }
    }

    /// A record with the new token and the content of the first base that has the key.
    fn copy_up(&self, log: &mut Vec<u8>, key: &str, token: &[u8]) -> Result<Option<Encoded>> {
        let Some(below) = snapshot::find(self.bases, key)? else { return Ok(None) };
        let (layer, record) = below.origin();
        let bytes = match content::read(layer, record) {
            Err(error) if error.is_corrupt() => {
                layer.count_damage();
                return Ok(None);
            }
            outcome => outcome?,
        };
        let (head, bytes) = (layer.head(record), layer.view(&bytes));
        Ok(Some(record::append_copy(log, head.kind(), key, token, head.content(), bytes)))
    }

    /// Removes the key, or covers what a base has under it.
    fn remove(&self, edit: &mut Edit<'_>, log: &mut Vec<u8>, key: &str) -> Result<Option<Encoded>> {
        if snapshot::find(self.bases, key)?.is_some() {
            return Ok(Some(record::append_bare(log, Kind::Removed, key, b"")));
        }
        edit.remove(key).map(|()| None)
    }
}

/// Refuses what would end behind the last byte that a slot can address.
fn check_end(end: u64) -> Result<()> {
    if end > OFFSET_END {
        return Err(Error::too_large("file", end, OFFSET_END));
    }
    Ok(())
}

fn written(header: &Header, appended_bytes: u64, touches_missed: u64) -> Written {
    Written {
        appended_bytes,
        file_bytes: header.end,
        live_bytes: header.live_bytes,
        entries: header.entries,
        touches_missed,
    }
}

/// Pads `tail`, whose first byte will be at `base`, up to the file's next page boundary.
pub(crate) fn pad_to_page(tail: &mut Vec<u8>, base: u64) {
    let len = (base + wide(tail.len())).next_multiple_of(PAGE) - base;
    tail.resize(usize::try_from(len).unwrap_or(tail.len()), 0);
}

/// The lock file of a cache file.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Tells a medium that refuses every write from one that failed.
pub(crate) fn refusal(verb: &'static str, path: &Path, error: io::Error) -> Result<WriteSkipped> {
    match error.kind() {
        _ if medium::is_held(&error) => Ok(WriteSkipped::InUse),
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => Ok(WriteSkipped::ReadOnly),
        _ => Err(Error::io(verb, path, error)),
    }
}
