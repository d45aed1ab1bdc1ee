//! The stores that are compared, behind one small trait, each used the way its documentation
//! recommends for this work.

mod files;
mod lmdb;
mod ours;
mod redb;
mod sled;
mod sqlite;

pub use ours::{BATCH_BYTES, Ours, open as open_ours};

use crate::data::Crate;
use bench_util::CaseError;
use std::path::Path;

/// Names by which rows know the stores that matter to them.
pub const FILES: &str = "file per crate";
pub const LMDB: &str = "LMDB, blob per crate";
pub const PREAD: &str = "index-cache, pread";
pub const MAPPED: &str = "index-cache, mapped";

pub type Outcome<T> = Result<T, CaseError>;

/// A kind of store; its data is below a folder that the caller gives.
pub trait Store {
    fn name(&self) -> &'static str;

    /// First population: everything from empty, without waiting for the medium where the store
    /// lets one choose.
    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()>;

    /// Everything from empty, when all of it is at hand: what the rows about reading start from.
    fn import(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.fill(folder, crates)
    }

    /// Opens for reading, as a new process would.
    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>>;

    /// Opens, stores the crates in one batch, closes. Durable: survives a power cut afterwards.
    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()>;

    /// Keeps each version on its own, and puts whole documents together from them.
    fn has_row_per_version(&self) -> bool {
        false
    }

    /// Has an index in memory or mapped, so that finding without reading makes sense.
    fn is_fast_to_find(&self) -> bool {
        false
    }

    /// What must be known to read this store's numbers.
    fn note(&self) -> Option<&'static str> {
        None
    }
}

/// An open store.
pub trait Reader {
    /// Hands the crate's whole file to `use_bytes`.
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()>;

    /// Hands one version's JSON line to `use_bytes`. As it is, the whole file is read and parsed as
    /// cargo does.
    fn version(
        &mut self,
        name: &str,
        version: &str,
        use_bytes: &mut dyn FnMut(&[u8]),
    ) -> Outcome<()> {
        let wanted = semver::Version::parse(version)?;
        let mut found = false;
        self.whole(name, &mut |blob| {
            let line = parse_as_cargo(blob).into_iter().find(|(version, _)| *version == wanted);
            found = line.is_some();
            if let Some((_, json)) = line {
                use_bytes(json);
            }
        })?;
        if found { Ok(()) } else { Err(missing(name)) }
    }

    /// Says what will be read next, and puts it in the order that suits the store, where it has a way
    /// to.
    fn prefetch(&mut self, _names: &mut [&str]) -> Outcome<()> {
        Ok(())
    }

    /// Finds the crate and gives its length, without reading the value where that is possible.
    fn locate(&mut self, name: &str) -> Outcome<usize> {
        let mut len = 0;
        self.whole(name, &mut |blob| len = blob.len())?;
        Ok(len)
    }
}

/// All stores, the reference first.
pub fn all() -> Vec<Box<dyn Store>> {
    vec![
        Box::new(files::Files),
        Box::new(sqlite::Sqlite::Blobs),
        Box::new(sqlite::Sqlite::Versions),
        Box::new(sled::Sled),
        Box::new(redb::Redb),
        Box::new(lmdb::Lmdb::Blobs),
        Box::new(lmdb::Lmdb::Versions),
        Box::new(Ours::Pread),
        Box::new(Ours::Auto),
        Box::new(Ours::Mapped),
    ]
}

/// What cargo does with a file: split at NUL, parse every version.
pub fn parse_as_cargo(blob: &[u8]) -> Vec<(semver::Version, &[u8])> {
    let mut found = Vec::new();
    let mut rest = field(&blob[5..]).map_or(&[][..], |(_, rest)| rest);
    while let Some((version, behind)) = field(rest) {
        let Some((json, behind)) = field(behind) else { break };
        let version =
            std::str::from_utf8(version).ok().and_then(|v| semver::Version::parse(v).ok());
        found.extend(version.map(|version| (version, json)));
        rest = behind;
    }
    found
}

fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(0, bytes)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

pub fn missing(name: &str) -> CaseError {
    format!("`{name}` is not in the store").into()
}
