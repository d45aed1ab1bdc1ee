//! The records behind the central directory, which must say what was counted.

use super::layout::{END, END64, LOCATOR64, Signature, end, end64, locator64};
use super::layout::{SENTINEL16, SENTINEL32};
use crate::error::{Class, Error, Result};
use crate::input::Input;

/// Zero bytes tolerated behind the archive: some upload tools pad to a block.
const TRAILING_ZEROS_MAX: u64 = 64 << 10;

/// The central directory as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    pub(crate) entries: u64,
    pub(crate) start: u64,
    pub(crate) len: u64,
}

/// Reads from behind `signature` to the end of the archive; returns the number of trailing zeros.
pub(crate) fn read(
    input: &mut Input<'_>,
    signature: Signature,
    measured: Measured,
    comment: &mut Vec<u8>,
) -> Result<u64> {
    let mut signature = signature;
    let wide = signature == END64;
    if wide {
        read_wide(input, measured)?;
        signature = read_signature(input)?;
    }
    if signature != END {
        return Err(unexpected(signature, input.offset()));
    }
    read_narrow(input, measured, wide, comment)?;
    input.drain_zeros(TRAILING_ZEROS_MAX)
}

pub(crate) fn read_signature(input: &mut Input<'_>) -> Result<Signature> {
    let mut signature = [0; 4];
    input.read_exact(&mut signature)?;
    Ok(signature)
}

/// An error about a record that may not be here; `offset` is behind its signature.
#[cold]
pub(crate) fn unexpected(signature: Signature, offset: u64) -> Error {
    let start = offset - 4;
    let error = match signature {
        [b'P', b'K', 7, 8] if start == 0 => {
            Error::new(Class::Unsupported, "the archive has several parts")
        }
        [b'P', b'K', 6, 8] => Error::new(Class::Unsupported, "the directory is encrypted"),
        [b'P', b'K', 5, 5] => Error::new(Class::Unsupported, "the directory is signed"),
        _ if start == 0 => {
            Error::new(Class::Corrupt, "the archive does not start with a zip record")
        }
        other => {
            let found = format!("`{}`", other.escape_ascii());
            Error::mismatch(Class::Corrupt, "zip record", "the next one without a gap", found)
        }
    };
    error.at(start)
}

fn read_wide(input: &mut Input<'_>, measured: Measured) -> Result<()> {
    let record_start = input.offset() - 4;
    let mut record = [0; end64::LEN];
    input.read_exact(&mut record)?;
    check_wide(&record, measured).map_err(|error| error.at(record_start))?;
    let signature = read_signature(input)?;
    if signature != LOCATOR64 {
        return Err(unexpected(signature, input.offset()));
    }
    let locator_start = input.offset() - 4;
    let mut locator = [0; locator64::LEN];
    input.read_exact(&mut locator)?;
    check_locator(&locator, record_start).map_err(|error| error.at(locator_start))
}

fn check_wide(record: &[u8; end64::LEN], measured: Measured) -> Result<()> {
    equal("length of the ZIP64 end record", end64::REST_LEN, end64::REST.get(record))?;
    equal("disk", 0, end64::DISK.get(record).into())?;
    equal("disk", 0, end64::CENTRAL_DISK.get(record).into())?;
    equal("number of entries", measured.entries, end64::ENTRIES_HERE.get(record))?;
    equal("number of entries", measured.entries, end64::ENTRIES.get(record))?;
    equal("length of the directory", measured.len, end64::CENTRAL_LEN.get(record))?;
    equal("offset of the directory", measured.start, end64::CENTRAL_OFFSET.get(record))
}

fn check_locator(locator: &[u8; locator64::LEN], record_start: u64) -> Result<()> {
    equal("disk", 0, locator64::DISK.get(locator).into())?;
    equal("number of disks", 1, locator64::DISKS.get(locator).into())?;
    equal("offset of the ZIP64 end record", record_start, locator64::OFFSET.get(locator))
}

fn read_narrow(
    input: &mut Input<'_>,
    measured: Measured,
    wide: bool,
    comment: &mut Vec<u8>,
) -> Result<()> {
    let start = input.offset() - 4;
    let mut record = [0; end::LEN];
    input.read_exact(&mut record)?;
    check_narrow(&record, measured, wide).map_err(|error| error.at(start))?;
    let comment_start = input.offset();
    input.read_into(comment, end::COMMENT_LEN.get(&record).into())?;
    check_comment(comment).map_err(|error| error.at(comment_start))
}

fn check_narrow(record: &[u8; end::LEN], measured: Measured, wide: bool) -> Result<()> {
    equal("disk", 0, end::DISK.get(record).into())?;
    equal("disk", 0, end::CENTRAL_DISK.get(record).into())?;
    for field in [end::ENTRIES_HERE, end::ENTRIES] {
        let found = field.get(record);
        if !(wide && found == SENTINEL16) {
            equal("number of entries", measured.entries, found.into())?;
        }
    }
    let lengths = [
        ("length of the directory", measured.len, end::CENTRAL_LEN),
        ("offset of the directory", measured.start, end::CENTRAL_OFFSET),
    ];
    for (what, expected, field) in lengths {
        let found = field.get(record);
        if !(wide && found == SENTINEL32) {
            equal(what, expected, found.into())?;
        }
    }
    Ok(())
}

/// A comment that holds a record's signature makes readers that search from the end see another
/// archive than those that read from the start.
fn check_comment(comment: &[u8]) -> Result<()> {
    let forged = comment.windows(3).any(|w| matches!(w, [b'P', b'K', 1..=8]));
    if forged {
        return Err(Error::new(Class::Corrupt, "the comment contains a zip record"));
    }
    Ok(())
}

fn equal(what: &'static str, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::mismatch(Class::Corrupt, what, expected, found))
}
