//! Changes on their way into the file.
//!
//! Records are encoded when they are handed over, into one buffer that becomes the tail of the file
//! by a single write; only the index pages are made at commit, under the lock.

use crate::cache::IndexCache;
use crate::commit;
use crate::error::Result;
use crate::put::{Put, check_name};
use crate::record::{self, Encoded, Kind};
use std::collections::BTreeMap;

/// How much a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// No sync. Readers see the batch at once and whole. After a power cut each of its keys may
    /// be as before, as committed, or missing; keys that no commit has touched since the last durable
    /// one are as they were.
    Fast,
    /// Two syncs: when the commit returns, the batch survives a power cut, and a cut before that
    /// leaves all of it or nothing.
    Durable,
}

/// A set of changes that readers see all at once.
///
/// Made by [`IndexCache::batch`]. Operations on one key replace each other; a batch that is dropped
/// changes nothing.
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
/// batch.put("serde", &Put::new().token(b"etag: 1").body(b"document"))?;
/// batch.put_negative("sered", b"etag: 404")?;
/// assert_eq!(batch.commit(Durability::Durable)?.skipped(), None);
///
/// // The server answered 304 with a new tag: a record of about a hundred bytes.
/// batch.touch("serde", b"etag: 2")?;
/// batch.remove("sered")?;
/// assert_eq!(batch.commit(Durability::Fast)?.skipped(), None);
/// assert_eq!(cache.get("serde")?.expect("stored").token(), b"etag: 2");
/// assert!(cache.get("sered")?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a batch changes nothing until it is committed"]
pub struct Batch<'c> {
    cache: &'c IndexCache,
    pub(crate) changes: Changes,
}

/// What a batch holds.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Encoded records, each aligned from the buffer's start.
    pub(crate) log: Vec<u8>,
    pub(crate) ops: BTreeMap<Box<str>, Op>,
}

/// The one operation on a key.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// The record is in the log.
    Store(Encoded),
    /// A new token for whatever content there is at commit.
    Touch(Box<[u8]>),
    Remove,
}

impl<'c> Batch<'c> {
    pub(crate) fn new(cache: &'c IndexCache) -> Self {
        Self { cache, changes: Changes::default() }
    }

    /// Stores an entry under `key`, in place of what is there. Keys are compared byte by byte;
    /// folding case is the caller's business.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`](crate::Error::is_too_large) when the key, the token or a slice name
    /// has more than 65,535 bytes or the entry more than 4 GiB - 64 KiB;
    /// [`Error::is_invalid_input`](crate::Error::is_invalid_input) when two slices have one name or
    /// a slice is outside of its body. The batch is unchanged then.
    pub fn put(&mut self, key: &str, put: &Put<'_>) -> Result<()> {
        put.check(key)?;
        let encoded = record::append_put(&mut self.changes.log, key, put);
        self.changes.set(key, Op::Store(encoded));
        Ok(())
    }

    /// Stores that the registry has no entry called `key`.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`](crate::Error::is_too_large) as for [`Batch::put`].
    pub fn put_negative(&mut self, key: &str, token: &[u8]) -> Result<()> {
        check_name("key", key.as_bytes())?;
        check_name("token", token)?;
        let encoded = record::append_bare(&mut self.changes.log, Kind::Negative, key, token);
        self.changes.set(key, Op::Store(encoded));
        Ok(())
    }

    /// Gives the entry of `key` a new token and keeps its content.
    ///
    /// Whether there is such an entry is decided at commit; where there is none, nothing happens
    /// and [`Written::touches_missed`](crate::Written::touches_missed) counts it. So it is where damage
    /// is on the way to the entry. The content is not read, unless it comes from a base: a damaged one
    /// stays damaged until it is stored again.
    ///
    /// The token goes to whatever content is there at commit. If another process may have stored a newer
    /// document meanwhile, [`put`](Self::put) what the token is for.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`](crate::Error::is_too_large) as for [`Batch::put`].
    pub fn touch(&mut self, key: &str, token: &[u8]) -> Result<()> {
        check_name("key", key.as_bytes())?;
        check_name("token", token)?;
        self.changes.touch(key, token);
        Ok(())
    }

    /// Removes the entry of `key`, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::is_too_large`](crate::Error::is_too_large) when the key is longer than any stored
    /// key can be.
    pub fn remove(&mut self, key: &str) -> Result<()> {
        check_name("key", key.as_bytes())?;
        self.changes.set(key, Op::Remove);
        Ok(())
    }

    /// Number of keys that the batch changes.
    pub fn len(&self) -> usize {
        self.changes.ops.len()
    }

    /// Returns true when there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.changes.ops.is_empty()
    }

    /// Bytes of the records that wait in memory.
    pub fn bytes(&self) -> usize {
        self.changes.log.len()
    }

    /// Writes the batch and empties it.
    ///
    /// The lock is held only while this function writes. Readers in all processes see all of the
    /// batch or nothing of it; this cache sees it when the function returns.
    ///
    /// # Errors
    ///
    /// [`Error::is_storage_full`](crate::Error::is_storage_full) and other
    /// [`Error::is_io`](crate::Error::is_io) when the system refuses a write: the file holds its
    /// previous state (or already the new one, if only the last sync failed), and the batch still
    /// holds its changes, so that it can be committed again.
    /// [`Error::is_too_large`](crate::Error::is_too_large) when the file would pass 8 TiB or about
    /// six million entries. Where writing is not possible *in principle* (read-only media, no
    /// locks, a foreign file) there is no error but [`Committed::Skipped`](crate::Committed).
    ///
    /// # Durability
    ///
    /// As asked: see [`Durability`].
    pub fn commit(&mut self, durability: Durability) -> Result<commit::Committed> {
        self.cache.commit(&mut self.changes, durability)
    }
}

impl Changes {
    pub(crate) fn clear(&mut self) {
        self.log.clear();
        self.ops.clear();
    }

    fn set(&mut self, key: &str, op: Op) {
        match self.ops.get_mut(key) {
            Some(old) => *old = op,
            None => {
                self.ops.insert(key.into(), op);
            }
        }
    }

    fn touch(&mut self, key: &str, token: &[u8]) {
        match self.ops.get(key) {
            Some(Op::Store(encoded)) => {
                let at = encoded.at;
                if let Some(encoded) = record::retoken(&mut self.log, at, token) {
                    self.set(key, Op::Store(encoded));
                }
            }
            Some(Op::Remove) => {}
            Some(Op::Touch(_)) | None => self.set(key, Op::Touch(token.into())),
        }
    }
}
