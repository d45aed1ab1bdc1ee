//! A modification time made from digest and size: one `stat` then tells an untouched object from an
//! edited or a torn one.
//!
//! Objects are hard links, so an editor that writes in place changes every environment and the store
//! at once. Hashing each object before each use would find that and cost more than copying. But
//! ordinary writes also set the modification time. When the time of an object is a function of its
//! digest and its size, "size and time still match the name" is a check without reading, without a
//! database, without the caller knowing the size, and without trusting the clock. The size is in it
//! because of power losses: a journal may keep the time and lose the bytes.
//!
//! ```text
//! digest    d0 d1 d2 d3 d4 d5 d6 d7 ... d31
//!           '---------' '---------'
//! size x K  high 32 bit  low 32 bit           K = 0x9e3779b97f4a7c15 (2^64 / golden ratio)
//!               |            |                the two numbers of a column are added
//! seconds   EARLIEST + (sum mod RANGE)        1990-01-01 .. 2006-12-31, UTC
//! 100 ns                 sum mod 10,000,000   a unit that NTFS can hold
//! ```
//!
//! Why those years: zip files cannot say 1979 (tools refuse to repack such trees), and a time in the
//! future makes build tools rebuild for ever. Why not one constant for all: caches keyed by time and
//! size (`.pyc` files) must see that a file changed.
//!
//! What it is not: a proof. A writer that puts size and time back (`touch -r`) is found only by
//! [`Protection::Verify`](crate::Protection::Verify) or [`Store::verify`](crate::Store::verify).

use crate::digest::Digest;

/// Seconds and nanoseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// 1990-01-01T00:00:00Z.
const EARLIEST_S: i64 = 631_152_000;
/// 2007-01-01T00:00:00Z, the first second that no fingerprint has.
const END_S: i64 = 1_167_609_600;
const RANGE_S: u32 = 536_457_600;
const UNIT_NS: u32 = 100;
const UNITS_PER_S: u32 = 1_000_000_000 / UNIT_NS;

const _: () =
    assert!(END_S - EARLIEST_S == RANGE_S as i64, "the range is the years of the document");

/// Spreads neighbouring sizes over all 64 bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The modification time that an object named `digest` of `size` bytes has.
pub(crate) fn of(digest: &Digest, size: u64) -> Instant {
    let (mixed, digest) = (size.wrapping_mul(SPREAD).to_le_bytes(), digest.as_bytes());
    let number = |bytes: &[u8], at: usize| {
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let seconds = number(digest, 0).wrapping_add(number(&mixed, 4)) % RANGE_S;
    let units = number(digest, 4).wrapping_add(number(&mixed, 0)) % UNITS_PER_S;
    Instant { seconds: EARLIEST_S + i64::from(seconds), nanoseconds: units * UNIT_NS }
}

/// True when `seen` is what a file system that counts in units of `unit_ns` made of the time of
/// `digest` and `size`.
pub(crate) fn matches(digest: &Digest, size: u64, seen: Instant, unit_ns: u32) -> bool {
    let wanted = of(digest, size);
    let unit_ns = unit_ns.max(1);
    wanted.seconds == seen.seconds && wanted.nanoseconds / unit_ns == seen.nanoseconds / unit_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_fingerprint_lies_in_its_years_and_survives_coarse_clocks(bytes: [u8; 32], size: u64) {
            let digest = Digest::from_bytes(bytes);
            let time = of(&digest, size);
            prop_assert!((EARLIEST_S..END_S).contains(&time.seconds));
            prop_assert_eq!(time.nanoseconds % 100, 0);
            let whole = Instant { nanoseconds: 0, ..time };
            prop_assert!(matches(&digest, size, time, 1));
            prop_assert!(matches(&digest, size, whole, 1_000_000_000));
            prop_assert_eq!(matches(&digest, size, whole, 1), time.nanoseconds == 0);
        }

        #[test]
        fn another_second_never_matches(bytes: [u8; 32], size: u64, later in 1_i64..1_000_000_000) {
            let digest = Digest::from_bytes(bytes);
            let time = of(&digest, size);
            let moved = Instant { seconds: time.seconds + later, ..time };
            prop_assert!(!matches(&digest, size, moved, 1_000_000_000));
        }

        #[test]
        fn a_torn_file_does_not_match(bytes: [u8; 32], size in 1_u64..1 << 40, lost in 1_u64..1 << 40) {
            let digest = Digest::from_bytes(bytes);
            let torn = size.saturating_sub(lost);
            prop_assert!(!matches(&digest, torn, of(&digest, size), 1));
        }
    }
}
