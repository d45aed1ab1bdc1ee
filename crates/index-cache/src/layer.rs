//! One open file at one snapshot: finds records and reads ranges, and believes nothing unchecked.
//!
//! Every range is compared with the snapshot's `end` before memory is taken for it, so no length
//! in a hostile file leads to an allocation larger than the file; and since a sparse file is as long
//! as its maker likes, memory that is not there is an error.

use crate::batch::Durability;
use crate::buffers::{self, Buffer, Pool};
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::header::{Header, Pointer, Slots, Verdict};
use crate::layout::{HEAD_LEN, HEADERS_LEN, PAGE_LEN};
use crate::medium::{Disk, Map, Medium, Residence};
use crate::options::ReadMode;
use crate::pages::{self, Page};
use crate::record::Head;
use crate::slot::Slot;
use crate::tree::{PageSource, Tree};
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Values longer than this are mapped in [`ReadMode::Auto`].
const MAP_FROM: usize = 64 << 10;
/// A slot that fails its check while its file is open may be half written: look again.
const HEADER_TRIES: usize = 4;

/// One file at one snapshot.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    /// The other header slot could not be read, and may have held a later snapshot.
    pub(crate) is_torn: bool,
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
    /// Both header slots are damaged, or tell of more than the file has: counts as empty, the next
    /// commit replaces it.
    Damaged,
}

/// A record whose head, key and token passed their check.
///
/// Few words, because a lookup moves it through several results: a struct of decoded fields costs
/// more to move than to look up.
#[derive(Debug)]
pub(crate) struct Record {
    /// Its head's first byte in the file.
    offset: u64,
    /// Where in what was read the head is.
    head: u32,
    /// Length of what was read: at least up to the token's end.
    len: u32,
    /// What was read; none: it is in the map.
    copy: Option<Buffer>,
}

const _: () = assert!(size_of::<Record>() <= 24, "a record is moved more often than it is made");

impl Record {
    /// `window` was read from `head` bytes before the record's head.
    #[inline]
    fn new(window: Bytes, head: usize) -> Option<Self> {
        let offset = window.from + crate::put::wide(head);
        let (head, len) = (u32::try_from(head).ok()?, u32::try_from(window.len).ok()?);
        Some(Self { offset, head, len, copy: window.copy })
    }

    /// Its head's first byte in the file.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Where in what was read a range of the file is, if it was read.
    pub(crate) fn in_window(&self, at: u64, len: u32) -> Option<Range<usize>> {
        let from = at.checked_sub(self.offset - u64::from(self.head))?;
        let to = from.checked_add(len.into())?;
        let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
        (to <= self.len.into()).then_some(range)
    }
}

/// How much of a record is read when it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What proves that it is the right one.
    Name,
    /// Its directory and last slice too.
    Front,
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
        let is_torn = slots.is_torn();
        let layer =
            Self { path, header, is_torn, mode, medium, map, tree, fallback, pool, damaged };
        Ok(Opened::Ready(Box::new(layer)))
    }

    /// The record of `key`, or none; damage on the way is a miss that is counted.
    #[inline]
    pub(crate) fn find(&self, key: &str, reach: Reach) -> Result<Found> {
        let hash = self.hash(key);
        match self.find_in(&self.tree, hash, key, reach) {
            Ok(Some(record)) => Ok(Found::Record(record)),
            Ok(None) => Ok(Found::Nothing),
            Err(error) => self.find_older(error, hash, key, reach),
        }
    }

    /// The way round damage: through the last durable snapshot, where there is one.
    #[cold]
    fn find_older(&self, met: Error, hash: u32, key: &str, reach: Reach) -> Result<Found> {
        if !met.is_corrupt() {
            return Err(met);
        }
        self.count_damage();
        let Some(older) = self.fallback.as_ref() else { return Ok(Found::Damaged) };
        match self.find_in(older, hash, key, reach) {
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
    fn find_in(&self, tree: &Tree, hash: u32, key: &str, reach: Reach) -> Result<Option<Record>> {
        for slot in pages::candidates(tree.leaf_for(self, hash)?, hash) {
            let record = self.record(slot, reach)?;
            if self.key_bytes(&record) == key.as_bytes() {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Reads and proves the record that a slot names.
    #[inline]
    pub(crate) fn record(&self, slot: Slot, reach: Reach) -> Result<Record> {
        let record = self.window(slot, reach)?;
        let bytes = self.named(&record);
        let Some(head) = Head::decode(bytes) else { return Err(self.no_record(slot)) };
        match bytes.get(..head.named_len()) {
            Some(named) if crate::check::check(named) == slot.check => Ok(record),
            Some(_) => Err(self.no_record(slot)),
            None => self.long_record(slot, head.named_len()),
        }
    }

    /// A record whose token ends behind what was read at first.
    #[cold]
    fn long_record(&self, slot: Slot, named_len: usize) -> Result<Record> {
        let bytes = self.read(slot.place.offset(), named_len, "record head")?;
        if crate::check::check(self.view(&bytes)) != slot.check {
            return Err(self.no_record(slot));
        }
        Record::new(bytes, 0).ok_or_else(|| self.no_record(slot))
    }

    #[cold]
    fn no_record(&self, slot: Slot) -> Error {
        Error::corrupt(&self.path, slot.place.offset(), "record head")
    }

    /// Reads around the head of a record.
    #[inline]
    fn window(&self, slot: Slot, reach: Reach) -> Result<Record> {
        let place = slot.place;
        // In a map everything is as near as everything else.
        let is_named = reach == Reach::Name || self.mode == ReadMode::Mapped;
        let range = if is_named { place.named() } else { place.front_range() };
        let end = range.end.min(self.header.end);
        let head = usize::try_from(place.offset() - range.start).unwrap_or(usize::MAX);
        match usize::try_from(end.saturating_sub(range.start)) {
            Ok(len) if len.saturating_sub(head) >= HEAD_LEN => {
                let bytes = self.read(range.start, len, "record head")?;
                Record::new(bytes, head).ok_or_else(|| self.no_record(slot))
            }
            _ => Err(self.no_record(slot)),
        }
    }

    /// The head of a record of this layer.
    #[inline]
    pub(crate) fn head<'a>(&'a self, record: &'a Record) -> Head<'a> {
        Head::known(self.named(record))
    }

    /// A record's bytes from its head on: at least head, key and token.
    #[inline]
    pub(crate) fn named<'a>(&'a self, record: &'a Record) -> &'a [u8] {
        let (head, len) = (whole(record.head), whole(record.len));
        match &record.copy {
            Some(buffer) => buffer.bytes().get(head..).unwrap_or_default(),
            None => self.mapped(record.offset, len.saturating_sub(head)),
        }
    }

    /// A part of what was read of a record: see [`Record::in_window`].
    #[inline]
    pub(crate) fn in_window<'a>(&'a self, record: &'a Record, range: Range<usize>) -> &'a [u8] {
        let bytes = match &record.copy {
            Some(buffer) => buffer.bytes(),
            None => self.mapped(record.offset - u64::from(record.head), whole(record.len)),
        };
        bytes.get(range).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn key_bytes<'a>(&'a self, record: &'a Record) -> &'a [u8] {
        let named = self.named(record);
        named.get(Head::known(named).key()).unwrap_or_default()
    }

    /// Reads `len` bytes at `offset`; they must lie inside the snapshot.
    #[inline]
    pub(crate) fn read(&self, offset: u64, len: usize, what: &'static str) -> Result<Bytes> {
        self.check_range(offset, len, what)?;
        if self.is_mapped(len) {
            return Ok(Bytes { from: offset, len, copy: None });
        }
        let mut buffer = self.pool.take(len).map_err(|error| self.unread(error))?;
        self.fill(buffer.bytes_mut(), offset)?;
        Ok(Bytes { from: offset, len, copy: Some(buffer) })
    }

    /// Reads a range that the caller is given to keep.
    pub(crate) fn read_slice(&self, offset: u64, len: usize) -> Result<Cow<'_, [u8]>> {
        self.check_range(offset, len, "slice")?;
        if self.is_mapped(len) {
            return Ok(Cow::Borrowed(self.mapped(offset, len)));
        }
        let mut bytes = buffers::zeroed(len).map_err(|error| self.unread(error))?;
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
        self.medium.read_exact_at(bytes, offset).map_err(|error| self.unread(error))
    }

    #[cold]
    fn unread(&self, error: io::Error) -> Error {
        Error::io("read", &self.path, error)
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
        self.tree.is_loaded(self, index)
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
    fn load(&self, pointer: Pointer, what: &'static str) -> Result<Box<Page>> {
        self.check_range(pointer.offset, PAGE_LEN, what)?;
        let mut page = Box::new([0; PAGE_LEN]);
        self.fill(&mut page[..], pointer.offset)?;
        if crate::check::check(&page[..]) != pointer.check {
            return Err(Error::corrupt(&self.path, pointer.offset, what));
        }
        Ok(page)
    }
}

/// No supported target has a `usize` of less than 32 bits.
#[inline]
pub(crate) fn whole(len: u32) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
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
