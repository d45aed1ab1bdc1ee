//! The records of one crate as one value, for databases that know keys and values only.
//!
//! `spelling NUL`, then per version `version NUL`, two bytes of flags, four of length, the record.

use std::borrow::Cow;
use std::ops::Range;

use anyhow::{Context as _, Result};
use mini_cargo::store::{Flags, Listing};
use semver::Version;

pub(crate) fn pack(listing: &dyn Listing) -> Result<Vec<u8>> {
    let mut bytes = listing.spelling().as_bytes().to_vec();
    bytes.push(0);
    for (at, (version, flags)) in listing.versions()?.into_iter().enumerate() {
        let record = listing.record(at)?;
        bytes.extend(version.to_string().as_bytes());
        bytes.push(0);
        bytes.extend(flags.bits().to_le_bytes());
        bytes.extend(u32::try_from(record.len())?.to_le_bytes());
        bytes.extend(&*record);
    }
    Ok(bytes)
}

/// A crate's value, cut into versions.
pub(crate) struct Packed<'a> {
    bytes: Cow<'a, [u8]>,
    spelling: String,
    versions: Vec<(Version, Flags, Range<usize>)>,
}

impl<'a> Packed<'a> {
    pub(crate) fn new(bytes: Cow<'a, [u8]>) -> Result<Self> {
        let (spelling, mut at) = text(&bytes, 0).context("no name")?;
        let mut versions = Vec::new();
        while at < bytes.len() {
            let (version, behind) = text(&bytes, at).context("no version")?;
            let head = bytes.get(behind..behind + 6).context("cut short")?;
            let flags = Flags::from_bits(u16::from_le_bytes([head[0], head[1]]));
            let length = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
            let record = behind + 6..behind + 6 + length;
            at = record.end;
            versions.push((Version::parse(version)?, flags, record));
        }
        let spelling = spelling.to_owned();
        Ok(Self { bytes, spelling, versions })
    }
}

/// Text up to the next NUL, and the place after it.
fn text(bytes: &[u8], at: usize) -> Option<(&str, usize)> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&rest[..length]).ok()?, at + length + 1))
}

impl Listing for Packed<'_> {
    fn spelling(&self) -> &str {
        &self.spelling
    }

    fn versions(&self) -> Result<Vec<(Version, Flags)>> {
        Ok(self.versions.iter().map(|(version, flags, _)| (version.clone(), *flags)).collect())
    }

    fn record(&self, at: usize) -> Result<Cow<'_, [u8]>> {
        let (.., range) = self.versions.get(at).context("no such version")?;
        Ok(Cow::Borrowed(self.bytes.get(range.clone()).context("cut short")?))
    }
}
