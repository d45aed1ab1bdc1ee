//! The two header slots: which snapshot of the log is current, and where its index starts.
//!
//! Everything a reader may see is reachable from one header slot, and each pointer on the way
//! carries the checksum of what it points to. So a header that passes its own check vouches for a
//! whole snapshot, and a torn one merely leaves the other slot, which is the snapshot before.
//!
//! Bytes in, answer out: this module does no I/O.

use crate::layout as at;
use crate::layout::{BRANCHES_MAX, HEADERS_LEN, LOG_START, PAGE, PAGE_LEN, POINTER_LEN};
use crate::slot::OFFSET_END;

/// First bytes of every file of this family, chosen like PNG's: not text, and damaged by any
/// transfer that changes line ends.
pub(crate) const MAGIC: [u8; 8] = *b"\x89IXC\r\n\x1a\n";
/// The version this code writes, and the newest it reads.
pub(crate) const FORMAT: u16 = 1;
/// What a medium writes whole or not at all.
const SECTOR_LEN: usize = 512;
/// No file lives to see this many commits; counting on from a made-up number would end in a wrap.
const SEQ_END: u64 = 1 << 62;
/// Set when the snapshot was on the medium before this header was written.
const SYNCED: u32 = 1;

/// Where a page is and what its bytes hash to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) offset: u64,
    pub(crate) check: u32,
}

impl Pointer {
    /// Absent: the subtree holds nothing.
    pub(crate) const NONE: Self = Self { offset: 0, check: 0 };

    pub(crate) fn is_none(&self) -> bool {
        self.offset == 0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Self { offset: at::POINTER_OFFSET.u64(bytes), check: at::POINTER_CHECK.u32(bytes) }
    }

    pub(crate) fn encode(self, bytes: &mut [u8]) {
        at::POINTER_OFFSET.put(bytes, &self.offset.to_le_bytes());
        at::POINTER_CHECK.put(bytes, &self.check.to_le_bytes());
    }
}

/// One decoded header slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The medium held all of the snapshot before this header was written.
    pub(crate) synced: bool,
    pub(crate) file_id: [u8; 16],
    pub(crate) hash_key: [u8; 16],
    pub(crate) schema: [u8; 32],
    /// Counts commits; the higher of two valid slots is current.
    pub(crate) seq: u64,
    /// First byte after the snapshot. The next commit appends here.
    pub(crate) end: u64,
    pub(crate) entries: u64,
    /// Bytes of the records that are still reachable, each rounded up by its slot's span.
    pub(crate) live_bytes: u64,
    /// A power of two, at most [`at::LEAVES_MAX`].
    pub(crate) leaves: u32,
    pub(crate) branches: Vec<Pointer>,
}

impl Header {
    /// The header of a file that holds nothing yet.
    pub(crate) fn empty(file_id: [u8; 16], hash_key: [u8; 16], schema: [u8; 32]) -> Self {
        Self {
            synced: false,
            file_id,
            hash_key,
            schema,
            seq: 0,
            end: LOG_START,
            entries: 0,
            live_bytes: 0,
            leaves: 1,
            branches: vec![Pointer::NONE],
        }
    }

    /// No commit can follow: no reader would believe its number.
    pub(crate) fn is_last(&self) -> bool {
        self.seq + 1 >= SEQ_END
    }

    pub(crate) fn encode(&self) -> [u8; PAGE_LEN] {
        let mut page = [0; PAGE_LEN];
        at::MAGIC.put(&mut page, &MAGIC);
        at::FORMAT.put(&mut page, &FORMAT.to_le_bytes());
        at::MIN_READER.put(&mut page, &FORMAT.to_le_bytes());
        at::FLAGS.put(&mut page, &(if self.synced { SYNCED } else { 0 }).to_le_bytes());
        at::FILE_ID.put(&mut page, &self.file_id);
        at::HASH_KEY.put(&mut page, &self.hash_key);
        at::SCHEMA.put(&mut page, &self.schema);
        at::SEQ.put(&mut page, &self.seq.to_le_bytes());
        at::END.put(&mut page, &self.end.to_le_bytes());
        at::ENTRIES.put(&mut page, &self.entries.to_le_bytes());
        at::LIVE_BYTES.put(&mut page, &self.live_bytes.to_le_bytes());
        at::LEAVES.put(&mut page, &self.leaves.to_le_bytes());
        let table = &mut page[at::BRANCHES.offset..at::BRANCHES.end()];
        for (pointer, bytes) in self.branches.iter().zip(table.chunks_exact_mut(POINTER_LEN)) {
            pointer.encode(bytes);
        }
        let check = crate::check::check(&page[..at::HEADER_CHECK.offset]);
        at::HEADER_CHECK.put(&mut page, &check.to_le_bytes());
        page
    }
}

/// Number of branch pointers that `leaves` leaves need.
pub(crate) fn branches_for(leaves: u32) -> usize {
    usize::try_from(leaves).map_or(BRANCHES_MAX, |leaves| leaves.div_ceil(at::FANOUT))
}

/// What one header slot is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Passes every check.
    Valid(Header),
    /// Another program's bytes.
    Foreign,
    /// Ours, but needs a newer reader.
    Newer,
    /// Never written, or its first sector was not: zeros where the magic would be.
    Blank,
    /// Ours once, and damaged: torn, flipped, or describing more than the file holds.
    Damaged,
}

/// Decodes one slot of a file of `file_len` bytes.
pub(crate) fn decode(page: &[u8], file_len: u64) -> Slot {
    if page.len() < PAGE_LEN {
        return short(page);
    }
    if page.starts_with(&[0; SECTOR_LEN]) {
        return Slot::Blank;
    }
    if at::MAGIC.of(page) != MAGIC {
        return Slot::Foreign;
    }
    if at::HEADER_CHECK.u32(page) != crate::check::check(&page[..at::HEADER_CHECK.offset]) {
        return Slot::Damaged;
    }
    if at::MIN_READER.u16(page) > FORMAT {
        return Slot::Newer;
    }
    let header = fields(page);
    if is_possible(&header, file_len) { Slot::Valid(header) } else { Slot::Damaged }
}

fn short(page: &[u8]) -> Slot {
    let common = page.len().min(MAGIC.len());
    if page.iter().all(|byte| *byte == 0) {
        Slot::Blank
    } else if page[..common] == MAGIC[..common] {
        Slot::Damaged
    } else {
        Slot::Foreign
    }
}

fn fields(page: &[u8]) -> Header {
    let leaves = at::LEAVES.u32(page);
    let table = at::BRANCHES.of(page).chunks_exact(POINTER_LEN);
    Header {
        synced: at::FLAGS.u32(page) & SYNCED != 0,
        file_id: at::FILE_ID.bytes(page),
        hash_key: at::HASH_KEY.bytes(page),
        schema: at::SCHEMA.bytes(page),
        seq: at::SEQ.u64(page),
        end: at::END.u64(page),
        entries: at::ENTRIES.u64(page),
        live_bytes: at::LIVE_BYTES.u64(page),
        leaves,
        branches: table.take(branches_for(leaves)).map(Pointer::decode).collect(),
    }
}

fn is_possible(header: &Header, file_len: u64) -> bool {
    (LOG_START..=file_len.min(OFFSET_END)).contains(&header.end)
        && header.end.is_multiple_of(PAGE)
        && header.seq < SEQ_END
        && header.leaves.is_power_of_two()
        && header.leaves <= at::LEAVES_MAX
}

/// Both slots of a file.
#[derive(Debug)]
pub(crate) struct Slots {
    pub(crate) slots: [Slot; 2],
}

/// What the two slots together say about the file.
#[derive(Debug)]
pub(crate) enum Verdict {
    Current(Header),
    Foreign,
    Newer,
    Damaged,
}

impl Slots {
    /// Decodes the first two pages, or what there is of them.
    pub(crate) fn decode(bytes: &[u8], file_len: u64) -> Self {
        let bytes = &bytes[..bytes.len().min(HEADERS_LEN)];
        let (first, second) = bytes.split_at(bytes.len().min(PAGE_LEN));
        Self { slots: [decode(first, file_len), decode(second, file_len)] }
    }

    /// The valid slots, the newest first.
    pub(crate) fn valid(&self) -> Vec<(usize, &Header)> {
        let mut valid: Vec<_> =
            (0..2).filter_map(|slot| Some((slot, self.header(slot)?))).collect();
        valid.sort_by_key(|(_, header)| std::cmp::Reverse(header.seq));
        valid
    }

    /// A slot is damaged, or half written at this moment.
    pub(crate) fn is_torn(&self) -> bool {
        self.slots.contains(&Slot::Damaged)
    }

    /// Some durable commit has made the file's name durable.
    pub(crate) fn is_name_synced(&self) -> bool {
        self.valid().iter().any(|(_, header)| header.synced)
    }

    fn header(&self, slot: usize) -> Option<&Header> {
        match &self.slots[slot] {
            Slot::Valid(header) => Some(header),
            _ => None,
        }
    }

    /// One newer slot makes the file newer: the other may be all that is left of an upgrade in
    /// place, and must not come back to life. Else a slot that passes its check decides; one that
    /// claims to be ours keeps the rest from being called foreign.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.slots.contains(&Slot::Newer) {
            return Verdict::Newer;
        }
        if let Some((_, header)) = self.valid().first() {
            return Verdict::Current((*header).clone());
        }
        if self.slots.contains(&Slot::Damaged) || self.slots == [Slot::Blank, Slot::Blank] {
            return Verdict::Damaged;
        }
        Verdict::Foreign
    }

    /// The slot that the next header goes into.
    ///
    /// A synced commit takes the older slot: its own first sync put the newer one's snapshot on
    /// the medium. An unsynced commit never takes the newest synced header, so that whatever a
    /// power cut does to it, the last durable snapshot can still be read.
    pub(crate) fn next_slot(&self, synced: bool) -> usize {
        match self.valid().as_slice() {
            [] => 0,
            [(only, _)] => 1 - only,
            [(newest, new), (oldest, old), ..] => {
                if !synced && !new.synced && old.synced {
                    *newest
                } else {
                    *oldest
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(seq: u64, synced: bool) -> Header {
        Header { synced, seq, ..Header::empty([1; 16], [2; 16], [3; 32]) }
    }

    fn slots(first: &Header, second: &Header) -> Slots {
        Slots { slots: [Slot::Valid(first.clone()), Slot::Valid(second.clone())] }
    }

    #[test]
    fn a_header_survives_its_encoding() {
        let mut header = header(7, true);
        header.leaves = 512;
        header.branches = vec![Pointer { offset: 4096, check: 9 }, Pointer::NONE];
        assert_eq!(decode(&header.encode(), LOG_START), Slot::Valid(header));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let page = header(7, true).encode();
        for bit in 0..page.len() * 8 {
            let mut page = page;
            page[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(decode(&page, LOG_START), Slot::Valid(_)), "bit {bit}");
        }
    }

    #[test]
    fn a_header_that_points_past_the_file_is_not_believed() {
        assert_eq!(decode(&header(1, true).encode(), LOG_START - 1), Slot::Damaged);
    }

    #[test]
    fn an_unsynced_commit_spares_the_newest_synced_header() {
        assert_eq!(slots(&header(3, true), &header(4, false)).next_slot(false), 1);
        assert_eq!(slots(&header(4, true), &header(3, true)).next_slot(false), 1);
        assert_eq!(slots(&header(4, false), &header(3, false)).next_slot(false), 1);
    }

    #[test]
    fn a_synced_commit_takes_the_older_slot() {
        assert_eq!(slots(&header(3, true), &header(4, false)).next_slot(true), 0);
    }

    #[test]
    fn a_file_of_zeros_is_damaged_and_a_text_is_foreign() {
        assert!(matches!(Slots::decode(&[0; 8192], 8192).verdict(), Verdict::Damaged));
        assert!(matches!(Slots::decode(b"", 0).verdict(), Verdict::Damaged));
        assert!(matches!(Slots::decode(b"[package]", 9).verdict(), Verdict::Foreign));
    }

    /// A header page with one field changed and its check made right again.
    fn changed(field: &at::Field, bytes: &[u8]) -> [u8; PAGE_LEN] {
        let mut page = header(1, true).encode();
        field.put(&mut page, bytes);
        let check = crate::check::check(&page[..at::HEADER_CHECK.offset]);
        at::HEADER_CHECK.put(&mut page, &check.to_le_bytes());
        page
    }

    #[test]
    fn a_newer_format_is_recognised_beside_anything() {
        let newer = changed(&at::MIN_READER, &2_u16.to_le_bytes());
        let ours = header(9, true).encode();
        for pair in [[&newer, &[0; PAGE_LEN]], [&newer, &ours], [&ours, &newer], [&newer, &newer]] {
            let bytes = [pair[0].as_slice(), pair[1].as_slice()].concat();
            let slots = Slots::decode(&bytes, LOG_START);
            assert!(matches!(slots.verdict(), Verdict::Newer));
        }
    }

    #[test]
    fn a_header_with_a_number_that_no_writer_reaches_is_not_believed() {
        let u64s = [
            (&at::SEQ, u64::MAX),
            (&at::SEQ, SEQ_END),
            (&at::END, OFFSET_END + PAGE),
            (&at::END, LOG_START + 8),
            (&at::END, PAGE),
        ];
        let leaves = [0, 3, 65_536].map(|count: u32| (&at::LEAVES, count));
        let u64s = u64s.map(|(field, number)| (field, number.to_le_bytes().to_vec()));
        let u32s = leaves.map(|(field, number)| (field, number.to_le_bytes().to_vec()));
        for (field, number) in u64s.into_iter().chain(u32s) {
            let page = changed(field, &number);
            assert_eq!(decode(&page, u64::MAX), Slot::Damaged);
        }
    }
}
