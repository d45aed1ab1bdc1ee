//! How much a store holds, counting each inode once.

use std::collections::HashSet;

use crate::error::Result;
use crate::layout;
use crate::store::Store;
use crate::walk;

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
        let home = self.path();
        let mut stats = StoreStats {
            trees: self.inner.tree_names()?.len() as u64,
            quarantined: walk::names(&home.join(layout::QUARANTINE))?.len() as u64,
            ..StoreStats::default()
        };
        let mut inodes = HashSet::new();
        walk::files(&home.join(layout::OBJECTS), |path, seen| {
            let name = path.file_name().unwrap_or_default();
            stats.objects += 1;
            stats.executables += u64::from(name.as_encoded_bytes().ends_with(b"x"));
            stats.most_links = stats.most_links.max(seen.links);
            if inodes.insert(seen.inode) {
                stats.bytes += seen.size;
                stats.disk_bytes += seen.disk_bytes;
                stats.unlinked += u64::from(seen.links == 1);
                stats.shared_bytes += seen.size * seen.links.saturating_sub(2);
            }
            Ok(())
        })?;
        Ok(stats)
    }
}
