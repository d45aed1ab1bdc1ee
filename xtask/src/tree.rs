//! What a folder holds, with every inode counted once: hard links are the point of the demo.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Result;

/// The regular files of a tree, by inode.
#[derive(Default)]
pub(crate) struct Census {
    /// Names, each link counted.
    pub(crate) names: u64,
    /// Bytes of all names, each link counted.
    pub(crate) name_bytes: u64,
    /// (device, inode) to (size, links, names seen here).
    inodes: BTreeMap<(u64, u64), Inode>,
}

struct Inode {
    bytes: u64,
    links: u64,
}

impl Census {
    /// Counts every regular file below `folder`; symbolic links are not followed.
    pub(crate) fn of(folder: &Path) -> Result<Self> {
        let mut census = Self::default();
        census.add(folder)?;
        Ok(census)
    }

    /// Adds another tree to the same count.
    pub(crate) fn add(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                self.add(&entry.path())?;
            } else if metadata.is_file() {
                self.count(&metadata);
            }
        }
        Ok(())
    }

    fn count(&mut self, metadata: &fs::Metadata) {
        self.names += 1;
        self.name_bytes += metadata.len();
        let inode = Inode { bytes: metadata.len(), links: metadata.nlink() };
        self.inodes.insert((metadata.dev(), metadata.ino()), inode);
    }

    /// Different inodes.
    pub(crate) fn inode_count(&self) -> u64 {
        self.inodes.len() as u64
    }

    /// Bytes with each inode counted once.
    pub(crate) fn inode_bytes(&self) -> u64 {
        self.inodes.values().map(|inode| inode.bytes).sum()
    }

    /// The highest link count.
    pub(crate) fn links_max(&self) -> u64 {
        self.inodes.values().map(|inode| inode.links).max().unwrap_or(0)
    }

    /// Inodes that both trees hold.
    pub(crate) fn shared_with(&self, other: &Self) -> u64 {
        self.inodes.keys().filter(|key| other.inodes.contains_key(key)).count() as u64
    }
}
