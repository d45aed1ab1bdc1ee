//! A registry index in one file that never returns wrong data.
#![doc = include_str!("../docs/GUIDE.md")]

mod batch;
mod buffers;
mod cache;
mod commit;
mod edit;
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
mod put;
mod record;
mod slot;
mod snapshot;
mod tree;

pub use batch::{Batch, Durability};
pub use cache::{FILE_NAME, IndexCache};
pub use commit::{Committed, WriteSkipped, Written};
pub use entry::{Entry, SliceInfo};
pub use error::{Error, Result};
pub use layer::Status;
pub use options::{LockWait, Options, ReadMode};
pub use put::Put;
pub use snapshot::Snapshot;
