//! The name of some bytes: plain BLAKE3-256 of the content, nothing mixed in.
//!
//! Why plain: an object must be checkable by a person with `b3sum`, by another tool, and against a
//! digest that a remote cache states. Whether a file is executable is therefore *beside* the digest
//! (a suffix of the object's name), never inside it.

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// The BLAKE3-256 digest of a file's content.
///
/// # Examples
///
/// ```
/// use cas_store::Digest;
///
/// let digest = Digest::of(b"hello\n");
/// let text = digest.to_string();
/// assert_eq!(text.len(), 64);
/// assert_eq!(text.parse(), Ok(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of no bytes at all: empty files are never shared, so no object has this name.
    pub const EMPTY: Self = Self([
        0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6, 0xa0, 0x40, 0x4d, 0xea, 0x36, 0xdc, 0xc9,
        0x49, 0x9b, 0xcb, 0x25, 0xc9, 0xad, 0xc1, 0x12, 0xb7, 0xcc, 0x9a, 0x93, 0xca, 0xe4, 0x1f,
        0x32, 0x62,
    ]);

    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Reads to the end and returns the digest and the number of bytes.
    ///
    /// # Errors
    ///
    /// Whatever `reader` fails with.
    pub fn of_reader(mut reader: impl Read) -> io::Result<(Self, u64)> {
        let mut hasher = Hasher::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut size = 0;
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok((hasher.finish(), size)),
                Ok(read) => {
                    hasher.update(&buffer[..read]);
                    size += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Wraps a digest that somebody else computed.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 lower-case hexadecimal digits, without an allocation.
    pub(crate) fn hex(&self) -> [u8; 64] {
        let mut text = [0; 64];
        for (pair, byte) in text.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        text
    }
}

/// 64 KiB: the smallest buffer at which BLAKE3 runs at full speed.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;

const HEX: &[u8; 16] = b"0123456789abcdef";

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hex().iter().try_for_each(|&digit| fmt::Write::write_char(f, char::from(digit)))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotADigest;

impl fmt::Display for NotADigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected 64 lower-case hexadecimal digits")
    }
}

impl std::error::Error for NotADigest {}

impl FromStr for Digest {
    type Err = NotADigest;

    /// One digest has one spelling: upper case is refused, so that names can be compared as text.
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let text: &[u8; 64] = text.as_bytes().try_into().map_err(|_| NotADigest)?;
        let (mut bytes, mut seen) = ([0; 32], 0);
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let (high, low) = (VALUES[usize::from(pair[0])], VALUES[usize::from(pair[1])]);
            *byte = high << 4 | low & 15;
            seen |= high | low;
        }
        if seen > 15 { Err(NotADigest) } else { Ok(Self(bytes)) }
    }
}

/// What each digit is worth; more than 15 for what is none. A branch per digit would be guessed wrong
/// half of the time, and a manifest has 64 digits a line.
const VALUES: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[HEX[value as usize] as usize] = value;
        value += 1;
    }
    values
};

/// Computes a [`Digest`] piece by piece, for bytes that are never in memory at once.
///
/// # Examples
///
/// ```
/// use cas_store::{Digest, Hasher};
///
/// let mut hasher = Hasher::new();
/// hasher.update(b"hel");
/// hasher.update(b"lo");
/// assert_eq!(hasher.finish(), Digest::of(b"hello"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything seen so far.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// Whether a file may be executed: the only permission that a store keeps.
///
/// The same bytes with and without it are two objects, because hard links share one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a yes or a no; there is no third answer")]
pub enum Executable {
    /// A plain file.
    No,
    /// A program, a script or a native library.
    Yes,
}

impl Executable {
    /// The other one.
    #[must_use]
    pub const fn flipped(self) -> Self {
        match self {
            Self::No => Self::Yes,
            Self::Yes => Self::No,
        }
    }
}

impl From<bool> for Executable {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

impl From<Executable> for bool {
    fn from(executable: Executable) -> Self {
        executable == Executable::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_digest_is_the_digest_of_nothing() {
        assert_eq!(Digest::EMPTY, Digest::of(b""));
        let (digest, size) = Digest::of_reader(io::empty()).unwrap();
        assert_eq!((digest, size), (Digest::EMPTY, 0));
    }

    #[test]
    fn a_digest_has_exactly_one_spelling() {
        let text = Digest::of(b"x").to_string();
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        for bad in ["", "00", &text.to_uppercase(), &format!("{text}0"), &text.replace('a', "g")] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }
}
