//! A registry index in one file that never returns wrong data.
#![doc = include_str!("../docs/GUIDE.md")]

// The file, from its bytes up to a snapshot of it.
mod buffers;
mod check;
mod content;
mod entries;
mod entry;
mod hash;
mod header;
mod layer;
mod layout;
mod medium;
mod pages;
mod prefetch;
mod record;
mod slot;
mod snapshot;
mod tree;
mod walk;

// Changing it.
mod batch;
mod commit;
mod compact;
mod edit;
mod fresh;
mod put;

// Around it.
mod cache;
mod cargo_blobs;
pub mod cargo_layout;
mod error;
mod options;
mod progress;
mod schema;
mod stats;
mod verify;

#[doc = include_str!("../docs/FORMAT.md")]
pub mod format {}

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
pub use schema::schema_of;
pub use snapshot::Snapshot;
pub use stats::{LayerStats, Stats};
pub use verify::{Fault, Verified};

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
