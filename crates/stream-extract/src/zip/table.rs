//! What is remembered of each entry between its two descriptions.
//!
//! Names are not kept: a 64-bit hash under a secret key stands for the name, so that memory grows with
//! the number of entries and never with the length of names.

use super::chunks::Chunks;
use crate::error::{Class, Error, Result};

/// One entry, as described by its local header and, after its bytes were copied, as measured.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record {
    /// Where its local header starts.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) packed: u64,
    /// Keyed hash of the name's exact bytes.
    pub(crate) name: u64,
    pub(crate) crc32: u32,
    pub(crate) flags: u16,
    /// The method; those that do not fit are refused elsewhere.
    pub(crate) method: u8,
    pub(crate) marks: Marks,
}

/// Three booleans in one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    pub(crate) const FOLDER: Self = Self(1);
    /// The executable bit: known only from the central directory.
    pub(crate) const EXECUTABLE: Self = Self(2);
    /// Both descriptions were seen.
    const SETTLED: Self = Self(4);

    pub(crate) fn with(self, mark: Self, wanted: bool) -> Self {
        if wanted { Self(self.0 | mark.0) } else { self }
    }

    pub(crate) fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }
}

const _: () = assert!(
    size_of::<Record>() * 9 / 8 + 8 * 15 / 8 + size_of::<u32>() <= 64,
    "with its name in the set of names and its place in a parallel order, 64 bytes per entry"
);

/// All flags but hints about the compressor, and the one that tells where the sizes are: those bytes
/// were read and verified, and some writers clear it in the directory.
const COMPARED_FLAGS: u16 = !0b1110;

/// The records of one archive, by offset.
#[derive(Default)]
pub(crate) struct Table {
    records: Chunks<Record>,
    settled: usize,
    /// The central directory mostly lists entries in the order of the archive.
    next: usize,
}

impl Table {
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.settled = 0;
        self.next = 0;
    }

    pub(crate) fn len(&self) -> u64 {
        self.records.len() as u64
    }

    /// Appends a record; the caller appends in order of offset or calls `sort` afterwards.
    pub(crate) fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    pub(crate) fn sort(&mut self) {
        if !self.records.iter().is_sorted_by_key(|record| record.offset) {
            self.records.sort_by_key(|record| record.offset);
        }
    }

    /// The position of the record whose local header is at `offset`.
    pub(crate) fn find(&mut self, offset: u64) -> Option<usize> {
        let guess = self.next;
        let index = match self.records.get(guess) {
            Some(record) if record.offset == offset => guess,
            _ => self.search(offset)?,
        };
        self.next = index + 1;
        Some(index)
    }

    fn search(&self, offset: u64) -> Option<usize> {
        let (mut low, mut high) = (0, self.records.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).offset < offset { low = middle + 1 } else { high = middle }
        }
        self.records.get(low).filter(|record| record.offset == offset).map(|_| low)
    }

    /// The record at a position that `find` or `len` told.
    pub(crate) fn get(&self, index: usize) -> &Record {
        self.records.get(index).expect("a position of the table")
    }

    /// Where the record behind the one at `index` must start, when the directory starts at `end`.
    pub(crate) fn next_offset(&self, index: usize, end: u64) -> u64 {
        self.records.get(index + 1).map_or(end, |record| record.offset)
    }

    /// Compares the second description of an entry with the first, exactly once.
    pub(crate) fn settle(&mut self, index: usize, other: &Record) -> Result<()> {
        let record = self.records.get_mut(index).expect("a position that `find` told");
        if record.marks.has(Marks::SETTLED) {
            let what = "two central directory entries describe one file";
            return Err(Error::new(Class::Corrupt, what));
        }
        record.marks = record.marks.with(Marks::SETTLED, true);
        self.settled += 1;
        agree(record, other)
    }

    /// True when every entry was described twice.
    pub(crate) fn all_settled(&self) -> bool {
        self.settled == self.records.len()
    }
}

/// Both descriptions must be equal in everything that decides what is extracted.
pub(crate) fn agree(a: &Record, b: &Record) -> Result<()> {
    agree_on_name(a.name, b.name)?;
    if a.marks.has(Marks::FOLDER) != b.marks.has(Marks::FOLDER) {
        return Err(disagree("kind", "one kind", "two"));
    }
    same("method", a.method, b.method)?;
    same("flags", a.flags & COMPARED_FLAGS, b.flags & COMPARED_FLAGS)?;
    same("size", a.size, b.size)?;
    same("compressed size", a.packed, b.packed)?;
    same("checksum", a.crc32, b.crc32)
}

/// The hashes of both names must be equal.
pub(crate) fn agree_on_name(a: u64, b: u64) -> Result<()> {
    if a == b { Ok(()) } else { Err(disagree("name", "one name", "two")) }
}

fn same<T: PartialEq + std::fmt::Display>(what: &'static str, first: T, second: T) -> Result<()> {
    if first == second { Ok(()) } else { Err(disagree(what, first, second)) }
}

fn disagree(
    what: &'static str,
    first: impl std::fmt::Display,
    second: impl std::fmt::Display,
) -> Error {
    let what = format!("the local header and the central directory disagree on the {what}");
    Error::mismatch(Class::Corrupt, what, first, second)
}
