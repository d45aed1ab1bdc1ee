//! Leaf and branch pages: the copy-on-write hash index over the records.
//!
//! A key's hash picks a leaf by its high bits and a probe start inside the leaf by its low ones,
//! so both can be found again from the 32 bits that a slot keeps: leaves split without reading a
//! record. Inside a leaf, slots are an open-addressed table that is never full.
//!
//! Bytes in, answer out: this module does no I/O and knows no file offset.

use crate::header::Pointer;
use crate::layout as at;
use crate::layout::{FANOUT, PAGE_LEN, POINTER_LEN, SLOT_LEN, SLOTS};
use crate::slot::Slot;

/// A leaf or branch page.
pub(crate) type Page = [u8; PAGE_LEN];
/// A leaf without entries.
pub(crate) static EMPTY: Page = [0; PAGE_LEN];

/// Above this many slots a leaf asks for twice the leaves: linear probing stays at a few steps.
pub(crate) const LEAF_FULL: usize = SLOTS * 3 / 4;
/// The most slots a leaf takes when the index cannot grow any more; one stays empty to end probes.
pub(crate) const LEAF_MAX: usize = SLOTS - 1;

/// The leaf that `hash` belongs to among `leaves`, a power of two.
#[inline]
pub(crate) fn leaf_of(hash: u32, leaves: u32) -> u32 {
    let wide = (u64::from(hash) * u64::from(leaves)) >> 32;
    u32::try_from(wide).unwrap_or(0)
}

/// Where probing for `hash` starts: a fair mapping of its low 16 bits onto the slots.
#[inline]
fn probe_start(hash: u32) -> usize {
    let low = usize::try_from(hash & 0xffff).unwrap_or(0);
    (low * SLOTS) >> 16
}

/// The slots of `leaf` that hold `hash`, in probe order.
#[inline]
pub(crate) fn candidates(leaf: &Page, hash: u32) -> impl Iterator<Item = Slot> {
    let (slots, _) = at::LEAF_SLOTS.of(leaf).as_chunks::<SLOT_LEN>();
    let mut index = probe_start(hash);
    let mut left = slots.len();
    // A loop and not a chain of iterators: this is what a lookup does most.
    std::iter::from_fn(move || {
        while left > 0 {
            let slot = Slot::decode(slots.get(index)?)?;
            left -= 1;
            index = if index + 1 == slots.len() { 0 } else { index + 1 };
            if slot.hash == hash {
                return Some(slot);
            }
        }
        None
    })
}

/// All slots of `leaf`, in page order.
pub(crate) fn slots(leaf: &Page) -> impl Iterator<Item = Slot> {
    at::LEAF_SLOTS.of(leaf).chunks_exact(SLOT_LEN).filter_map(Slot::decode)
}

/// Lays `slots` out as a leaf page. There are at most [`LEAF_MAX`].
pub(crate) fn encode_leaf(slots: &[Slot]) -> Page {
    debug_assert!(slots.len() <= LEAF_MAX, "a leaf keeps one slot empty");
    let mut page = [0; PAGE_LEN];
    let count = u32::try_from(slots.len()).unwrap_or(u32::MAX);
    at::LEAF_COUNT.put(&mut page, &count.to_le_bytes());
    for slot in slots {
        place(at_slots(&mut page), *slot);
    }
    page
}

fn at_slots(page: &mut Page) -> &mut [u8] {
    &mut page[at::LEAF_SLOTS.offset..at::LEAF_SLOTS.end()]
}

fn place(table: &mut [u8], slot: Slot) {
    let start = probe_start(slot.hash);
    let free = (start..SLOTS)
        .chain(0..start)
        .map(|index| index * SLOT_LEN)
        .find(|from| Slot::decode(&table[*from..from + SLOT_LEN]).is_none());
    if let Some(from) = free {
        slot.encode(&mut table[from..from + SLOT_LEN]);
    }
}

/// The pointer to leaf `index` (of this branch) in a branch page.
pub(crate) fn child(branch: &Page, index: usize) -> Pointer {
    Pointer::decode(&branch[index * POINTER_LEN..(index + 1) * POINTER_LEN])
}

/// Lays pointers to leaves out as a branch page.
pub(crate) fn encode_branch(children: &[Pointer]) -> Page {
    debug_assert!(children.len() <= FANOUT, "a branch page holds {FANOUT} pointers");
    let mut page = [0; PAGE_LEN];
    for (child, bytes) in children.iter().zip(page.chunks_exact_mut(POINTER_LEN)) {
        child.encode(bytes);
    }
    page
}

/// Splits a leaf's slots between its two successors when the number of leaves doubles to `leaves`.
pub(crate) fn split(slots: Vec<Slot>, leaves: u32) -> (Vec<Slot>, Vec<Slot>) {
    slots.into_iter().partition(|slot| leaf_of(slot.hash, leaves).is_multiple_of(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slot::Place;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    fn slot(hash: u32) -> Slot {
        Slot {
            hash,
            check: !hash,
            place: Place::new(u64::from(hash % 1000) * 8 + 8192, 64, 64, false),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_leaf_finds_every_slot_and_no_other(hashes in btree_set(0_u32..100_000, 0..=LEAF_MAX)) {
            let page = encode_leaf(&hashes.iter().copied().map(slot).collect::<Vec<_>>());
            prop_assert_eq!(slots(&page).count(), hashes.len());
            for hash in 0..1000 {
                let found: Vec<_> = candidates(&page, hash).collect();
                prop_assert_eq!(found, hashes.get(&hash).copied().map(slot).into_iter().collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_split_sends_each_slot_to_its_own_leaf(hashes in btree_set(0_u32.., 0..100), power in 0_u32..14) {
            let leaves = 1 << power;
            let mine: Vec<_> = hashes.into_iter().map(slot).filter(|s| leaf_of(s.hash, leaves) == 0).collect();
            let (low, high) = split(mine, leaves * 2);
            prop_assert!(low.iter().all(|s| leaf_of(s.hash, leaves * 2) == 0));
            prop_assert!(high.iter().all(|s| leaf_of(s.hash, leaves * 2) == 1));
        }
    }
}
