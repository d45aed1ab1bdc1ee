//! The handle: a path, its options, and the current snapshot.

use crate::batch::{Batch, Changes, Durability};
use crate::buffers::Pool;
use crate::commit::{Committed, WriteSkipped, Writer};
use crate::compact::Compacted;
use crate::entry::Entry;
use crate::error::Result;
use crate::layer::{Layer, Opened, Status};
use crate::medium::{OsDisk, SharedDisk};
use crate::options::{Options, ReadMode};
use crate::prefetch::{Extent, Prefetched};
use crate::progress::{Observer, silent};
use crate::snapshot::{Layers, Snapshot};
use crate::stats::{LayerStats, Stats};
use crate::verify::Verified;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The name under which a cache file is best kept: the major version of the format is in it, so
/// that programs with different versions of this crate never meet in one file.
pub const FILE_NAME: &str = "index-v1.ixc";

/// A cache file, opened.
///
/// `Send` and `Sync`: one handle serves all threads of a process, and any number of processes may
/// open the same file. Reading takes no lock; see [`Batch`] for writing.
///
/// # Examples
///
/// ```
/// use index_cache::{Durability, IndexCache, Options, Put};
///
/// # fn main() -> Result<(), index_cache::Error> {
/// # let folder = tempfile::tempdir().unwrap();
/// let cache = IndexCache::open(folder.path().join(index_cache::FILE_NAME), Options::new())?;
/// let mut batch = cache.batch();
/// batch.put("serde", &Put::new().token(b"etag: 1").body(b"document"))?;
/// assert_eq!(batch.commit(Durability::Fast)?.skipped(), None);
/// assert_eq!(cache.get("serde")?.expect("just stored").body()?, b"document");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct IndexCache {
    path: PathBuf,
    options: Options,
    disk: SharedDisk,
    pool: Arc<Pool>,
    current: RwLock<Snapshot>,
    /// Held from opening the file to showing it, so that of two threads the later sight wins.
    refreshing: Mutex<()>,
}

impl IndexCache {
    /// Opens the file at `path`, which need not exist.
    ///
    /// Costs one open and one read of 8 KiB, whatever the number of entries. A file that is
    /// foreign, newer, damaged or of another schema counts as empty:
    /// [`IndexCache::status`] tells which.
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io) when the file is there and cannot be read.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::on(Arc::new(OsDisk), path.as_ref(), options)
    }

    pub(crate) fn on(disk: SharedDisk, path: &Path, options: Options) -> Result<Self> {
        let pool = Arc::new(Pool::default());
        let mut layers = Layers { status: Vec::new(), ready: Vec::new() };
        for path in std::iter::once(path).chain(options.bases.iter().map(PathBuf::as_path)) {
            match Layer::open(&*disk, path, &options.schema, options.mode, &pool)? {
                Opened::Ready(layer) => {
                    layers.status.push(Status::Ready);
                    layers.ready.push(Arc::from(layer));
                }
                Opened::Not(status) => layers.status.push(status),
            }
        }
        let current = RwLock::new(Snapshot::new(layers));
        let (path, refreshing) = (path.to_path_buf(), Mutex::new(()));
        Ok(Self { path, options, disk, pool, current, refreshing })
    }

    /// The writable file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the writable file is, as of the last [`refresh`](Self::refresh) or commit.
    pub fn status(&self) -> Status {
        self.snapshot().layers().status.first().copied().unwrap_or(Status::Absent)
    }

    /// The current snapshot, for many lookups that shall agree with each other.
    pub fn snapshot(&self) -> Snapshot {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks `key` up in the current snapshot. For many keys, ask one [`Snapshot`]: the answers
    /// agree with each other, and each costs less.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::get`].
    pub fn get(&self, key: &str) -> Result<Option<Entry<'static>>> {
        Ok(self.snapshot().get(key)?.map(Entry::into_owned))
    }

    /// Starts a batch of changes.
    pub fn batch(&self) -> Batch<'_> {
        Batch::new(self)
    }

    /// Takes up what other processes have committed since; gives true when there was something.
    ///
    /// A file that was removed, or replaced by an older copy of itself, is taken up like any other.
    /// Snapshots and entries that are held stay as they are. Bases are looked at once, by
    /// [`open`](Self::open).
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io) when the file is there and cannot be read.
    pub fn refresh(&self) -> Result<bool> {
        let options = &self.options;
        let _turn = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let opened =
            Layer::open(&*self.disk, &self.path, &options.schema, options.mode, &self.pool)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        match updated(current.layers(), opened) {
            Some(layers) => *current = Snapshot::new(layers),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Asks the system to bring all of these entries into the page cache, from the current
    /// snapshot: see [`Snapshot::prefetch`].
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::prefetch`].
    pub fn prefetch(&self, keys: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Prefetched> {
        self.snapshot().prefetch(keys, Extent::Whole)
    }

    /// Sizes, states and counters. Reads nothing from the disk.
    pub fn stats(&self) -> Stats {
        let snapshot = self.snapshot();
        let layers = snapshot.layers();
        let paths = std::iter::once(&self.path).chain(&self.options.bases);
        let mut ready = layers.ready.iter();
        let stats = paths.zip(&layers.status).map(|(path, status)| {
            let layer = if *status == Status::Ready { ready.next() } else { None };
            LayerStats::new(path.clone(), *status, layer.map(|layer| &**layer))
        });
        Stats {
            layers: stats.collect(),
            read_mode: layers.ready.first().map_or(ReadMode::Pread, |layer| layer.mode),
            damaged_reads: layers.ready.iter().map(|layer| layer.damage()).sum(),
        }
    }

    /// Reads all of the current snapshot and compares every checksum, bases included.
    ///
    /// A file without a sound header counts as empty, in which there is nothing to find: ask
    /// [`status`](Self::status) too.
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io) when something cannot be read. Damage is no error: it
    /// is listed in the result.
    pub fn verify(&self) -> Result<Verified> {
        self.verify_with(&mut silent)
    }

    /// Like [`verify`](Self::verify), reporting between entries.
    ///
    /// # Errors
    ///
    /// Also [`Error::is_cancelled`](crate::Error::is_cancelled) when the observer says so.
    pub fn verify_with(&self, observer: &mut Observer<'_>) -> Result<Verified> {
        let mut verified = Verified::default();
        for layer in &self.snapshot().layers().ready {
            verified.add(layer, observer)?;
        }
        Ok(verified)
    }

    /// Rewrites the file without what is no longer reachable: replaced, removed and damaged
    /// entries. Needs room for the result beside the old file. A damaged entry no longer covers what a
    /// base has under its key.
    ///
    /// Readers in all processes go on undisturbed with the file they have open. Commits wait.
    /// [`Written::wants_compaction`](crate::Written::wants_compaction) says when it is worth it.
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io), the disk being full among them: the old file is
    /// untouched then.
    ///
    /// # Durability
    ///
    /// The new file is synced before it takes the old one's name.
    pub fn compact(&self) -> Result<Compacted> {
        self.compact_with(&mut silent)
    }

    /// Like [`compact`](Self::compact), reporting between entries.
    ///
    /// # Errors
    ///
    /// Also [`Error::is_cancelled`](crate::Error::is_cancelled) when the observer says so.
    pub fn compact_with(&self, observer: &mut Observer<'_>) -> Result<Compacted> {
        if let Some(reason) = self.refused()? {
            return Ok(Compacted::Skipped(reason));
        }
        let compacted = self.writer(&self.snapshot()).compact(observer)?;
        self.refresh()?;
        Ok(compacted)
    }

    pub(crate) fn commit(
        &self,
        changes: &mut Changes,
        durability: Durability,
    ) -> Result<Committed> {
        if let Some(reason) = self.refused()? {
            changes.clear();
            return Ok(Committed::Skipped(reason));
        }
        let snapshot = self.snapshot();
        let committed = self.writer(&snapshot).commit(changes, durability)?;
        // Changes that this handle cannot show yet are kept, to be committed again.
        self.refresh()?;
        changes.clear();
        Ok(committed)
    }

    /// A file that is not ours is left alone: not even a lock file appears beside it.
    fn refused(&self) -> Result<Option<WriteSkipped>> {
        if !matches!(self.status(), Status::Foreign | Status::NewerFormat) {
            return Ok(None);
        }
        self.refresh()?;
        Ok(match self.status() {
            Status::Foreign => Some(WriteSkipped::Foreign),
            Status::NewerFormat => Some(WriteSkipped::NewerFormat),
            _ => None,
        })
    }

    pub(crate) fn writer<'a>(&'a self, snapshot: &'a Snapshot) -> Writer<'a> {
        Writer {
            disk: &*self.disk,
            path: &self.path,
            options: &self.options,
            pool: &self.pool,
            bases: snapshot.layers().bases(),
        }
    }
}

/// The layers with `opened` as the writable one; none when it brings nothing new.
fn updated(current: &Layers, opened: Opened) -> Option<Layers> {
    let (status, top) = match opened {
        Opened::Ready(layer) => (Status::Ready, Some(Arc::from(layer))),
        Opened::Not(status) => (status, None),
    };
    if is_old_news(current, status, top.as_deref()) {
        return None;
    }
    let mut layers = Layers { status: current.status.clone(), ready: top.into_iter().collect() };
    layers.ready.extend(current.bases().iter().cloned());
    if let Some(first) = layers.status.first_mut() {
        *first = status;
    }
    Some(layers)
}

/// A half-written header makes the slot before look current for a moment; a snapshot never goes
/// back because of that. A file that is whole and older was put back by somebody: that is news.
fn is_old_news(current: &Layers, status: Status, found: Option<&Layer>) -> bool {
    match (current.top(), found) {
        (Some(current), Some(found)) => {
            let is_same_file = current.header.file_id == found.header.file_id;
            let is_before = is_same_file && found.header.seq < current.header.seq;
            current.header == found.header || (found.is_torn && is_before)
        }
        (None, None) => current.status.first() == Some(&status),
        _ => false,
    }
}
