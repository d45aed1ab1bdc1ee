//! Where each byte of the file lives: the only module that knows an offset.
//!
//! The prose is in `docs/FORMAT.md`. A test in this file reads that document and fails when a row
//! of its tables and a constant here disagree. Nothing here does I/O or decides what is valid.

/// One fixed-width field of an on-disk structure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// Readers and writers take the whole structure and pick the field out of it. Callers pass slices
/// of at least the structure's constant length; every such length is a constant of this module.
impl Field {
    const fn first(name: &'static str, size: usize) -> Self {
        Self { name, offset: 0, size }
    }

    const fn after(previous: &Self, name: &'static str, size: usize) -> Self {
        Self { name, offset: previous.end(), size }
    }

    pub(crate) const fn end(&self) -> usize {
        self.offset + self.size
    }

    #[inline]
    pub(crate) fn of<'a>(&self, structure: &'a [u8]) -> &'a [u8] {
        &structure[self.offset..self.end()]
    }

    #[inline]
    pub(crate) fn bytes<const N: usize>(&self, structure: &[u8]) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.of(structure));
        bytes
    }

    #[inline]
    pub(crate) fn u8(&self, structure: &[u8]) -> u8 {
        structure[self.offset]
    }

    #[inline]
    pub(crate) fn u16(&self, structure: &[u8]) -> u16 {
        u16::from_le_bytes(self.bytes(structure))
    }

    #[inline]
    pub(crate) fn u32(&self, structure: &[u8]) -> u32 {
        u32::from_le_bytes(self.bytes(structure))
    }

    #[inline]
    pub(crate) fn u64(&self, structure: &[u8]) -> u64 {
        u64::from_le_bytes(self.bytes(structure))
    }

    pub(crate) fn put(&self, structure: &mut [u8], bytes: &[u8]) {
        structure[self.offset..self.end()].copy_from_slice(bytes);
    }
}

/// The file's unit of index pages and header slots. Never the operating system's page size, which
/// is 16 KiB or 64 KiB on some machines.
pub(crate) const PAGE_LEN: usize = 4096;
/// [`PAGE_LEN`] as a file offset.
pub(crate) const PAGE: u64 = 4096;
/// Two header slots, one page each; the log starts after them.
pub(crate) const LOG_START: u64 = 2 * PAGE;
/// Both header slots.
pub(crate) const HEADERS_LEN: usize = 2 * PAGE_LEN;
/// Records start at multiples of this.
pub(crate) const ALIGN: u64 = 8;

pub(crate) const MAGIC: Field = Field::first("magic", 8);
pub(crate) const FORMAT: Field = Field::after(&MAGIC, "format", 2);
pub(crate) const MIN_READER: Field = Field::after(&FORMAT, "min_reader", 2);
pub(crate) const FLAGS: Field = Field::after(&MIN_READER, "flags", 4);
pub(crate) const FILE_ID: Field = Field::after(&FLAGS, "file_id", 16);
pub(crate) const HASH_KEY: Field = Field::after(&FILE_ID, "hash_key", 16);
pub(crate) const SCHEMA: Field = Field::after(&HASH_KEY, "schema", 32);
pub(crate) const SEQ: Field = Field::after(&SCHEMA, "seq", 8);
pub(crate) const END: Field = Field::after(&SEQ, "end", 8);
pub(crate) const ENTRIES: Field = Field::after(&END, "entries", 8);
pub(crate) const LIVE_BYTES: Field = Field::after(&ENTRIES, "live_bytes", 8);
pub(crate) const LEAVES: Field = Field::after(&LIVE_BYTES, "leaves", 4);
pub(crate) const HEADER_SPARE: Field = Field::after(&LEAVES, "spare", 12);
pub(crate) const BRANCHES: Field =
    Field::after(&HEADER_SPARE, "branches", BRANCHES_MAX * POINTER_LEN);
pub(crate) const HEADER_ZERO: Field = Field::after(&BRANCHES, "zero", 1916);
pub(crate) const HEADER_CHECK: Field = Field::after(&HEADER_ZERO, "check", 4);

/// Every header field, in file order.
#[cfg(test)]
pub(crate) const HEADER: [&Field; 16] = [
    &MAGIC,
    &FORMAT,
    &MIN_READER,
    &FLAGS,
    &FILE_ID,
    &HASH_KEY,
    &SCHEMA,
    &SEQ,
    &END,
    &ENTRIES,
    &LIVE_BYTES,
    &LEAVES,
    &HEADER_SPARE,
    &BRANCHES,
    &HEADER_ZERO,
    &HEADER_CHECK,
];

pub(crate) const POINTER_OFFSET: Field = Field::first("offset", 8);
pub(crate) const POINTER_CHECK: Field = Field::after(&POINTER_OFFSET, "check", 4);
pub(crate) const POINTER_ZERO: Field = Field::after(&POINTER_CHECK, "zero", 4);
#[cfg(test)]
pub(crate) const POINTER: [&Field; 3] = [&POINTER_OFFSET, &POINTER_CHECK, &POINTER_ZERO];
pub(crate) const POINTER_LEN: usize = 16;

/// Branch pointers in a header.
pub(crate) const BRANCHES_MAX: usize = 128;
/// Leaf pointers in a branch page.
pub(crate) const FANOUT: usize = 256;
/// The most leaves that the two tables above can reach.
pub(crate) const LEAVES_MAX: u32 = 32_768;

pub(crate) const LEAF_COUNT: Field = Field::first("count", 4);
pub(crate) const LEAF_ZERO: Field = Field::after(&LEAF_COUNT, "zero", 12);
pub(crate) const LEAF_SLOTS: Field = Field::after(&LEAF_ZERO, "slots", SLOTS * SLOT_LEN);
#[cfg(test)]
pub(crate) const LEAF: [&Field; 3] = [&LEAF_COUNT, &LEAF_ZERO, &LEAF_SLOTS];
/// Slots in a leaf.
pub(crate) const SLOTS: usize = 255;

pub(crate) const SLOT_HASH: Field = Field::first("hash", 4);
pub(crate) const SLOT_CHECK: Field = Field::after(&SLOT_HASH, "check", 4);
pub(crate) const SLOT_PLACE: Field = Field::after(&SLOT_CHECK, "place", 8);
#[cfg(test)]
pub(crate) const SLOT: [&Field; 3] = [&SLOT_HASH, &SLOT_CHECK, &SLOT_PLACE];
pub(crate) const SLOT_LEN: usize = 16;

pub(crate) const RECORD_MAGIC: Field = Field::first("magic", 4);
pub(crate) const KIND: Field = Field::after(&RECORD_MAGIC, "kind", 1);
pub(crate) const CODEC: Field = Field::after(&KIND, "codec", 1);
pub(crate) const KEY_LEN: Field = Field::after(&CODEC, "key_len", 2);
pub(crate) const TOKEN_LEN: Field = Field::after(&KEY_LEN, "token_len", 2);
pub(crate) const RECORD_SPARE: Field = Field::after(&TOKEN_LEN, "spare", 2);
pub(crate) const SLICES: Field = Field::after(&RECORD_SPARE, "slices", 4);
pub(crate) const DIRECTORY_LEN: Field = Field::after(&SLICES, "directory_len", 4);
pub(crate) const DIRECTORY_CHECK: Field = Field::after(&DIRECTORY_LEN, "directory_check", 4);
pub(crate) const BODY_LEN: Field = Field::after(&DIRECTORY_CHECK, "body_len", 4);
pub(crate) const BODY_CHECK: Field = Field::after(&BODY_LEN, "body_check", 4);
pub(crate) const PAYLOAD_LEN: Field = Field::after(&BODY_CHECK, "payload_len", 4);
pub(crate) const RECORD_ZERO: Field = Field::after(&PAYLOAD_LEN, "zero", 4);
pub(crate) const CONTENT_AT: Field = Field::after(&RECORD_ZERO, "content_at", 8);
/// Every field of a record head, in file order.
#[cfg(test)]
pub(crate) const RECORD: [&Field; 14] = [
    &RECORD_MAGIC,
    &KIND,
    &CODEC,
    &KEY_LEN,
    &TOKEN_LEN,
    &RECORD_SPARE,
    &SLICES,
    &DIRECTORY_LEN,
    &DIRECTORY_CHECK,
    &BODY_LEN,
    &BODY_CHECK,
    &PAYLOAD_LEN,
    &RECORD_ZERO,
    &CONTENT_AT,
];
pub(crate) const HEAD_LEN: usize = 48;
/// [`HEAD_LEN`] as a length in the file.
pub(crate) const HEAD_LEN_WIDE: u64 = 48;

pub(crate) const SLICE_AT: Field = Field::first("at", 4);
pub(crate) const SLICE_LEN: Field = Field::after(&SLICE_AT, "len", 4);
pub(crate) const SLICE_CHECK: Field = Field::after(&SLICE_LEN, "check", 4);
pub(crate) const SLICE_NAME_LEN: Field = Field::after(&SLICE_CHECK, "name_len", 2);
pub(crate) const SLICE_FLAGS: Field = Field::after(&SLICE_NAME_LEN, "flags", 2);
#[cfg(test)]
pub(crate) const SLICE: [&Field; 5] =
    [&SLICE_AT, &SLICE_LEN, &SLICE_CHECK, &SLICE_NAME_LEN, &SLICE_FLAGS];
pub(crate) const SLICE_ENTRY_LEN: usize = 16;

const _: () = {
    assert!(HEADER_CHECK.end() == PAGE_LEN, "a header slot is one page");
    assert!(LEAF_SLOTS.end() == PAGE_LEN, "a leaf is one page");
    assert!(FANOUT * POINTER_LEN == PAGE_LEN, "a branch is one page");
    assert!(BRANCHES_MAX * FANOUT == 32_768, "LEAVES_MAX is what the tables reach");
    assert!(POINTER_ZERO.end() == POINTER_LEN, "a pointer is 16 bytes");
    assert!(SLOT_PLACE.end() == SLOT_LEN, "a slot is 16 bytes");
    assert!(CONTENT_AT.end() == HEAD_LEN, "a record head is 48 bytes");
    assert!(SLICE_FLAGS.end() == SLICE_ENTRY_LEN, "a directory entry is 16 bytes");
    assert!(SEQ.offset.is_multiple_of(8), "8-byte fields are 8-byte aligned");
    assert!(CONTENT_AT.offset.is_multiple_of(8), "8-byte fields are 8-byte aligned");
    assert!(BRANCHES.offset.is_multiple_of(16), "pointers are 16-byte aligned");
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows `| offset | size | `name` | … |` of the table under `heading`.
    fn documented(heading: &str) -> Vec<(usize, usize, String)> {
        let doc = include_str!("../docs/FORMAT.md");
        let section = doc.split(heading).nth(1).expect("heading exists");
        let table = section
            .lines()
            .skip_while(|line| !line.starts_with('|'))
            .take_while(|line| line.starts_with('|'));
        table
            .skip(2)
            .map(|line| {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                let name = cells[3].trim_matches('`').to_owned();
                (cells[1].parse().unwrap(), cells[2].parse().unwrap(), name)
            })
            .collect()
    }

    fn coded(fields: &[&Field]) -> Vec<(usize, usize, String)> {
        fields.iter().map(|field| (field.offset, field.size, field.name.to_owned())).collect()
    }

    #[test]
    fn every_table_of_the_document_is_the_layout_in_the_code() {
        assert_eq!(documented("### Header slot (4096 bytes)"), coded(&HEADER));
        assert_eq!(documented("### Pointer (16 bytes)"), coded(&POINTER));
        assert_eq!(documented("### Leaf page (4096 bytes)"), coded(&LEAF));
        assert_eq!(documented("### Slot (16 bytes)"), coded(&SLOT));
        assert_eq!(documented("### Record head (48 bytes)"), coded(&RECORD));
        assert_eq!(documented("### Directory entry (16 bytes)"), coded(&SLICE));
    }
}
