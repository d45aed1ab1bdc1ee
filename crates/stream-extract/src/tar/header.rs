//! One 512-byte header: checked before a field of it is believed.

use std::borrow::Cow;

use tar::EntryType;

use crate::error::{Class, Error, Result};

pub(crate) const BLOCK_BYTES: usize = 512;

/// A header whose checksum is right.
pub(crate) struct Header<'a> {
    inner: &'a tar::Header,
    pub(crate) size: u64,
}

const CHECKSUM: std::ops::Range<usize> = 148..156;
const SIZE: std::ops::Range<usize> = 124..136;

pub(crate) fn parse(block: &[u8; BLOCK_BYTES]) -> Result<Header<'_>> {
    let inner = tar::Header::from_byte_slice(block);
    let expected = inner.cksum().map_err(|_| corrupt("the header has no checksum"))?;
    let found = checksum(block);
    if expected != found {
        return Err(Error::mismatch(Class::Corrupt, "checksum of the header", expected, found));
    }
    Ok(Header { inner, size: number(&block[SIZE])? })
}

/// The sum of all bytes, with spaces where the sum itself is stored.
fn checksum(block: &[u8; BLOCK_BYTES]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u32::from(byte)).sum::<u32>();
    let spaces = u32::from(b' ') * 8;
    sum(&block[..CHECKSUM.start]) + spaces + sum(&block[CHECKSUM.end..])
}

/// An octal number, or a binary one that must not be negative (GNU).
fn number(field: &[u8]) -> Result<u64> {
    let (high, low) = field.split_at(field.len() - 8);
    match high {
        [0x80, rest @ ..] if rest.iter().all(|&byte| byte == 0) => {
            Ok(low.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        }
        [first, ..] if first & 0x80 != 0 => Err(corrupt("the size is negative or too large")),
        _ => octal(field),
    }
}

fn octal(field: &[u8]) -> Result<u64> {
    let text = field.split(|&byte| byte == 0).next().unwrap_or_default().trim_ascii();
    text.iter().try_fold(0, |value: u64, &digit| match digit {
        b'0'..=b'7' => Ok(value << 3 | u64::from(digit - b'0')),
        _ => Err(corrupt("the size is not a number")),
    })
}

impl Header<'_> {
    pub(crate) fn kind(&self) -> EntryType {
        self.inner.entry_type()
    }

    pub(crate) fn path(&self) -> Cow<'_, [u8]> {
        self.inner.path_bytes()
    }

    /// The text of a link, empty when there is none.
    pub(crate) fn link(&self) -> Cow<'_, [u8]> {
        self.inner.link_name_bytes().unwrap_or_default()
    }

    /// Whether anybody may execute the file; an unreadable mode grants nothing.
    pub(crate) fn executable(&self) -> bool {
        self.inner.mode().is_ok_and(|mode| mode & 0o111 != 0)
    }
}

#[cold]
fn corrupt(what: &'static str) -> Error {
    Error::new(Class::Corrupt, what)
}
