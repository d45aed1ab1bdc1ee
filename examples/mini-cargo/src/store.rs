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
    /// What is known about the crate whose lower-case name is `key`.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn find(&self, key: &str, freshness: Freshness) -> Result<Lookup<'_>>;
}

/// How new an answer has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "either the registry is to be asked or it is not")]
pub enum Freshness {
    /// Whatever is known: enough for a version that a lock file names.
    Any,
    /// What the registry says now, when it can be asked.
    Latest,
}

/// An answer of a [`Store`].
#[expect(clippy::exhaustive_enums, reason = "every store answers in one of these ways")]
pub enum Lookup<'a> {
    /// The registry has the crate.
    Known(Box<dyn Listing + 'a>),
    /// It has not.
    Unknown,
    /// The registry has to be asked first; others may be asked at the same time.
    Pending,
}

impl std::fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Known(_) => "Known",
            Self::Unknown => "Unknown",
            Self::Pending => "Pending",
        })
    }
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
