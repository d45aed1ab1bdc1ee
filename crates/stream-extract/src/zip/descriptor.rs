//! Data descriptors: checksum and sizes that follow the bytes, in four shapes that nothing names.
//!
//! ```text
//! 12 bytes   crc packed  size                  (4 each)
//! 16 bytes   sig crc packed  size
//! 20 bytes   crc packed------ size------       (8-byte sizes)
//! 24 bytes   sig crc packed------ size------
//! ```
//!
//! The values are already known when a descriptor is read, because the bytes were counted. So a shape
//! is recognised by equality, shortest first, and by a record signature right behind it.
//! At most one shape can match. Two shapes with the same width of sizes differ by the leading
//! signature; both match only if checksum, compressed size and size all equal `PK\7\8`, and then the
//! bytes behind the shorter one are `PK\7\8` too, which is no record that may follow. Two shapes with
//! different widths both match only if the upper half of the 64-bit compressed size is a signature
//! or the lower half, that is, if more than 2^57 bytes were counted.

use super::layout::{CENTRAL, DESCRIPTOR, LOCAL, Signature};
use crate::entry::Done;
use crate::error::{Class, Error, Result};
use crate::input::Input;

/// Longest shape and the signature behind it.
const LEN_MAX: usize = 24 + 4;

/// Reads a descriptor that says exactly what was measured; returns the signature behind it.
pub(crate) fn read(input: &mut Input<'_>, done: &Done, packed: u64) -> Result<Signature> {
    let start = input.offset();
    let mut bytes = [0; LEN_MAX];
    input.read_exact(&mut bytes[..12])?;
    for end in [12, 16, 20, 24] {
        input.read_exact(&mut bytes[end..end + 4])?;
        let behind = [bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3]];
        if matches!(behind, LOCAL | CENTRAL) && describes(&bytes[..end], done, packed) {
            return Ok(behind);
        }
    }
    let crc32 = done.crc32.unwrap_or_default();
    let expected = format!("checksum {crc32:08x} and {packed} bytes for {}", done.size);
    let what = "the data descriptor does not describe the data";
    Err(Error::mismatch(Class::Corrupt, what, expected, bytes[..24].escape_ascii()).at(start))
}

/// True when `shape`, whose length tells which it is, holds the measured values.
fn describes(shape: &[u8], done: &Done, packed: u64) -> bool {
    let fields = match shape.len() {
        12 | 20 => shape,
        _ => match shape.strip_prefix(&DESCRIPTOR) {
            Some(fields) => fields,
            None => return false,
        },
    };
    let (crc32, sizes) = fields.split_at(4);
    let (first, second) = sizes.split_at(sizes.len() / 2);
    number(crc32) == u64::from(done.crc32.unwrap_or_default())
        && number(first) == packed
        && number(second) == done.size
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}
