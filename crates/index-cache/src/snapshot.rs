//! A view of the cache that never changes: the writable file's snapshot over the read-only bases.

use crate::entries::Entries;
use crate::entry::Entry;
use crate::error::Result;
use crate::layer::{Found, Layer, Reach, Status};
use crate::prefetch::{self, Extent, Prefetched};
use crate::record::Kind;
use std::sync::Arc;

/// The cache as it was at one moment.
///
/// Cheap to clone and to send to other threads; lookups take no lock. Commits and compactions, here
/// or in other processes, do not change it. [`IndexCache::snapshot`](crate::IndexCache::snapshot)
/// gives the current one.
///
/// # Examples
///
/// ```
/// use index_cache::{Durability, IndexCache, Options, Put};
///
/// # fn main() -> Result<(), index_cache::Error> {
/// # let folder = tempfile::tempdir().unwrap();
/// let cache = IndexCache::open(folder.path().join("index-v1.ixc"), Options::new())?;
/// let before = cache.snapshot();
/// let mut batch = cache.batch();
/// batch.put("serde", &Put::new().body(b"new"))?;
/// assert_eq!(batch.commit(Durability::Fast)?.skipped(), None);
/// assert!(before.get("serde")?.is_none());
/// assert!(cache.snapshot().get("serde")?.is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    inner: Arc<Layers>,
}

/// The files of a snapshot, the writable one first.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) status: Vec<Status>,
    /// In lookup order; only those that are [`Status::Ready`].
    pub(crate) ready: Vec<Arc<Layer>>,
}

impl Layers {
    /// The writable file, when there is one.
    pub(crate) fn top(&self) -> Option<&Arc<Layer>> {
        match self.status.first() {
            Some(Status::Ready) => self.ready.first(),
            _ => None,
        }
    }

    /// The read-only files.
    pub(crate) fn bases(&self) -> &[Arc<Layer>] {
        &self.ready[usize::from(self.top().is_some())..]
    }
}

impl Snapshot {
    pub(crate) fn new(layers: Layers) -> Self {
        Self { inner: Arc::new(layers) }
    }

    pub(crate) fn layers(&self) -> &Layers {
        &self.inner
    }

    /// Looks `key` up.
    ///
    /// Damage on the way counts as a miss and is counted in
    /// [`Stats::damaged_reads`](crate::Stats::damaged_reads); a damaged layer is not looked
    /// through, because it may have held a newer answer than the layers below.
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io) when the file cannot be read.
    #[inline]
    pub fn get(&self, key: &str) -> Result<Option<Entry<'_>>> {
        find(&self.inner.ready, key)
    }

    /// Returns true when there is an entry for `key`, negative ones included.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::get`].
    pub fn contains(&self, key: &str) -> Result<bool> {
        for layer in &self.inner.ready {
            match layer.find(key, Reach::Name)? {
                Found::Record(record) => return Ok(layer.head(&record).kind() != Kind::Removed),
                Found::Damaged => return Ok(false),
                Found::Nothing => {}
            }
        }
        Ok(false)
    }

    /// All entries, in no particular order; negative ones are among them.
    ///
    /// Damage gives an item that is an error with [`Error::is_corrupt`](crate::Error::is_corrupt);
    /// the walk goes on behind it.
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(&self.inner.ready)
    }

    /// Asks the system to bring what lookups of `keys` will read into the page cache: in sorted,
    /// merged ranges, without waiting for them.
    ///
    /// Worth it before the first lookups after a boot; on a warm cache it costs about a microsecond
    /// a key.
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io) when the index cannot be read. Damage is not reported
    /// here: the lookup will.
    ///
    /// # References
    ///
    /// `posix_fadvise(2)`, `POSIX_FADV_WILLNEED`. Without effect on macOS and Windows.
    pub fn prefetch(
        &self,
        keys: impl IntoIterator<Item = impl AsRef<str>>,
        extent: Extent,
    ) -> Result<Prefetched> {
        prefetch::prefetch(&self.inner.ready, keys, extent)
    }

    /// Sorts `keys` by where their entries lie in the files; keys that no file knows come last. Judged by
    /// the index alone: a key that was removed over a base counts as known, and so does one that shares
    /// the 32 bits of another's hash.
    ///
    /// Behind [`prefetch`](Self::prefetch), lookups in this order find what the disk brings first and
    /// do not wait for what it brings last.
    ///
    /// # Errors
    ///
    /// [`Error::is_io`](crate::Error::is_io) when the index cannot be read; the order is unspecified
    /// then. Damage is not reported here: the lookup will.
    ///
    /// # Examples
    ///
    /// ```
    /// use index_cache::{Durability, IndexCache, Options, Put};
    ///
    /// # fn main() -> Result<(), index_cache::Error> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// let cache = IndexCache::open(folder.path().join("index-v1.ixc"), Options::new())?;
    /// let mut batch = cache.batch();
    /// batch.put("syn", &Put::new().body(b"stored first"))?;
    /// batch.put("serde", &Put::new().body(b"stored second"))?;
    /// assert_eq!(batch.commit(Durability::Fast)?.skipped(), None);
    ///
    /// let mut keys = ["absent", "serde", "syn"];
    /// cache.snapshot().sort_as_stored(&mut keys)?;
    /// assert_eq!(keys, ["syn", "serde", "absent"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn sort_as_stored(&self, keys: &mut [impl AsRef<str>]) -> Result<()> {
        prefetch::sort(&self.inner.ready, keys)
    }
}

/// Looks `key` up in `layers`, the first answer counts.
#[inline]
pub(crate) fn find<'s>(layers: &'s [Arc<Layer>], key: &str) -> Result<Option<Entry<'s>>> {
    for layer in layers {
        match layer.find(key, Reach::Front)? {
            Found::Record(record) if layer.head(&record).kind() == Kind::Removed => {
                return Ok(None);
            }
            Found::Record(record) => return Ok(Some(Entry::new(layer, record))),
            Found::Damaged => return Ok(None),
            Found::Nothing => {}
        }
    }
    Ok(None)
}
