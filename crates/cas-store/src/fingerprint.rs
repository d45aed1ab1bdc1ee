//! A modification time made from the digest: one `stat` then tells an untouched object from an edited
//! one.
//!
//! Objects are hard links, so an editor that writes in place changes every environment and the store
//! at once. Hashing each object before each use would find that and cost more than copying. But
//! ordinary writes also set the modification time. When the time of an object is a function of its
//! digest, "size and time still match the name" is a check without reading, without a database, and
//! without trusting the clock.
//!
//! ```text
//! digest    d0 d1 d2 d3 d4 d5 d6 d7 ... d31
//!           '---------' '---------'
//! seconds   EARLIEST + (u32 mod RANGE)        1990-01-01 .. 2006-12-31, UTC
//! 100 ns                 u32 mod 10,000,000   a unit that NTFS can hold
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

/// The modification time that an object named `digest` has.
pub(crate) fn of(digest: &Digest) -> Instant {
    let number = |at: usize| {
        let bytes = digest.as_bytes();
        u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let (seconds, units) = (number(0) % RANGE_S, number(4) % UNITS_PER_S);
    Instant { seconds: EARLIEST_S + i64::from(seconds), nanoseconds: units * UNIT_NS }
}

/// True when `seen` is what a file system that counts in units of `unit_ns` made of `digest`'s time.
pub(crate) fn matches(digest: &Digest, seen: Instant, unit_ns: u32) -> bool {
    let wanted = of(digest);
    let unit_ns = unit_ns.max(1);
    wanted.seconds == seen.seconds && wanted.nanoseconds / unit_ns == seen.nanoseconds / unit_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_fingerprint_lies_in_its_years_and_survives_coarse_clocks(bytes: [u8; 32]) {
            let digest = Digest::from_bytes(bytes);
            let time = of(&digest);
            prop_assert!((EARLIEST_S..END_S).contains(&time.seconds));
            prop_assert_eq!(time.nanoseconds % 100, 0);
            let whole = Instant { nanoseconds: 0, ..time };
            prop_assert!(matches(&digest, time, 1));
            prop_assert!(matches(&digest, whole, 1_000_000_000));
            prop_assert_eq!(matches(&digest, whole, 1), time.nanoseconds == 0);
        }

        #[test]
        fn another_second_never_matches(bytes: [u8; 32], later in 1_i64..1_000_000_000) {
            let digest = Digest::from_bytes(bytes);
            let time = of(&digest);
            let moved = Instant { seconds: time.seconds + later, ..time };
            prop_assert!(!matches(&digest, moved, 1_000_000_000));
        }
    }
}
