//! Wheels that could be installed, and wheels that were chosen.

use std::path::PathBuf;

use pep440_rs::VersionSpecifiers;
use url::Url;

use crate::wheel_name::WheelName;

/// Where the bytes of a wheel are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    File(PathBuf),
    Url(Url),
    /// It is installed already, with this `.dist-info` folder.
    Installed(PathBuf),
}

/// A wheel that could be installed.
#[derive(Clone, Debug)]
pub(crate) struct Dist {
    pub(crate) wheel: WheelName,
    pub(crate) location: Location,
    /// As stated by whoever named the location.
    pub(crate) sha256: Option<[u8; 32]>,
    pub(crate) requires_python: Option<VersionSpecifiers>,
    /// The reason for which its authors took it back.
    pub(crate) yanked: Option<String>,
    /// True when the index serves the wheel's METADATA beside it.
    pub(crate) has_metadata_file: bool,
    /// The size of the archive, if the index said.
    pub(crate) bytes: Option<u64>,
}

impl Dist {
    /// A wheel that was named directly.
    pub(crate) fn direct(wheel: WheelName, location: Location) -> Self {
        Self {
            wheel,
            location,
            sha256: None,
            requires_python: None,
            yanked: None,
            has_metadata_file: false,
            bytes: None,
        }
    }
}

/// A wheel that will be installed.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub(crate) dist: Dist,
    /// Named by the user, not only by another package.
    pub(crate) requested: bool,
    /// The address that the user gave, when not a name.
    pub(crate) direct_url: Option<String>,
    /// The digests of which its archive must have one; empty: any.
    pub(crate) allowed: Vec<[u8; 32]>,
}

impl Chosen {
    /// How large the archive is, for deciding what to do first; 0 when nobody knows.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.dist.location {
            Location::File(path) => path.metadata().map_or(0, |metadata| metadata.len()),
            Location::Url(_) | Location::Installed(_) => self.dist.bytes.unwrap_or(0),
        }
    }
}
