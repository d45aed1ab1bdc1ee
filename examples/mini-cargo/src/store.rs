//! The seam between the resolver and whatever keeps the registry's records.
//!
//! Two stores live in this crate: cargo's own file per crate (`cargo_files.rs`) and the index
//! cache (`cached.rs`). Others are written for comparison only, outside of it: they are filled by
//! [`each_cargo_file`] and used by [`run_over`](crate::run_over).

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use semver::Version;

use crate::cargo_files::{self, CargoFiles};
pub use crate::record::Flags;

/// Keeps what a registry says about its crates.
pub trait Store {
    /// What is known about the crate whose lower-case name is `key`.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn find(&self, key: &str, freshness: Freshness) -> Result<Lookup<'_>>;

    /// Asks the registry about every crate that was found pending; false when there was none.
    ///
    /// # Errors
    /// When the registry does not answer.
    fn ask(&self) -> Result<bool> {
        Ok(false)
    }

    /// Keeps what was learnt in this run, where the store has a place for it.
    fn save(&self) {}
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

/// Hands over each file of cargo's index cache in `index`: the crate's key, the bytes as they are,
/// and what they mean.
///
/// # Errors
/// When a file cannot be read, or `each` fails.
pub fn each_cargo_file(
    index: &Path,
    mut each: impl FnMut(&str, &[u8], &dyn Listing) -> Result<()>,
) -> Result<()> {
    let files = CargoFiles::new(index);
    for key in files.keys()? {
        let bytes = std::fs::read(files.path(&key))?;
        each(&key, &bytes, &cargo_files::parse(&bytes)?)?;
    }
    Ok(())
}

/// What the bytes of one of cargo's files mean: every line is parsed, as cargo does.
///
/// # Errors
/// When the file is torn or of another format.
pub fn parse_cargo_file(bytes: &[u8]) -> Result<Box<dyn Listing>> {
    Ok(Box::new(cargo_files::parse(bytes)?))
}
