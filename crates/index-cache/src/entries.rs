//! Walking all entries, in no particular order.

use crate::entry::Entry;
use crate::error::Result;
use crate::layer::{Found, Layer};
use crate::pages;
use crate::record::Kind;
use crate::slot::Slot;
use std::sync::Arc;

/// The entries of a snapshot; made by [`Snapshot::entries`](crate::Snapshot::entries).
#[derive(Debug)]
pub struct Entries<'s> {
    layers: &'s [Arc<Layer>],
    /// The layer and leaf that come next.
    layer: usize,
    leaf: u32,
    slots: std::vec::IntoIter<Slot>,
}

impl<'s> Entries<'s> {
    pub(crate) fn new(layers: &'s [Arc<Layer>]) -> Self {
        Self { layers, layer: 0, leaf: 0, slots: Vec::new().into_iter() }
    }

    /// The entry of a slot, unless a layer above answers for its key.
    fn entry(&self, layer: &Arc<Layer>, slot: Slot) -> Result<Option<Entry>> {
        let record = layer.record(slot)?;
        let entry = Entry::new(Arc::clone(layer), record);
        if entry.record().head.kind == Kind::Removed {
            return Ok(None);
        }
        for above in &self.layers[..self.layer] {
            if !matches!(above.find(entry.key())?, Found::Nothing) {
                return Ok(None);
            }
        }
        Ok(Some(entry))
    }

    fn next_leaf(&mut self, layer: &Layer) -> Result<()> {
        let leaf = self.leaf;
        self.leaf += 1;
        self.slots = pages::slots(layer.leaf(leaf)?).collect::<Vec<_>>().into_iter();
        Ok(())
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(layer) = self.layers.get(self.layer) {
            if let Some(slot) = self.slots.next() {
                match self.entry(layer, slot).transpose() {
                    Some(entry) => return Some(entry),
                    None => continue,
                }
            }
            if self.leaf >= layer.header.leaves {
                (self.layer, self.leaf) = (self.layer + 1, 0);
            } else if let Err(error) = self.next_leaf(layer) {
                return Some(Err(error));
            }
        }
        None
    }
}
