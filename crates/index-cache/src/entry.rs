//! One entry: its token at once, its body and slices when asked, each proved before it is given.

use crate::error::{Error, Result};
use crate::layer::{Bytes, Layer, Record, whole};
use crate::record::{Directory, Head, Kind, Line};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// After this many slices of one entry, its whole payload is read at once: a system call for each
/// costs more than the bytes (pnpm/pnpm#12322 saw ten times the system time).
const SLICE_READS_MAX: u32 = 8;

/// What a cache holds under one key.
///
/// Key and token are in memory and were verified when the entry was found. The body and each slice
/// are read on first use and verified by their own checksum; an entry stays readable, unchanged,
/// for as long as it is held, whatever other processes commit or compact meanwhile.
///
/// An entry borrows from the [`Snapshot`](crate::Snapshot) that it was found in. One that
/// [`IndexCache::get`](crate::IndexCache::get) gives, or [`Entry::into_owned`] makes, outlives it.
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
/// batch.put("serde", &Put::new().token(b"etag: 7").slice("1.0.0", 1, b"first").slice("1.0.1", 0, b"second"))?;
/// assert_eq!(batch.commit(Durability::Fast)?.skipped(), None);
///
/// let entry = cache.get("serde")?.expect("just stored");
/// assert_eq!(entry.token(), b"etag: 7");
/// assert_eq!(entry.slice("1.0.1")?.as_deref(), Some(&b"second"[..]));
/// let yanked: Vec<_> = entry.slices()?.filter(|slice| slice.flags & 1 != 0).map(|slice| slice.name).collect();
/// assert_eq!(yanked, ["1.0.0"]);
/// # Ok(())
/// # }
/// ```
pub struct Entry<'s> {
    layer: Holder<'s>,
    record: Record,
    /// Most entries are only asked for their token: what is read later lives apart.
    parts: OnceCell<Box<Parts>>,
}

const _: () = assert!(size_of::<Entry<'_>>() <= 48, "an entry is moved more often than it is made");

/// What keeps the file open. Counting holders costs as much as half a lookup through a map.
#[derive(Clone, Debug)]
enum Holder<'s> {
    Snapshot(&'s Arc<Layer>),
    Itself(Arc<Layer>),
}

impl Deref for Holder<'_> {
    type Target = Arc<Layer>;

    #[inline]
    fn deref(&self) -> &Arc<Layer> {
        match self {
            Self::Snapshot(layer) => layer,
            Self::Itself(layer) => layer,
        }
    }
}

/// What has been read of an entry's content.
#[derive(Debug, Default)]
struct Parts {
    directory: OnceCell<Held>,
    body: OnceCell<Held>,
    payload: OnceCell<Held>,
    slice_reads: Cell<u32>,
}

/// Where bytes of an entry are in memory.
#[derive(Debug)]
enum Held {
    /// They came when the record was looked for.
    Window(Range<usize>),
    Read(Bytes),
}

/// A slice's name and what is known without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SliceInfo<'a> {
    /// The name it was stored under.
    pub name: &'a str,
    /// The caller's sixteen bits.
    pub flags: u16,
    /// Length in bytes.
    pub len: u32,
}

impl<'s> Entry<'s> {
    #[inline]
    pub(crate) fn new(layer: &'s Arc<Layer>, record: Record) -> Self {
        Self { layer: Holder::Snapshot(layer), record, parts: OnceCell::new() }
    }

    /// The same entry, able to outlive the snapshot it was found in. What it has read stays read.
    pub fn into_owned(self) -> Entry<'static> {
        let layer = Holder::Itself(Arc::clone(&self.layer));
        Entry { layer, record: self.record, parts: self.parts }
    }

    fn parts(&self) -> &Parts {
        self.parts.get_or_init(Box::default)
    }

    pub(crate) fn origin(&self) -> (&Layer, &Record) {
        (&self.layer, &self.record)
    }

    /// The key it was found under.
    pub fn key(&self) -> &str {
        str::from_utf8(self.layer.key_bytes(&self.record)).unwrap_or_default()
    }

    /// The freshness token, as stored.
    #[inline]
    pub fn token(&self) -> &[u8] {
        let named = self.layer.named(&self.record);
        named.get(Head::known(named).token()).unwrap_or_default()
    }

    /// Returns true when the entry says that the registry has no such name.
    #[inline]
    pub fn is_negative(&self) -> bool {
        self.head().kind() == Kind::Negative
    }

    /// Length of the body in bytes.
    #[inline]
    pub fn body_len(&self) -> u32 {
        self.head().content().body_len
    }

    /// Number of slices.
    #[inline]
    pub fn slice_count(&self) -> u32 {
        self.head().content().slices
    }

    /// The body, verified.
    ///
    /// # Errors
    ///
    /// [`Error::is_corrupt`] when its bytes are not the ones that were stored: treat the entry as
    /// missing. [`Error::is_io`] when they cannot be read.
    pub fn body(&self) -> Result<&[u8]> {
        let held = once(&self.parts().body, || {
            let content = self.head().content();
            self.proved(self.content_at(), content.body_len, content.body_check, "body")
        });
        Ok(self.view(held?))
    }

    /// The slice called `name`, verified; none when there is no such slice.
    ///
    /// # Errors
    ///
    /// [`Error::is_corrupt`] when the directory or the slice are not what was stored: treat the
    /// entry as missing. [`Error::is_io`] when they cannot be read.
    pub fn slice(&self, name: &str) -> Result<Option<Cow<'_, [u8]>>> {
        if self.slice_count() == 0 {
            return Ok(None);
        }
        self.directory()?.find(name).map(|line| self.load_slice(&line)).transpose()
    }

    /// Names, flags and lengths of all slices, in the order they were stored.
    ///
    /// # Errors
    ///
    /// [`Error::is_corrupt`] when the directory is not what was stored, [`Error::is_io`] when it
    /// cannot be read.
    pub fn slices(&self) -> Result<impl Iterator<Item = SliceInfo<'_>>> {
        let lines = self.lines()?;
        Ok(lines.map(|line| SliceInfo { name: line.name, flags: line.flags, len: line.len }))
    }

    fn lines(&self) -> Result<impl Iterator<Item = Line<'_>>> {
        let directory = if self.slice_count() == 0 { None } else { Some(self.directory()?) };
        Ok(directory.into_iter().flat_map(Directory::lines))
    }

    fn directory(&self) -> Result<Directory<'_>> {
        let held = once(&self.parts().directory, || {
            let content = self.head().content();
            let (len, check) = (content.directory_len, content.directory_check);
            self.proved(self.directory_at(), len, check, "directory")
        });
        Directory::decode(self.view(held?), self.slice_count())
            .ok_or_else(|| self.corrupt(self.directory_at(), "directory"))
    }

    fn load_slice(&self, line: &Line<'_>) -> Result<Cow<'_, [u8]>> {
        let at = self.content_at().saturating_add(line.at.into());
        let range = whole(line.at)..whole(line.at).saturating_add(whole(line.len));
        // A body that was verified vouches for the slices inside it.
        let body = self.parts().body.get().and_then(|body| self.view(body).get(range.clone()));
        if let Some(bytes) = body {
            return Ok(Cow::Borrowed(bytes));
        }
        let bytes = self.slice_bytes(line, at, range)?;
        if crate::check::check(&bytes) != line.check {
            return Err(self.corrupt(at, "slice"));
        }
        Ok(bytes)
    }

    fn slice_bytes(&self, line: &Line<'_>, at: u64, range: Range<usize>) -> Result<Cow<'_, [u8]>> {
        if let Some(range) = self.record.in_window(at, line.len) {
            return Ok(Cow::Borrowed(self.layer.in_window(&self.record, range)));
        }
        let slice_reads = &self.parts().slice_reads;
        let reads = slice_reads.get();
        slice_reads.set(reads.saturating_add(1));
        if reads < SLICE_READS_MAX {
            return self.layer.read_slice(at, whole(line.len));
        }
        let payload = self.payload()?;
        payload.get(range).map(Cow::Borrowed).ok_or_else(|| self.corrupt(at, "slice"))
    }

    /// The whole payload, not verified: each slice in it has its own check.
    fn payload(&self) -> Result<&[u8]> {
        let held = once(&self.parts().payload, || {
            self.held(self.content_at(), self.head().content().payload_len, "payload")
        });
        Ok(self.view(held?))
    }

    /// The payload's first byte in the file.
    fn content_at(&self) -> u64 {
        self.head().content_at(self.record.offset())
    }

    fn directory_at(&self) -> u64 {
        self.content_at().saturating_add(self.head().content().payload_len.into())
    }

    #[inline]
    fn head(&self) -> Head<'_> {
        self.layer.head(&self.record)
    }

    fn held(&self, at: u64, len: u32, what: &'static str) -> Result<Held> {
        match self.record.in_window(at, len) {
            Some(range) => Ok(Held::Window(range)),
            None => self.layer.read(at, whole(len), what).map(Held::Read),
        }
    }

    fn proved(&self, at: u64, len: u32, check: u32, what: &'static str) -> Result<Held> {
        let held = self.held(at, len, what)?;
        if crate::check::check(self.view(&held)) != check {
            return Err(self.corrupt(at, what));
        }
        Ok(held)
    }

    fn view<'a>(&'a self, held: &'a Held) -> &'a [u8] {
        match held {
            Held::Window(range) => self.layer.in_window(&self.record, range.clone()),
            Held::Read(bytes) => self.layer.view(bytes),
        }
    }

    fn corrupt(&self, at: u64, what: &'static str) -> Error {
        self.layer.count_damage();
        Error::corrupt(&self.layer.path, at, what)
    }
}

/// Like `OnceCell::get_or_try_init`, which is not stable yet.
fn once(cell: &OnceCell<Held>, load: impl FnOnce() -> Result<Held>) -> Result<&Held> {
    if let Some(held) = cell.get() {
        return Ok(held);
    }
    let held = load()?;
    Ok(cell.get_or_init(|| held))
}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("key", &self.key())
            .field("token_len", &self.token().len())
            .field("body_len", &self.body_len())
            .field("slices", &self.slice_count())
            .finish_non_exhaustive()
    }
}
