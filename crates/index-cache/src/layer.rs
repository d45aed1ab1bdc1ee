//! One open file at one snapshot: finds records and reads ranges, and believes nothing unchecked.
//!
//! Every range is compared with the snapshot's `end` before memory is taken for it, so no length
//! in a hostile file leads to an allocation larger than the file.

use crate::batch::Durability;
use crate::buffers::{Buffer, Pool};
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::header::{Header, Pointer, Slots, Verdict};
use crate::layout::{HEAD_LEN, HEADERS_LEN, PAGE_LEN};
use crate::medium::{Disk, Map, Medium, Residence};
use crate::options::ReadMode;
use crate::pages::{self, Page};
use crate::record::Head;
use crate::slot::{Place, Slot};
use crate::tree::{LoadedPage, PageSource, Tree};
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Values longer than this are mapped in [`ReadMode::Auto`].
const MAP_FROM: usize = 64 << 10;
/// Records up to this long are read whole in one go: a second read costs more than the copy.
const WHOLE_MAX: u64 = 4 << 10;
/// Reads of a front are at least this long.
const FRONT_MIN: u64 = 512;
/// A slot that fails its check while its file is open may be half written: look again.
const HEADER_TRIES: usize = 4;

/// One file at one snapshot.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) mode: ReadMode,
    medium: Box<dyn Medium>,
    map: Option<Map>,
    tree: Tree,
    /// The last durable snapshot, when the current one was not synced: what a power cut took from
    /// the current one may still be found here.
    fallback: Option<Tree>,
    pool: Arc<Pool>,
    damaged: AtomicU64,
}

/// What opening a path found.
#[derive(Debug)]
pub(crate) enum Opened {
    Ready(Box<Layer>),
    Not(Status),
}

/// The state of a file, as far as opening can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// In use.
    Ready,
    /// There is no such file: counts as empty, the first commit creates it.
    Absent,
    /// Not a file of this family: counts as empty and is never written.
    Foreign,
    /// Written by a later version of this crate: counts as empty and is never written.
    NewerFormat,
    /// Written under another schema tag: counts as empty, the next commit replaces it.
    OtherSchema,
    /// Both header slots are damaged: counts as empty, the next commit replaces it.
    Damaged,
}

/// A record whose head, key and token passed their check.
///
/// Three words, because a lookup moves it through several results: a struct of decoded fields costs
/// more to move than to look up.
#[derive(Debug)]
pub(crate) struct Record {
    /// The record's first bytes, at least up to the end of the token.
    pub(crate) prefix: Bytes,
}

impl Record {
    /// Its first byte in the file.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.prefix.from
    }
}

/// Bytes of the file.
#[derive(Debug)]
pub(crate) struct Bytes {
    /// Offset of the first one.
    from: u64,
    len: usize,
    /// None: they are in the map.
    copy: Option<Buffer>,
}

impl Layer {
    /// Opens `path` at its newest snapshot.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        schema: &[u8; 32],
        mode: ReadMode,
        pool: &Arc<Pool>,
    ) -> Result<Opened> {
        match disk.open(path) {
            Ok(medium) => Self::from_medium(medium, path, schema, mode, pool),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Opened::Not(Status::Absent)),
            Err(error) => Err(Error::io("open", path, error)),
        }
    }

    /// Reads the newest snapshot of an open file.
    pub(crate) fn from_medium(
        medium: Box<dyn Medium>,
        path: &Path,
        schema: &[u8; 32],
        mode: ReadMode,
        pool: &Arc<Pool>,
    ) -> Result<Opened> {
        let slots = read_slots(&*medium, path)?;
        let header = match slots.verdict() {
            Verdict::Current(header) => header,
            Verdict::Foreign => return Ok(Opened::Not(Status::Foreign)),
            Verdict::Newer => return Ok(Opened::Not(Status::NewerFormat)),
            Verdict::Damaged => return Ok(Opened::Not(Status::Damaged)),
        };
        if header.schema != *schema {
            return Ok(Opened::Not(Status::OtherSchema));
        }
        let fallback = fallback_of(&slots, &header).map(Tree::new);
        let mode = effective(mode, &*medium);
        let map = if mode == ReadMode::Pread { None } else { map(&*medium, &header, path)? };
        let mode = if map.is_some() { mode } else { ReadMode::Pread };
        let tree = Tree::new(&header);
        let (path, pool) = (path.to_path_buf(), Arc::clone(pool));
        let damaged = AtomicU64::new(0);
        let layer = Self { path, header, mode, medium, map, tree, fallback, pool, damaged };
        Ok(Opened::Ready(Box::new(layer)))
    }

    /// The record of `key`, or none; damage on the way is a miss that is counted.
    #[inline]
    pub(crate) fn find(&self, key: &str) -> Result<Found> {
        let hash = self.hash(key);
        match self.find_in(&self.tree, hash, key) {
            Ok(Some(record)) => Ok(Found::Record(record)),
            Ok(None) => Ok(Found::Nothing),
            Err(error) => self.find_older(error, hash, key),
        }
    }

    /// The way round damage: through the last durable snapshot, where there is one.
    #[cold]
    fn find_older(&self, met: Error, hash: u32, key: &str) -> Result<Found> {
        if !met.is_corrupt() {
            return Err(met);
        }
        self.count_damage();
        let Some(older) = self.fallback.as_ref() else { return Ok(Found::Damaged) };
        match self.find_in(older, hash, key) {
            Ok(Some(record)) => Ok(Found::Record(record)),
            Ok(None) => Ok(Found::Nothing),
            Err(error) if error.is_corrupt() => {
                self.count_damage();
                Ok(Found::Damaged)
            }
            Err(error) => Err(error),
        }
    }

    /// The key's hash under this file's key.
    #[inline]
    pub(crate) fn hash(&self, key: &str) -> u32 {
        hash(&self.header.hash_key, key)
    }

    #[inline]
    fn find_in(&self, tree: &Tree, hash: u32, key: &str) -> Result<Option<Record>> {
        for slot in pages::candidates(tree.leaf_for(self, hash)?, hash) {
            let record = self.record(slot)?;
            if self.key_bytes(&record) == key.as_bytes() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Reads and proves the record that a slot names.
    #[inline]
    pub(crate) fn record(&self, slot: Slot) -> Result<Record> {
        let offset = slot.place.offset();
        let mut prefix = self.prefix(slot.place)?;
        let corrupt = || Error::corrupt(&self.path, offset, "record head");
        let named_len = Head::decode(self.view(&prefix)).ok_or_else(corrupt)?.named_len();
        if prefix.len < named_len {
            prefix = self.read(offset, named_len, "record head")?;
        }
        match self.view(&prefix).get(..named_len) {
            Some(named) if crate::check::check(named) == slot.check => Ok(Record { prefix }),
            _ => Err(corrupt()),
        }
    }

    /// The head of a record of this layer.
    #[inline]
    pub(crate) fn head<'a>(&'a self, record: &'a Record) -> Head<'a> {
        Head::known(self.view(&record.prefix))
    }

    #[inline]
    fn prefix(&self, place: Place) -> Result<Bytes> {
        let offset = place.offset();
        let left = self.header.end.saturating_sub(offset);
        let whole = place.span();
        let wanted = if self.mode == ReadMode::Mapped || whole <= WHOLE_MAX {
            whole
        } else {
            place.front().max(FRONT_MIN)
        };
        let len = usize::try_from(wanted.min(left)).unwrap_or(0);
        if len < HEAD_LEN {
            return Err(Error::corrupt(&self.path, offset, "record head"));
        }
        if self.mode == ReadMode::Mapped {
            // It ends inside the snapshot: see `left`.
            return Ok(Bytes { from: offset, len, copy: None });
        }
        self.read(offset, len, "record head")
    }

    #[inline]
    pub(crate) fn key_bytes<'a>(&'a self, record: &'a Record) -> &'a [u8] {
        self.view(&record.prefix).get(self.head(record).key()).unwrap_or_default()
    }

    /// Reads `len` bytes at `offset`; they must lie inside the snapshot.
    #[inline]
    pub(crate) fn read(&self, offset: u64, len: usize, what: &'static str) -> Result<Bytes> {
        self.check_range(offset, len, what)?;
        if self.is_mapped(len) {
            return Ok(Bytes { from: offset, len, copy: None });
        }
        let mut buffer = self.pool.take(len);
        self.fill(buffer.bytes_mut(), offset)?;
        Ok(Bytes { from: offset, len, copy: Some(buffer) })
    }

    /// Reads a range that the caller is given to keep.
    pub(crate) fn read_slice(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.check_range(offset, len, "slice")?;
        if self.is_mapped(len) {
            return Ok(Cow::Borrowed(self.mapped(offset, len)));
        }
        let mut bytes = vec![0; len];
        self.fill(&mut bytes, offset)?;
        Ok(Cow::Owned(bytes))
    }

    #[inline]
    fn check_range(&self, offset: u64, len: usize, what: &'static str) -> Result<()> {
        match offset.checked_add(crate::put::wide(len)) {
            Some(end) if end <= self.header.end => Ok(()),
            _ => Err(Error::corrupt(&self.path, offset, what)),
        }
    }

    /// Ranges of this length come from the map.
    #[inline]
    fn is_mapped(&self, len: usize) -> bool {
        self.map.is_some() && (self.mode == ReadMode::Mapped || len > MAP_FROM)
    }

    fn fill(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        // The snapshot was inside the file when it was opened, so an early end means that somebody
        // has cut it since: an error, not a miss.
        self.medium
            .read_exact_at(bytes, offset)
            .map_err(|error| Error::io("read", &self.path, error))
    }

    #[inline]
    pub(crate) fn view<'a>(&'a self, bytes: &'a Bytes) -> &'a [u8] {
        match &bytes.copy {
            Some(buffer) => buffer.bytes(),
            None => self.mapped(bytes.from, bytes.len),
        }
    }

    /// A range that was found to be inside the snapshot.
    #[inline]
    fn mapped(&self, offset: u64, len: usize) -> &[u8] {
        let map = self.map.as_ref().map(Map::bytes).unwrap_or_default();
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        map.get(from..from.saturating_add(len)).unwrap_or_default()
    }

    /// Notes that something read from this file was not what was written.
    pub(crate) fn count_damage(&self) {
        self.damaged.fetch_add(1, Relaxed);
    }

    /// How often damage was met since the file was opened.
    pub(crate) fn damage(&self) -> u64 {
        self.damaged.load(Relaxed)
    }

    /// The slots of leaf number `index`, and where the leaf is.
    pub(crate) fn leaf(&self, index: u32) -> Result<&Page> {
        self.tree.leaf(self, index)
    }

    /// Like [`Layer::leaf`], but the last durable snapshot's where the current one is damaged, and
    /// empty where both are: what a writer builds on.
    ///
    /// Only slots that a lookup could meet, and each record once: a forged leaf must not fill the
    /// tables of a writer.
    pub(crate) fn leaf_or_older(&self, index: u32) -> Result<Vec<Slot>> {
        let mut slots = match self.tree.leaf(self, index) {
            Err(error) if error.is_corrupt() => self.older_leaf(index),
            outcome => pages::slots(outcome?).collect(),
        };
        slots.retain(|slot| pages::leaf_of(slot.hash, self.tree.leaves) == index);
        slots.sort_unstable_by_key(|slot| slot.place.offset());
        slots.dedup_by_key(|slot| slot.place.offset());
        Ok(slots)
    }

    fn older_leaf(&self, index: u32) -> Vec<Slot> {
        self.count_damage();
        let Some(older) = self.fallback.as_ref() else { return Vec::new() };
        // The older index may have had fewer leaves: take from it what belongs here.
        let first = (u64::from(index) << 32) / u64::from(self.tree.leaves);
        let hash = u32::try_from(first).unwrap_or(0);
        older.leaf_for(self, hash).map_or(Vec::new(), |page| pages::slots(page).collect())
    }

    pub(crate) fn leaf_pointer(&self, index: u32) -> Result<Pointer> {
        self.tree.pointer(self, index)
    }

    /// There is an older snapshot to fall back on.
    pub(crate) fn has_fallback(&self) -> bool {
        self.fallback.is_some()
    }

    /// The leaf cannot be reached; for a durable commit, also when only its own page is damaged.
    pub(crate) fn is_leaf_lost(&self, index: u32, durability: Durability) -> Result<bool> {
        let reached = match durability {
            Durability::Fast => self.leaf_pointer(index).map(|_| ()),
            Durability::Durable => self.leaf(index).map(|_| ()),
        };
        match reached {
            Err(error) if error.is_corrupt() => Ok(true),
            outcome => outcome.map(|()| false),
        }
    }

    pub(crate) fn leaf_is_loaded(&self, index: u32) -> bool {
        self.mode == ReadMode::Mapped || self.tree.is_loaded(self, index)
    }

    pub(crate) fn medium(&self) -> &dyn Medium {
        &*self.medium
    }
}

/// What looking for a key gave.
#[derive(Debug)]
pub(crate) enum Found {
    Record(Record),
    Nothing,
    /// The key may have been here; its leaf or record is damaged.
    Damaged,
}

impl PageSource for Layer {
    fn load(&self, pointer: Pointer, what: &'static str) -> Result<LoadedPage> {
        self.check_range(pointer.offset, PAGE_LEN, what)?;
        let page = if self.is_mapped(PAGE_LEN) {
            LoadedPage::Mapped(usize::try_from(pointer.offset).unwrap_or(usize::MAX))
        } else {
            let mut page = Box::new([0; PAGE_LEN]);
            self.fill(&mut page[..], pointer.offset)?;
            LoadedPage::Copied(page)
        };
        if crate::check::check(PageSource::view(self, &page)) != pointer.check {
            return Err(Error::corrupt(&self.path, pointer.offset, what));
        }
        Ok(page)
    }

    fn view<'a>(&'a self, page: &'a LoadedPage) -> &'a Page {
        match page {
            LoadedPage::Copied(page) => page,
            LoadedPage::Mapped(from) => {
                let map = self.map.as_ref().map(Map::bytes).unwrap_or_default();
                map.get(*from..).and_then(<[u8]>::first_chunk).unwrap_or(&pages::EMPTY)
            }
        }
    }
}

/// Reads both header slots, again when one looks half written.
pub(crate) fn read_slots(medium: &dyn Medium, path: &Path) -> Result<Slots> {
    let mut tries = 1;
    loop {
        let slots = read_slots_once(medium).map_err(|error| Error::io("read", path, error))?;
        if tries == HEADER_TRIES || !slots.slots.contains(&crate::header::Slot::Damaged) {
            return Ok(slots);
        }
        tries += 1;
    }
}

fn read_slots_once(medium: &dyn Medium) -> io::Result<Slots> {
    // The length is read after the headers: a commit between the two only makes the file longer.
    let mut bytes = [0; HEADERS_LEN];
    match medium.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(Slots::decode(&bytes, medium.len()?)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => read_short(medium),
        Err(error) => Err(error),
    }
}

fn read_short(medium: &dyn Medium) -> io::Result<Slots> {
    let len = medium.len()?;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0).min(HEADERS_LEN)];
    medium.read_exact_at(&mut bytes, 0)?;
    Ok(Slots::decode(&bytes, len))
}

fn fallback_of<'a>(slots: &'a Slots, current: &Header) -> Option<&'a Header> {
    let (_, older) = *slots.valid().get(1)?;
    let usable = !current.synced
        && older.file_id == current.file_id
        && older.hash_key == current.hash_key
        && older.end <= current.end;
    usable.then_some(older)
}

/// The mode that will really be used.
fn effective(mode: ReadMode, medium: &dyn Medium) -> ReadMode {
    let can_map = cfg!(all(target_pointer_width = "64", not(windows)));
    if mode == ReadMode::Pread || !can_map || medium.residence() != Residence::Local {
        return ReadMode::Pread;
    }
    mode
}

fn map(medium: &dyn Medium, header: &Header, path: &Path) -> Result<Option<Map>> {
    medium.map(header.end).map_err(|error| Error::io("map", path, error))
}
