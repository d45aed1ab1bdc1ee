//! Walking a file's index: each record that a lookup could find, once, and no more bytes than the
//! file has.
//!
//! A lookup meets only slots in the leaf of their own hash, and believes only a record whose key is
//! the one it was asked for. A walk has no key to compare, so it asks the same of every slot by
//! hashing the key that it finds. Without that, a few pages of a hostile file that name one another's
//! records would look like millions of entries, and copying them would fill the disk.
//!
//! In a file of ours, records share no byte: touched entries point back into records that nothing
//! else names. So the sizes of all records together are bounded by the file; what goes beyond is
//! passed over.

use crate::error::{Error, Result};
use crate::layer::{Layer, Reach, Record};
use crate::pages;
use crate::slot::Slot;

/// All records of one file.
#[derive(Debug)]
pub(crate) struct Walk<'l> {
    layer: &'l Layer,
    leaves: Leaves,
    next_leaf: u32,
    slots: std::vec::IntoIter<Slot>,
    /// Bytes that the fronts and the contents of the records still to come may have.
    fronts_left: u64,
    contents_left: u64,
}

/// What to do about a damaged leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// It is an item of the walk.
    Current,
    /// The last durable snapshot's is walked in its place.
    OrOlder,
}

impl<'l> Walk<'l> {
    pub(crate) fn new(layer: &'l Layer, leaves: Leaves) -> Self {
        // Lengths in slots are rounded up.
        let left = layer.header.end.saturating_mul(2);
        let slots = Vec::new().into_iter();
        Self { layer, leaves, next_leaf: 0, slots, fronts_left: left, contents_left: left }
    }

    fn load(&mut self, leaf: u32) -> Result<()> {
        let mut slots: Vec<Slot> = match self.leaves {
            Leaves::Current => pages::slots(self.layer.leaf(leaf)?).collect(),
            Leaves::OrOlder => self.layer.leaf_or_older(leaf)?,
        };
        // In the order of the file, for the disk's sake.
        slots.sort_unstable_by_key(|slot| slot.place.offset());
        slots.dedup_by_key(|slot| slot.place.offset());
        self.slots = slots.into_iter();
        Ok(())
    }

    fn record(&mut self, slot: Slot, leaf: u32) -> Result<Record> {
        if pages::leaf_of(slot.hash, self.layer.header.leaves) != leaf {
            let at = self.layer.leaf_pointer(leaf).map_or(0, |pointer| pointer.offset);
            return Err(Error::corrupt(&self.layer.path, at, "leaf page"));
        }
        if !spend(&mut self.fronts_left, slot.place.front()) {
            self.end();
            return Err(self.corrupt(slot));
        }
        let record = self.layer.record(slot, Reach::Name)?;
        if !self.is_found_by_its_key(&record, slot.hash)
            || !spend(&mut self.contents_left, self.layer.head(&record).content().len())
        {
            return Err(self.corrupt(slot));
        }
        Ok(record)
    }

    fn end(&mut self) {
        self.next_leaf = self.layer.header.leaves;
        self.slots = Vec::new().into_iter();
    }

    fn is_found_by_its_key(&self, record: &Record, hash: u32) -> bool {
        let key = str::from_utf8(self.layer.key_bytes(record));
        key.is_ok_and(|key| self.layer.hash(key) == hash)
    }

    fn corrupt(&self, slot: Slot) -> Error {
        Error::corrupt(&self.layer.path, slot.place.offset(), "record head")
    }
}

/// Takes `bytes` off what is left; false when there are not as many.
fn spend(left: &mut u64, bytes: u64) -> bool {
    let rest = left.checked_sub(bytes);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

impl Iterator for Walk<'_> {
    /// Damage is an item; the walk goes on behind it.
    type Item = Result<(Slot, Record)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(slot) = self.slots.next() {
                let record = self.record(slot, self.next_leaf.saturating_sub(1));
                return Some(record.map(|record| (slot, record)));
            }
            if self.next_leaf >= self.layer.header.leaves {
                return None;
            }
            let leaf = self.next_leaf;
            self.next_leaf += 1;
            if let Err(error) = self.load(leaf) {
                return Some(Err(error));
            }
        }
    }
}
