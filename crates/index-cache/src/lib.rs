//! A registry index in one file that never returns wrong data.
#![doc = include_str!("../docs/GUIDE.md")]

mod batch;
mod buffers;
mod cache;
mod cargo_blobs;
pub mod cargo_layout;
mod commit;
mod compact;
mod content;
mod edit;
mod entries;
mod entry;
mod error;
mod fresh;
mod hash;
mod header;
mod layer;
mod layout;
mod medium;
mod options;
mod pages;
mod prefetch;
mod progress;
mod put;
mod record;
mod slot;
mod snapshot;
mod stats;
mod tree;
mod verify;

pub use batch::{Batch, Durability};
pub use cache::{FILE_NAME, IndexCache};
pub use cargo_blobs::CargoBlobs;
pub use commit::{Committed, WriteSkipped, Written};
pub use compact::{Compacted, Reclaimed};
pub use entries::Entries;
pub use entry::{Entry, SliceInfo};
pub use error::{Error, Result};
pub use layer::Status;
pub use options::{LockWait, Options, ReadMode};
pub use prefetch::{Extent, Prefetched};
pub use progress::{Observer, Progress};
pub use put::Put;
pub use stats::{LayerStats, Stats};
pub use verify::{Fault, Verified};

pub use snapshot::Snapshot;

#[cfg(test)]
mod tests;
