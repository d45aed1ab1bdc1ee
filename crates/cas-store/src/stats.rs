//! How much a store holds, counting each inode once.

use std::collections::HashSet;

use crate::digest::Executable;
use crate::error::Result;
use crate::layout::{self, ObjectName};
use crate::store::Store;
use crate::sys::Seen;

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StoreStats {
    /// Objects, both variants counted.
    pub objects: u64,
    /// How many of them are executable.
    pub executables: u64,
    /// Their length, in bytes.
    pub bytes: u64,
    /// What they take on the medium, each inode once, in bytes.
    pub disk_bytes: u64,
    /// Objects that nothing but the store links to.
    pub unlinked: u64,
    /// Bytes that links beyond an object's first use do not take.
    pub shared_bytes: u64,
    /// The most links that one object has, the store's own included.
    pub most_links: u64,
    /// Manifests.
    pub trees: u64,
    /// Bad objects kept for people to look at.
    pub quarantined: u64,
}

impl Store {
    /// Counts the store by looking at every object's `stat`.
    ///
    /// # Errors
    ///
    /// An I/O error.
    pub fn stats(&self) -> Result<StoreStats> {
        let mut stats = StoreStats {
            trees: self.inner.tree_names()?.len() as u64,
            quarantined: self.inner.names_in(layout::QUARANTINE)?.len() as u64,
            ..StoreStats::default()
        };
        let mut inodes = HashSet::new();
        for shard in layout::shards() {
            for (digest, executable) in self.inner.objects_in(&shard)? {
                let name = ObjectName::new(&digest, executable);
                // Swept meanwhile, when it cannot be looked at.
                let Ok(seen) = self.inner.objects.stat(name.as_str()) else { continue };
                stats.count(&seen, executable, inodes.insert(seen.inode));
            }
        }
        Ok(stats)
    }
}

impl StoreStats {
    /// Sizes may be anything: a sparse file that somebody put there is as long as it likes.
    fn count(&mut self, seen: &Seen, executable: Executable, is_new: bool) {
        self.objects += 1;
        self.executables += u64::from(executable == Executable::Yes);
        self.most_links = self.most_links.max(seen.links);
        if is_new {
            let shared = seen.size.saturating_mul(seen.links.saturating_sub(2));
            self.bytes = self.bytes.saturating_add(seen.size);
            self.disk_bytes = self.disk_bytes.saturating_add(seen.disk_bytes);
            self.unlinked += u64::from(seen.links == 1);
            self.shared_bytes = self.shared_bytes.saturating_add(shared);
        }
    }
}
