//! What can be had: the releases of each package and what each wheel requires.
//!
//! The resolver knows this trait only. Behind it are indexes, folders of wheels, wheels that were
//! named directly and packages that are installed already.

use std::collections::BTreeMap;
use std::sync::Arc;

use pep440_rs::Version;
use pep508_rs::PackageName;

use crate::dist::Dist;
use crate::metadata::Metadata;

/// Everything that is known of one package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Releases {
    pub(crate) by_version: BTreeMap<Version, Release>,
    /// Where was looked, when nothing was found.
    pub(crate) absence: Option<String>,
}

/// The files of one version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Release {
    pub(crate) wheels: Vec<Dist>,
    /// True when there is a source distribution, which is never built here.
    pub(crate) has_source: bool,
}

impl Releases {
    pub(crate) fn add(&mut self, dist: Dist) {
        self.by_version.entry(dist.wheel.version.clone()).or_default().wheels.push(dist);
    }

    pub(crate) fn add_source(&mut self, version: Version) {
        self.by_version.entry(version).or_default().has_source = true;
    }
}

/// Where the resolver gets its facts from.
pub(crate) trait Catalog {
    /// All releases of a package; none is not an error.
    fn releases(&self, name: &PackageName) -> anyhow::Result<Arc<Releases>>;

    /// What a wheel's METADATA says.
    fn metadata(&self, dist: &Dist) -> anyhow::Result<Arc<Metadata>>;

    /// Fetches at once, for later calls, the releases of several packages and the metadata of the
    /// wheel of each that `likely` picks.
    fn prefetch(&self, names: &[PackageName], likely: &Likely<'_>);
}

/// Picks the wheel of a package that will probably be looked at.
pub(crate) type Likely<'a> = dyn Fn(&PackageName, &Releases) -> Option<Dist> + Sync + 'a;
