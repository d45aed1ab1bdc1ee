//! Walking all entries, in no particular order.

use crate::entry::Entry;
use crate::error::Result;
use crate::layer::{Found, Layer, Reach, Record};
use crate::record::Kind;
use crate::walk::{Leaves, Walk};
use std::sync::Arc;

/// The entries of a snapshot; made by [`Snapshot::entries`](crate::Snapshot::entries).
#[derive(Debug)]
pub struct Entries<'s> {
    layers: &'s [Arc<Layer>],
    /// The layer that is walked, and the walk.
    layer: usize,
    walk: Option<Walk<'s>>,
}

impl<'s> Entries<'s> {
    pub(crate) fn new(layers: &'s [Arc<Layer>]) -> Self {
        let walk = layers.first().map(|layer| Walk::new(layer, Leaves::Current));
        Self { layers, layer: 0, walk }
    }

    /// The entry of a record, unless it marks a removal or a layer above answers for its key.
    fn entry(&self, record: Record) -> Result<Option<Entry<'s>>> {
        let layer = &self.layers[self.layer];
        if layer.head(&record).kind() == Kind::Removed {
            return Ok(None);
        }
        let entry = Entry::new(layer, record);
        for above in &self.layers[..self.layer] {
            if !matches!(above.find(entry.key(), Reach::Name)?, Found::Nothing) {
                return Ok(None);
            }
        }
        Ok(Some(entry))
    }
}

impl<'s> Iterator for Entries<'s> {
    type Item = Result<Entry<'s>>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(walk) = &mut self.walk {
            match walk.next() {
                Some(record) => match record.and_then(|(_, record)| self.entry(record)).transpose()
                {
                    Some(item) => return Some(item),
                    None => continue,
                },
                None => self.layer += 1,
            }
            self.walk = self.layers.get(self.layer).map(|layer| Walk::new(layer, Leaves::Current));
        }
        None
    }
}
