//! Telling the system in one go what will be read next.
//!
//! On a cold page cache a lookup waits for three reads in a row: leaf, record, body. For a set of
//! keys they can all be asked for beforehand, sorted and merged, so that the device sees a few long
//! requests instead of many short ones. A slot knows its record's length, so asking for records
//! needs no record.

use crate::error::Result;
use crate::layer::{Layer, Reach};
use crate::layout::PAGE;
use crate::pages;
use crate::slot::Slot;
use std::sync::Arc;

/// Ranges with a gap up to this are asked for as one: reading over it is cheaper than another
/// request.
const GAP_MAX: u64 = 32 << 10;

/// How much of each entry will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// Token and directory, and what a lookup reads along with them: the last slice, if from its start to
    /// the entry's end there are at most 16 KiB, and if the token was stored with the content. Behind a
    /// touch, token and directory only.
    Front,
    /// Everything.
    Whole,
}

/// The outcome of [`Snapshot::prefetch`](crate::Snapshot::prefetch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prefetched {
    /// Keys that seem to be there, judged by 32 bits of hash.
    pub found: u64,
    /// Ranges asked for after merging, index pages included.
    pub ranges: u64,
    /// Bytes in those ranges.
    pub bytes: u64,
}

/// Asks for what `keys` need, layer by layer; a key found in one is not looked for in the next.
pub(crate) fn prefetch(
    layers: &[Arc<Layer>],
    keys: impl IntoIterator<Item = impl AsRef<str>>,
    extent: Extent,
) -> Result<Prefetched> {
    let mut done = Prefetched::default();
    let mut missing: Vec<_> = keys.into_iter().collect();
    for layer in layers {
        let hashes: Vec<u32> = missing.iter().map(|key| layer.hash(key.as_ref())).collect();
        ask(layer, leaves(layer, &hashes)?, &mut done);
        let mut slots = Vec::new();
        let mut left = Vec::new();
        for (key, hash) in missing.into_iter().zip(hashes) {
            match slots_of(layer, hash)? {
                found if found.is_empty() => left.push(key),
                found => slots.extend(found),
            }
        }
        done.found += crate::put::wide(slots.len());
        ask(layer, slots.iter().map(|slot| range(slot, extent)).collect(), &mut done);
        ask(layer, elsewhere(layer, &slots, extent), &mut done);
        missing = left;
    }
    Ok(done)
}

/// Sorts `keys` by layer and by the place of the first record that may be theirs.
pub(crate) fn sort(layers: &[Arc<Layer>], keys: &mut [impl AsRef<str>]) -> Result<()> {
    let mut outcome = Ok(());
    keys.sort_by_cached_key(|key| match place(layers, key.as_ref()) {
        Ok(place) => place,
        Err(error) => {
            outcome = Err(error);
            NOWHERE
        }
    });
    outcome
}

/// Number of the layer, offset in its file.
const NOWHERE: (usize, u64) = (usize::MAX, 0);

fn place(layers: &[Arc<Layer>], key: &str) -> Result<(usize, u64)> {
    for (index, layer) in layers.iter().enumerate() {
        if let Some(slot) = slots_of(layer, layer.hash(key))?.first() {
            return Ok((index, slot.place.offset()));
        }
    }
    Ok(NOWHERE)
}

type Range = (u64, u64);

/// The leaf pages that are not in memory yet.
fn leaves(layer: &Layer, hashes: &[u32]) -> Result<Vec<Range>> {
    let mut indexes: Vec<_> =
        hashes.iter().map(|hash| pages::leaf_of(*hash, layer.header.leaves)).collect();
    indexes.sort_unstable();
    indexes.dedup();
    let mut ranges = Vec::new();
    for index in indexes {
        if layer.leaf_is_loaded(index) {
            continue;
        }
        match layer.leaf_pointer(index) {
            Ok(pointer) if pointer.is_none() => {}
            Ok(pointer) => ranges.push((pointer.offset, pointer.offset.saturating_add(PAGE))),
            Err(error) if error.is_corrupt() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ranges)
}

/// Damage is the business of the lookup that follows.
fn slots_of(layer: &Layer, hash: u32) -> Result<Vec<Slot>> {
    match layer.leaf(pages::leaf_of(hash, layer.header.leaves)) {
        Ok(leaf) => Ok(pages::candidates(leaf, hash).collect()),
        Err(error) if error.is_corrupt() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn range(slot: &Slot, extent: Extent) -> Range {
    let range = match extent {
        Extent::Front => slot.place.front_range(),
        Extent::Whole => slot.place.whole(),
    };
    (range.start, range.end)
}

/// Content that lies with an older record: its place is in the record's head.
fn elsewhere(layer: &Layer, slots: &[Slot], extent: Extent) -> Vec<Range> {
    let content = |slot: &Slot| {
        let record = layer.record(*slot, Reach::Name).ok()?;
        let head = layer.head(&record);
        let (from, content) = (head.content_at(slot.place.offset()), head.content());
        let to = from.saturating_add(content.len());
        Some(match extent {
            Extent::Front => (to.saturating_sub(content.directory_len.into()), to),
            Extent::Whole => (from, to),
        })
    };
    slots.iter().filter(|slot| slot.place.is_elsewhere()).filter_map(content).collect()
}

fn ask(layer: &Layer, ranges: Vec<Range>, done: &mut Prefetched) {
    for (from, to) in merged(ranges) {
        let to = to.min(layer.header.end);
        if from < to {
            layer.medium().will_need(from, to - from);
            done.ranges += 1;
            done.bytes += to - from;
        }
    }
}

/// Sorted, without overlaps, small gaps closed.
fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
    for (from, to) in ranges {
        match merged.last_mut() {
            Some((_, end)) if from <= end.saturating_add(GAP_MAX) => *end = to.max(*end),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merged_ranges_cover_all_and_lie_apart(
            ranges in prop::collection::vec((0_u64..1 << 20, 1_u64..5000), 0..50),
        ) {
            let ranges: Vec<Range> = ranges.into_iter().map(|(from, len)| (from, from + len)).collect();
            let merged = merged(ranges.clone());
            for (from, to) in ranges {
                prop_assert!(merged.iter().any(|range| range.0 <= from && to <= range.1));
            }
            prop_assert!(merged.windows(2).all(|pair| pair[0].1 + GAP_MAX < pair[1].0));
        }
    }
}
