//! Finds where the central directory of a seekable archive starts.
//!
//! The answer is only a hint: the directory is then read from there to the last byte, and every record
//! on the way is checked against what was read, so a lie here becomes an error there.

use std::io::{Read, Seek, SeekFrom};

use super::layout::{END, END64, LOCATOR64, SENTINEL32, end, end64, locator64};
use crate::error::{Class, Error, Result};

/// An end record, the longest comment, and the zeros that may follow.
const TAIL_MAX: u64 = 22 + u16::MAX as u64 + (64 << 10);

pub(crate) fn central_start<R: Read + Seek>(reader: &mut R, buffer: &mut [u8]) -> Result<u64> {
    let len = reader.seek(SeekFrom::End(0)).map_err(Error::read)?;
    let end_start = find_end(reader, len, buffer)?;
    let record: [u8; end::LEN] = read_at(reader, end_start + 4)?;
    let start = end::CENTRAL_OFFSET.get(&record);
    if start != SENTINEL32 {
        return Ok(start.into());
    }
    Ok(wide_start(reader, end_start)?.unwrap_or(start.into()))
}

/// The last end record: a comment may not contain another, and behind it there are only zeros.
fn find_end<R: Read + Seek>(reader: &mut R, len: u64, buffer: &mut [u8]) -> Result<u64> {
    let floor = len.saturating_sub(TAIL_MAX);
    let mut end = len;
    while end > floor {
        let start = end.saturating_sub(buffer.len() as u64).max(floor);
        let window = &mut buffer[..usize::try_from(end - start).unwrap_or(0)];
        reader.seek(SeekFrom::Start(start)).map_err(Error::read)?;
        reader.read_exact(window).map_err(Error::read)?;
        if let Some(at) = window.windows(4).rposition(|bytes| bytes == END) {
            let found = start + at as u64;
            return if found + 22 <= len { Ok(found) } else { Err(truncated(len)) };
        }
        // The next window overlaps by three bytes, so that no signature is cut.
        end = if start == floor { floor } else { start + 3 };
    }
    Err(truncated(len))
}

fn wide_start<R: Read + Seek>(reader: &mut R, end_start: u64) -> Result<Option<u64>> {
    let Some(at) = end_start.checked_sub(4 + locator64::LEN as u64) else { return Ok(None) };
    let signature: [u8; 4] = read_at(reader, at)?;
    let locator: [u8; locator64::LEN] = read_at(reader, at + 4)?;
    let offset = locator64::OFFSET.get(&locator);
    if signature != LOCATOR64 || offset > at.saturating_sub(4 + end64::LEN as u64) {
        return Ok(None);
    }
    let signature: [u8; 4] = read_at(reader, offset)?;
    let record: [u8; end64::LEN] = read_at(reader, offset + 4)?;
    Ok((signature == END64).then(|| end64::CENTRAL_OFFSET.get(&record)))
}

fn read_at<R: Read + Seek, const N: usize>(reader: &mut R, offset: u64) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.seek(SeekFrom::Start(offset)).map_err(Error::read)?;
    reader.read_exact(&mut bytes).map_err(|error| Error::read(error).at(offset))?;
    Ok(bytes)
}

#[cold]
fn truncated(len: u64) -> Error {
    Error::new(Class::Truncated, "there is no end of central directory record").at(len)
}
