//! The three calls that cargo's registry index makes to its cache, over this store.

use crate::batch::{Batch, Durability};
use crate::cache::IndexCache;
use crate::cargo_layout::Document;
use crate::commit::{Committed, WriteSkipped};
use crate::error::Result;
use crate::put::Put;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waiting blobs are committed when there are this many bytes of them.
const PENDING_LEN_MAX: usize = 8 << 20;

/// A store of blobs by crate name, in the shape of cargo's `CacheManager`: `get`, `put`,
/// `invalidate`.
///
/// Blobs in cargo's cache format 3 become entries whose versions can be read alone; any other bytes
/// are kept as they are. Writes are collected and committed together: call
/// [`flush`](Self::flush) when the resolver is done; what waits when the value is dropped is lost.
///
/// # Examples
///
/// ```
/// use index_cache::{CargoBlobs, IndexCache, Options};
///
/// # fn main() -> Result<(), index_cache::Error> {
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join(index_cache::FILE_NAME);
/// let blobs = CargoBlobs::new(IndexCache::open(&path, Options::new())?);
/// blobs.put("serde", b"\x03\x02\0\0\0etag: 1\x001.0.0\0{}\0")?;
/// assert!(blobs.get("serde").is_some());
/// assert_eq!(blobs.flush()?, None, "nothing kept it from being written");
///
/// let cache = IndexCache::open(&path, Options::new())?;
/// let entry = cache.get("serde")?.expect("flushed");
/// assert_eq!(entry.slice("1.0.0")?.as_deref(), Some(&b"{}"[..]));
/// # Ok(())
/// # }
/// ```
///
/// # References
///
/// rust-lang/cargo#13515, which made these three calls the boundary.
#[derive(Debug)]
pub struct CargoBlobs {
    cache: IndexCache,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    /// None: to be removed.
    blobs: BTreeMap<String, Option<Vec<u8>>>,
    len: usize,
}

impl CargoBlobs {
    /// Wraps a cache.
    pub fn new(cache: IndexCache) -> Self {
        Self { cache, pending: Mutex::default() }
    }

    /// The blob stored for `key`; a damaged one is a miss, as is one that cannot be read.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        if let Some(waiting) = self.pending().blobs.get(key) {
            return waiting.clone();
        }
        self.stored(key)
    }

    /// Stores a blob. When enough of them wait they are committed, as by [`flush`](Self::flush).
    ///
    /// # Errors
    ///
    /// Those of [`flush`](Self::flush).
    pub fn put(&self, key: &str, value: &[u8]) -> Result<Option<WriteSkipped>> {
        self.set(key, Some(value))
    }

    /// Removes the blob of `key`, likewise.
    ///
    /// # Errors
    ///
    /// Those of [`flush`](Self::flush).
    pub fn invalidate(&self, key: &str) -> Result<Option<WriteSkipped>> {
        self.set(key, None)
    }

    /// Commits what waits, without a sync. Gives the reason when the place cannot be written.
    ///
    /// Nothing is written, not even an empty file, when nothing waits or when all that waits is
    /// there already: behind a server without entity tags, cargo stores every answer again. A file
    /// of which more than half, and at least 4 MiB, is no longer reachable is compacted.
    ///
    /// # Errors
    ///
    /// Those of [`Batch::put`](crate::Batch::put) and [`Batch::commit`](crate::Batch::commit): the
    /// blobs wait on. Those of [`IndexCache::compact`]: the blobs are stored.
    pub fn flush(&self) -> Result<Option<WriteSkipped>> {
        self.commit(&mut self.pending())
    }

    fn set(&self, key: &str, value: Option<&[u8]>) -> Result<Option<WriteSkipped>> {
        let mut pending = self.pending();
        pending.len += value.map_or(0, <[u8]>::len);
        pending.blobs.insert(key.to_owned(), value.map(<[u8]>::to_vec));
        if pending.len > PENDING_LEN_MAX { self.commit(&mut pending) } else { Ok(None) }
    }

    fn commit(&self, pending: &mut Pending) -> Result<Option<WriteSkipped>> {
        if pending.blobs.is_empty() {
            return Ok(None);
        }
        let mut batch = self.cache.batch();
        // What other processes have stored meanwhile counts too.
        self.cache.refresh()?;
        for (key, blob) in &pending.blobs {
            if self.stored(key) != *blob {
                fill(&mut batch, key, blob.as_deref())?;
            }
        }
        if batch.is_empty() {
            *pending = Pending::default();
            return Ok(None);
        }
        let committed = batch.commit(Durability::Fast)?;
        *pending = Pending::default();
        match committed {
            Committed::Skipped(reason) => Ok(Some(reason)),
            Committed::Written(written) if written.wants_compaction() => {
                // Where it is skipped, the next commit asks again.
                self.cache.compact().map(|_| None)
            }
            Committed::Written(_) => Ok(None),
        }
    }

    fn stored(&self, key: &str) -> Option<Vec<u8>> {
        let entry = self.cache.get(key).ok().flatten()?;
        if entry.is_negative() { None } else { entry.body().ok().map(<[u8]>::to_vec) }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // A panic while it is locked leaves at worst a blob that waits twice.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fill(batch: &mut Batch<'_>, key: &str, blob: Option<&[u8]>) -> Result<()> {
    let Some(blob) = blob else { return batch.remove(key) };
    match Document::parse(blob) {
        Some(document) => batch.put(key, &document.as_put()),
        None => batch.put(key, &Put::new().body(blob)),
    }
}
