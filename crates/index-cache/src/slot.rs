//! A leaf's slot: sixteen bytes that find one record, prove it and say how long it is.
//!
//! Index files of this kind usually keep `(tag, offset)` in eight bytes. Twice that buys four
//! things: a miss is decided without touching a record (32 bits of hash), growth needs no record
//! either, the record's head, key and token are proved by a checksum that lies *outside* it (so a
//! stale record left by an aborted commit at the same place is never believed), and a cold reader can
//! ask for exactly the bytes it needs, because the slot knows the length of the front and of the whole.
//!
//! ```text
//! place   63      56  55        54      40 39              0
//!        | span code | elsewhere | front   | head offset / 8 |
//! ```
//!
//! The lengths are hints: nothing is believed because of them.

use crate::layout as at;
use crate::layout::{ALIGN, HEAD_LEN_WIDE};
use std::ops::Range;

const OFFSET_BITS: u32 = 40;
const FRONT_BITS: u32 = 15;
const FRONT_MAX: u64 = (1 << FRONT_BITS) - 1;
/// `front` counts in this many bytes.
const FRONT_UNIT: u64 = 16;
const ELSEWHERE: u64 = 1 << 55;
const SPAN_SHIFT: u32 = 56;
/// `span` counts in this many bytes.
const SPAN_UNIT: u64 = 64;
/// Bytes from a head on that are read at once: hardly any key and token have more.
const NAMED_GUESS: u64 = 256;
/// First byte past what a slot can address: 8 TiB.
pub(crate) const OFFSET_END: u64 = (1 << OFFSET_BITS) * ALIGN;

/// One decoded slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Upper half of the key's hash: leaf number in its high bits, probe start in its low ones.
    pub(crate) hash: u32,
    /// CRC-32C of the record's head, key and token.
    pub(crate) check: u32,
    pub(crate) place: Place,
}

/// Where the record is and how much of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    /// Packs a place; lengths are rounded up, and a front over 512 KiB is capped.
    pub(crate) fn new(offset: u64, front: u64, span: u64, elsewhere: bool) -> Self {
        debug_assert!(offset < OFFSET_END && offset.is_multiple_of(ALIGN), "records are aligned");
        let front = front.div_ceil(FRONT_UNIT).min(FRONT_MAX);
        let flag = if elsewhere { ELSEWHERE } else { 0 };
        let code = u64::from(span_code(span));
        Self((code << SPAN_SHIFT) | flag | (front << OFFSET_BITS) | (offset / ALIGN))
    }

    /// The first byte of the record's head; its content, if it has its own, lies before it.
    #[inline]
    pub(crate) fn offset(self) -> u64 {
        (self.0 & ((1 << OFFSET_BITS) - 1)) * ALIGN
    }

    /// Upper bound of head, key, token, directory and last slice together: see
    /// [`record::Encoded`](crate::record::Encoded).
    #[inline]
    pub(crate) fn front(self) -> u64 {
        ((self.0 >> OFFSET_BITS) & FRONT_MAX) * FRONT_UNIT
    }

    /// Upper bound, at most one eighth too high, of the record with its content: of head, key and
    /// token behind `offset`, and of the content before it.
    #[inline]
    pub(crate) fn span(self) -> u64 {
        let code = self.0 >> SPAN_SHIFT;
        // The largest code gives 15 << 31 units, far below the width of a u64.
        ((8 + code % 8) << (code / 8)) * SPAN_UNIT / 8
    }

    /// Where head, key and token are, unless they are uncommonly long.
    #[inline]
    pub(crate) fn named(self) -> Range<u64> {
        let len = self.front().clamp(HEAD_LEN_WIDE, NAMED_GUESS);
        self.offset()..self.offset() + len
    }

    /// The same with the directory and the last slice.
    #[inline]
    pub(crate) fn front_range(self) -> Range<u64> {
        let named = self.named();
        let before = self.front().saturating_sub(HEAD_LEN_WIDE);
        named.start.saturating_sub(if self.is_elsewhere() { 0 } else { before })..named.end
    }

    /// All of the record.
    #[inline]
    pub(crate) fn whole(self) -> Range<u64> {
        let named = self.named();
        let before =
            if self.is_elsewhere() { 0 } else { self.span().saturating_sub(HEAD_LEN_WIDE) };
        named.start.saturating_sub(before)..named.end
    }

    /// The content lies with an older record: there is nothing of this one before its head.
    #[inline]
    pub(crate) fn is_elsewhere(self) -> bool {
        self.0 & ELSEWHERE != 0
    }
}

/// The smallest code whose span holds `len` bytes: three bits of mantissa, five of exponent.
fn span_code(len: u64) -> u8 {
    (0..=u8::MAX)
        .find(|code| Place(u64::from(*code) << SPAN_SHIFT).span() >= len)
        .unwrap_or(u8::MAX)
}

impl Slot {
    /// Decodes a slot; none when it is empty.
    #[inline]
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let place = Place(at::SLOT_PLACE.u64(bytes));
        (place.0 != 0).then(|| Self {
            hash: at::SLOT_HASH.u32(bytes),
            check: at::SLOT_CHECK.u32(bytes),
            place,
        })
    }

    pub(crate) fn encode(self, bytes: &mut [u8]) {
        at::SLOT_HASH.put(bytes, &self.hash.to_le_bytes());
        at::SLOT_CHECK.put(bytes, &self.check.to_le_bytes());
        at::SLOT_PLACE.put(bytes, &self.place.0.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_place_gives_back_its_offset_and_bounds_its_lengths(
            offset in 0..OFFSET_END / ALIGN, front in 0_u64..500_000, span in 1_u64..1 << 33,
            elsewhere: bool,
        ) {
            let place = Place::new(offset * ALIGN, front, span, elsewhere);
            prop_assert_eq!(place.offset(), offset * ALIGN);
            prop_assert_eq!(place.is_elsewhere(), elsewhere);
            prop_assert!(place.front() >= front && place.front() < front + FRONT_UNIT);
            prop_assert!(place.span() >= span && place.span() <= span + span / 8 + SPAN_UNIT);
        }
    }
}
