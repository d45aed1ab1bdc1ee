//! What a cache can say about itself without reading entries.

use crate::commit::is_wasteful;
use crate::layer::{Layer, Status};
use crate::options::ReadMode;
use std::path::PathBuf;

/// The outcome of [`IndexCache::stats`](crate::IndexCache::stats).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// How values are read: what the options asked for, or [`ReadMode::Pread`] where maps would be
    /// a trap.
    pub read_mode: ReadMode,
    /// How often this handle met damage that it turned into a miss or an error.
    pub damaged_reads: u64,
    /// The writable file first, then the bases.
    pub layers: Vec<LayerStats>,
}

/// One file of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerStats {
    /// The file.
    pub path: PathBuf,
    /// What was found there. All numbers are zero unless it is [`Status::Ready`].
    pub status: Status,
    /// Entries, negative ones and removals that cover a base included.
    pub entries: u64,
    /// Length up to the snapshot's end.
    pub file_bytes: u64,
    /// Upper bound, at most one eighth too high, of the bytes that a compaction would keep.
    pub live_bytes: u64,
    /// Leaf pages of the index.
    pub leaves: u32,
    /// Commits since the file was first created.
    pub commits: u64,
    /// The snapshot was written by a durable commit or a compaction.
    pub is_durable: bool,
}

impl LayerStats {
    pub(crate) fn new(path: PathBuf, status: Status, layer: Option<&Layer>) -> Self {
        let header = layer.map(|layer| &layer.header);
        Self {
            path,
            status,
            entries: header.map_or(0, |header| header.entries),
            file_bytes: header.map_or(0, |header| header.end),
            live_bytes: header.map_or(0, |header| header.live_bytes.min(header.end)),
            leaves: header.map_or(0, |header| header.leaves),
            commits: header.map_or(0, |header| header.seq),
            is_durable: header.is_some_and(|header| header.synced),
        }
    }

    /// Returns true when more than half of the file, and at least 4 MiB, is no longer reachable.
    pub fn wants_compaction(&self) -> bool {
        is_wasteful(self.file_bytes, self.live_bytes)
    }
}
