//! Gzip (RFC 1952): members of deflated bytes, each with a checksum that is verified.

use flate2::{Decompress, FlushDecompress, Status};

use super::source::Source;
use crate::error::{Class, Error, Result};
use crate::input::Input;

const HEADER_CHECK: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Longest name or comment that is skipped before the archive is refused.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Zero bytes tolerated behind the last member.
const TRAILING_ZEROS_MAX: u64 = 64 << 10;

pub(crate) struct Gunzip<'a, 'i> {
    input: &'a mut Input<'i>,
    inflate: &'a mut Decompress,
    crc32: crc32fast::Hasher,
    size: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    Inside,
    Ended,
}

impl<'a, 'i> Gunzip<'a, 'i> {
    pub(crate) fn new(input: &'a mut Input<'i>, inflate: &'a mut Decompress) -> Result<Self> {
        let crc32 = crc32fast::Hasher::new();
        let mut gunzip = Self { input, inflate, crc32, size: 0, state: State::Between };
        gunzip.start_member()?;
        Ok(gunzip)
    }

    fn start_member(&mut self) -> Result<()> {
        let start = self.input.offset();
        read_header(self.input).map_err(|error| error.at(start))?;
        self.inflate.reset(false);
        self.crc32.reset();
        self.size = 0;
        self.state = State::Inside;
        Ok(())
    }

    fn inflate_some(&mut self, out: &mut [u8]) -> Result<usize> {
        let at = self.input.offset();
        let bytes = self.input.peek()?;
        let available = bytes.len();
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(bytes, out, FlushDecompress::None)
            .map_err(|_| corrupt("the deflate stream is invalid").at(at))?;
        let consumed = count(self.inflate.total_in() - before_in, available);
        let produced = count(self.inflate.total_out() - before_out, out.len());
        self.input.consume(consumed);
        self.crc32.update(&out[..produced]);
        // The size field counts modulo 2^32.
        self.size = self.size.wrapping_add(u32::try_from(produced).unwrap_or(0));
        if status == Status::StreamEnd {
            self.end_member()?;
        } else if consumed == 0 && produced == 0 {
            return Err(self.input.truncated());
        }
        Ok(produced)
    }

    fn end_member(&mut self) -> Result<()> {
        let start = self.input.offset();
        let mut trailer = [0; 8];
        self.input.read_exact(&mut trailer)?;
        let [c0, c1, c2, c3, s0, s1, s2, s3] = trailer;
        let crc32 = self.crc32.clone().finalize();
        check("checksum of the gzip member", u32::from_le_bytes([c0, c1, c2, c3]), crc32)
            .and_then(|()| {
                check("size of the gzip member", u32::from_le_bytes([s0, s1, s2, s3]), self.size)
            })
            .map_err(|error| error.at(start))?;
        self.state = State::Between;
        Ok(())
    }

    /// Starts the next member or finds the end of the archive.
    fn advance(&mut self) -> Result<()> {
        if self.input.peek()?.first().is_some_and(|&byte| byte != 0) {
            return self.start_member();
        }
        self.input.drain_zeros(TRAILING_ZEROS_MAX)?;
        self.state = State::Ended;
        Ok(())
    }
}

impl Source for Gunzip<'_, '_> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            match self.state {
                State::Inside => filled += self.inflate_some(&mut out[filled..])?,
                State::Between => self.advance()?,
                State::Ended => break,
            }
        }
        Ok(filled)
    }

    fn offset(&self) -> u64 {
        self.input.offset()
    }
}

fn read_header(input: &mut Input<'_>) -> Result<()> {
    let mut fixed = [0; 10];
    input.read_exact(&mut fixed)?;
    let [0x1f, 0x8b, 8, flags, ..] = fixed else {
        return Err(corrupt("the archive is not gzip"));
    };
    if flags & RESERVED != 0 {
        return Err(corrupt("the gzip header has reserved flags"));
    }
    if flags & EXTRA != 0 {
        let mut length = [0; 2];
        input.read_exact(&mut length)?;
        skip(input, u16::from_le_bytes(length).into())?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            skip_text(input)?;
        }
    }
    if flags & HEADER_CHECK != 0 {
        skip(input, 2)?;
    }
    Ok(())
}

fn skip(input: &mut Input<'_>, mut left: usize) -> Result<()> {
    while left > 0 {
        let available = input.peek()?.len();
        if available == 0 {
            return Err(input.truncated());
        }
        let count = available.min(left);
        input.consume(count);
        left -= count;
    }
    Ok(())
}

fn skip_text(input: &mut Input<'_>) -> Result<()> {
    for _ in 0..TEXT_BYTES_MAX {
        let mut byte = [0];
        input.read_exact(&mut byte)?;
        if byte == [0] {
            return Ok(());
        }
    }
    Err(corrupt("a text in the gzip header does not end"))
}

fn check(what: &'static str, expected: u32, found: u32) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (format!("{expected:08x}"), format!("{found:08x}"));
    Err(Error::mismatch(Class::Corrupt, what, expected, found))
}

/// `value`, at most `max`; lossless because `max` bounds it.
fn count(value: u64, max: usize) -> usize {
    usize::try_from(value).map_or(max, |value| value.min(max))
}

#[cold]
fn corrupt(what: &'static str) -> Error {
    Error::new(Class::Corrupt, what)
}
