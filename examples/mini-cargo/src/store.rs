//! The seam between the resolver and whatever keeps the registry's records.
//!
//! Two stores live in this crate: cargo's own file per crate (`cargo_files.rs`) and the index
//! cache (`cached.rs`). Others are written for comparison only, outside of it.

use std::borrow::Cow;

use anyhow::Result;
use semver::Version;

pub use crate::record::Flags;

/// Keeps what a registry says about its crates.
pub trait Store {
    /// What is known about the crate whose lower-case name is `key`; `None` when it is unknown.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn find(&self, key: &str) -> Result<Option<Box<dyn Listing + '_>>>;
}

/// The versions of one crate.
pub trait Listing {
    /// The crate's name as its author spells it.
    fn spelling(&self) -> &str;

    /// Every version with the facts that decide whether it is looked at, in any order.
    ///
    /// # Errors
    /// When a version cannot be read.
    fn versions(&self) -> Result<Vec<(Version, Flags)>>;

    /// The record of version number `at` of [`versions`](Self::versions).
    ///
    /// # Errors
    /// When the record is not there or damaged.
    fn record(&self, at: usize) -> Result<Cow<'_, [u8]>>;
}
