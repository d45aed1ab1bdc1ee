//! Which version of a package to try, and which of its wheels.
//!
//! Newest first, with exceptions that users rely on: an installed version stays if it will do, a
//! stable version goes before any pre-release, a version that its authors took back (PEP 592) counts
//! only when the user pinned it. A version that cannot be used is skipped with a reason, which the
//! explanation of a conflict shows.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::fmt;

use pep440_rs::Version;
use pep508_rs::PackageName;
use pubgrub::Ranges;

use crate::catalog::{Release, Releases};
use crate::cli::Prerelease;
use crate::dist::Dist;
use crate::tags::Tags;

/// The rules of one installation.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) tags: Tags,
    pub(crate) python: Version,
    pub(crate) prerelease: Prerelease,
    /// Versions that the user pinned, which may be yanked.
    pub(crate) pinned: HashSet<(PackageName, Version)>,
    /// Packages of which the user named a pre-release.
    pub(crate) named_prerelease: HashSet<PackageName>,
    /// Versions that are installed and may stay.
    pub(crate) installed: HashMap<PackageName, Version>,
    /// Digests that a package's archive must have.
    pub(crate) hashes: HashMap<PackageName, Vec<[u8; 32]>>,
}

/// Why a version cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    OnlySource,
    NoFiles,
    Python(String),
    Tags { only: String, has_source: bool },
    Yanked(String),
    Digest,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnlySource => {
                write!(f, "has only a source distribution, which is not built here")
            }
            Self::NoFiles => write!(f, "has no files"),
            Self::Python(wanted) => write!(f, "requires Python {wanted}"),
            Self::Tags { only, has_source: false } => {
                write!(f, "has no wheel for this platform (only {only})")
            }
            Self::Tags { only, has_source: true } => write!(
                f,
                "has no wheel for this platform (only {only}) and its source distribution is not built here"
            ),
            Self::Yanked(reason) if reason.is_empty() => write!(f, "was yanked"),
            Self::Yanked(reason) => write!(f, "was yanked (reason: {reason})"),
            Self::Digest => write!(f, "has no file with a digest that is asked for"),
        }
    }
}

impl Rules {
    /// The version to try next, of those in `range`.
    pub(crate) fn choose(
        &self,
        name: &PackageName,
        releases: &Releases,
        range: &Ranges<Version>,
    ) -> Option<Version> {
        if let Some(installed) = self.installed.get(name).filter(|version| range.contains(version))
        {
            return Some(installed.clone());
        }
        let newest = |wanted: &dyn Fn(&Version) -> bool| {
            let mut newest_first = releases.by_version.iter().rev();
            newest_first.find(|(version, release)| {
                range.contains(version)
                    && wanted(version)
                    && self.best(name, version, release).is_ok()
            })
        };
        let found = match self.prerelease {
            Prerelease::Allow => newest(&|_| true),
            _ => newest(&|version| !version.any_prerelease()).or_else(|| {
                newest(&|version| version.any_prerelease() && self.admits_prereleases(name))
            }),
        };
        found.map(|(version, _)| version.clone())
    }

    fn admits_prereleases(&self, name: &PackageName) -> bool {
        match self.prerelease {
            Prerelease::Disallow => false,
            Prerelease::Explicit => self.named_prerelease.contains(name),
            Prerelease::Allow | Prerelease::IfNecessary | Prerelease::IfNecessaryOrExplicit => true,
        }
    }

    /// The wheel of a release that fits best, or why none does.
    pub(crate) fn best<'r>(
        &self,
        name: &PackageName,
        version: &Version,
        release: &'r Release,
    ) -> Result<&'r Dist, Unusable> {
        let mut reason = if release.has_source { Unusable::OnlySource } else { Unusable::NoFiles };
        let mut best: Option<(_, &Dist)> = None;
        for dist in &release.wheels {
            match self.rank(name, version, dist, release.has_source) {
                Ok(rank) => {
                    let key = (rank, Reverse(dist.wheel.build.clone()));
                    if best.as_ref().is_none_or(|(other, _)| key < *other) {
                        best = Some((key, dist));
                    }
                }
                Err(unusable) => reason = unusable,
            }
        }
        best.map(|(_, dist)| dist).ok_or(reason)
    }

    fn rank(
        &self,
        name: &PackageName,
        version: &Version,
        dist: &Dist,
        has_source: bool,
    ) -> Result<usize, Unusable> {
        if let Some(reason) = &dist.yanked
            && !self.pinned.contains(&(name.clone(), version.clone()))
        {
            return Err(Unusable::Yanked(reason.clone()));
        }
        if let Some(wanted) =
            dist.requires_python.as_ref().filter(|wanted| !wanted.contains(&self.python))
        {
            return Err(Unusable::Python(wanted.to_string()));
        }
        if !self.has_digest(name, dist) {
            return Err(Unusable::Digest);
        }
        self.tags.rank(&dist.wheel).ok_or_else(|| Unusable::Tags {
            only: format!("{}; this is {}", dist.wheel.tag_text(), self.tags.best()),
            has_source,
        })
    }

    /// True unless the digest is known and is not among those that are asked for.
    fn has_digest(&self, name: &PackageName, dist: &Dist) -> bool {
        match (self.hashes.get(name), dist.sha256) {
            (Some(allowed), Some(stated)) => allowed.contains(&stated),
            _ => true,
        }
    }

    /// The digests that the archive of `dist` must have one of.
    pub(crate) fn allowed(&self, name: &PackageName, dist: &Dist) -> Vec<[u8; 32]> {
        let stated: Vec<[u8; 32]> = dist.sha256.into_iter().collect();
        match self.hashes.get(name) {
            Some(allowed) if stated.is_empty() => allowed.clone(),
            _ => stated,
        }
    }

    /// Each usable-looking version in `range` that is not, with the reason.
    pub(crate) fn excluded(
        &self,
        name: &PackageName,
        releases: &Releases,
        range: &Ranges<Version>,
    ) -> Vec<(Version, String)> {
        let in_range = releases.by_version.iter().filter(|(version, _)| range.contains(version));
        in_range
            .filter_map(|(version, release)| match self.best(name, version, release) {
                Err(unusable) => Some((version.clone(), unusable.to_string())),
                Ok(_) if version.any_prerelease() && !self.admits_prereleases(name) => {
                    Some((version.clone(), "is a pre-release".to_owned()))
                }
                Ok(_) => None,
            })
            .collect()
    }
}
