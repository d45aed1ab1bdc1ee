//! Where each field of each zip record lives: the only module that knows an offset.
//!
//! All values are little-endian; every record starts with its four-byte signature, which the callers
//! have consumed already, so offset 0 is the first byte *after* it. Sections are those of PKWARE's
//! APPNOTE.TXT 6.3.10.

/// One fixed-width field.
pub(crate) struct Field<const SIZE: usize> {
    offset: usize,
}

impl<const SIZE: usize> Field<SIZE> {
    const fn at(offset: usize) -> Self {
        Self { offset }
    }

    const fn end(&self) -> usize {
        self.offset + SIZE
    }

    const fn bytes(&self, record: &[u8]) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes.copy_from_slice(record.split_at(self.offset).1.split_at(SIZE).0);
        bytes
    }
}

impl Field<2> {
    pub(crate) const fn get(&self, record: &[u8]) -> u16 {
        u16::from_le_bytes(self.bytes(record))
    }
}

impl Field<4> {
    pub(crate) const fn get(&self, record: &[u8]) -> u32 {
        u32::from_le_bytes(self.bytes(record))
    }
}

impl Field<8> {
    pub(crate) const fn get(&self, record: &[u8]) -> u64 {
        u64::from_le_bytes(self.bytes(record))
    }
}

pub(crate) type Signature = [u8; 4];

pub(crate) const LOCAL: Signature = *b"PK\x03\x04";
pub(crate) const DESCRIPTOR: Signature = *b"PK\x07\x08";
pub(crate) const CENTRAL: Signature = *b"PK\x01\x02";
pub(crate) const END64: Signature = *b"PK\x06\x06";
pub(crate) const LOCATOR64: Signature = *b"PK\x06\x07";
pub(crate) const END: Signature = *b"PK\x05\x06";

/// "Look into the ZIP64 record."
pub(crate) const SENTINEL16: u16 = u16::MAX;
/// "Look into the ZIP64 record."
pub(crate) const SENTINEL32: u32 = u32::MAX;

/// Local file header, section 4.3.7.
pub(crate) mod local {
    use super::Field;
    pub(crate) const FLAGS: Field<2> = Field::at(2);
    pub(crate) const METHOD: Field<2> = Field::at(FLAGS.end());
    const TIME_AND_DATE: Field<4> = Field::at(METHOD.end());
    pub(crate) const CRC32: Field<4> = Field::at(TIME_AND_DATE.end());
    pub(crate) const PACKED: Field<4> = Field::at(CRC32.end());
    pub(crate) const SIZE: Field<4> = Field::at(PACKED.end());
    pub(crate) const NAME_LEN: Field<2> = Field::at(SIZE.end());
    pub(crate) const EXTRA_LEN: Field<2> = Field::at(NAME_LEN.end());
    pub(crate) const LEN: usize = 26;
    const _: () = assert!(EXTRA_LEN.end() == LEN, "30 bytes with the signature");
}

/// Central directory header, section 4.3.12.
pub(crate) mod central {
    use super::Field;
    pub(crate) const MADE_BY: Field<2> = Field::at(0);
    const NEEDS: Field<2> = Field::at(MADE_BY.end());
    pub(crate) const FLAGS: Field<2> = Field::at(NEEDS.end());
    pub(crate) const METHOD: Field<2> = Field::at(FLAGS.end());
    const TIME_AND_DATE: Field<4> = Field::at(METHOD.end());
    pub(crate) const CRC32: Field<4> = Field::at(TIME_AND_DATE.end());
    pub(crate) const PACKED: Field<4> = Field::at(CRC32.end());
    pub(crate) const SIZE: Field<4> = Field::at(PACKED.end());
    pub(crate) const NAME_LEN: Field<2> = Field::at(SIZE.end());
    pub(crate) const EXTRA_LEN: Field<2> = Field::at(NAME_LEN.end());
    pub(crate) const COMMENT_LEN: Field<2> = Field::at(EXTRA_LEN.end());
    pub(crate) const DISK: Field<2> = Field::at(COMMENT_LEN.end());
    const INTERNAL: Field<2> = Field::at(DISK.end());
    pub(crate) const EXTERNAL: Field<4> = Field::at(INTERNAL.end());
    pub(crate) const OFFSET: Field<4> = Field::at(EXTERNAL.end());
    pub(crate) const LEN: usize = 42;
    const _: () = assert!(OFFSET.end() == LEN, "46 bytes with the signature");
}

/// ZIP64 end of central directory record, section 4.3.14.
pub(crate) mod end64 {
    use super::Field;
    pub(crate) const REST: Field<8> = Field::at(0);
    const MADE_BY_AND_NEEDS: Field<4> = Field::at(REST.end());
    pub(crate) const DISK: Field<4> = Field::at(MADE_BY_AND_NEEDS.end());
    pub(crate) const CENTRAL_DISK: Field<4> = Field::at(DISK.end());
    pub(crate) const ENTRIES_HERE: Field<8> = Field::at(CENTRAL_DISK.end());
    pub(crate) const ENTRIES: Field<8> = Field::at(ENTRIES_HERE.end());
    pub(crate) const CENTRAL_LEN: Field<8> = Field::at(ENTRIES.end());
    pub(crate) const CENTRAL_OFFSET: Field<8> = Field::at(CENTRAL_LEN.end());
    pub(crate) const LEN: usize = 52;
    /// What `REST` says when there is no extensible data: the bytes after itself.
    pub(crate) const REST_LEN: u64 = 44;
    const _: () = assert!(CENTRAL_OFFSET.end() == LEN, "56 bytes with the signature");
}

/// ZIP64 end of central directory locator, section 4.3.15.
pub(crate) mod locator64 {
    use super::Field;
    pub(crate) const DISK: Field<4> = Field::at(0);
    pub(crate) const OFFSET: Field<8> = Field::at(DISK.end());
    pub(crate) const DISKS: Field<4> = Field::at(OFFSET.end());
    pub(crate) const LEN: usize = 16;
    const _: () = assert!(DISKS.end() == LEN, "20 bytes with the signature");
}

/// End of central directory record, section 4.3.16.
pub(crate) mod end {
    use super::Field;
    pub(crate) const DISK: Field<2> = Field::at(0);
    pub(crate) const CENTRAL_DISK: Field<2> = Field::at(DISK.end());
    pub(crate) const ENTRIES_HERE: Field<2> = Field::at(CENTRAL_DISK.end());
    pub(crate) const ENTRIES: Field<2> = Field::at(ENTRIES_HERE.end());
    pub(crate) const CENTRAL_LEN: Field<4> = Field::at(ENTRIES.end());
    pub(crate) const CENTRAL_OFFSET: Field<4> = Field::at(CENTRAL_LEN.end());
    pub(crate) const COMMENT_LEN: Field<2> = Field::at(CENTRAL_OFFSET.end());
    pub(crate) const LEN: usize = 18;
    const _: () = assert!(COMMENT_LEN.end() == LEN, "22 bytes with the signature");
}
