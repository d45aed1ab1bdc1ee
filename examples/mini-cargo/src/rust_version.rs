//! `rust-version` fields: `1`, `1.56`, `1.56.1`, maybe with a pre-release.
//!
//! A package is compatible with a toolchain when its own version, read as a caret requirement,
//! matches the toolchain with any pre-release removed (a nightly counts as its release).

use std::fmt;

use semver::{Version, VersionReq};

/// A partial version, ordered field by field: `1.83` is before `1.83.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RustVersion {
    major: u64,
    minor: Option<u64>,
    patch: Option<u64>,
}

impl RustVersion {
    pub(crate) const fn minor(minor: u64) -> Self {
        Self { major: 1, minor: Some(minor), patch: None }
    }

    /// Returns `None` for what cargo would refuse: operators, wildcards, several parts.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(full) = Version::parse(text) {
            return Some(Self::from(&full));
        }
        if text.starts_with(|c: char| !c.is_ascii_digit()) {
            return None;
        }
        let req = VersionReq::parse(text).ok()?;
        match &req.comparators[..] {
            [one] if one.op == semver::Op::Caret => {
                Some(Self { major: one.major, minor: one.minor, patch: one.patch })
            }
            _ => None,
        }
    }

    /// `N` when this means `1.N`, as almost every `rust-version` does.
    pub(crate) fn as_minor(self) -> Option<u64> {
        let plain = self.major == 1 && self.patch.unwrap_or(0) == 0;
        self.minor.filter(|_| plain)
    }

    /// Whether a package that asks for `self` builds with `toolchain`.
    pub(crate) fn allows(self, toolchain: Self) -> bool {
        let (minor, patch) = (toolchain.minor.unwrap_or(0), toolchain.patch.unwrap_or(0));
        let wanted = (self.minor.unwrap_or(0), self.patch.unwrap_or(0));
        self.major == toolchain.major && wanted <= (minor, patch)
    }
}

impl From<&Version> for RustVersion {
    fn from(full: &Version) -> Self {
        Self { major: full.major, minor: Some(full.minor), patch: Some(full.patch) }
    }
}

impl fmt::Display for RustVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        for part in [self.minor, self.patch].into_iter().flatten() {
            write!(f, ".{part}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> RustVersion {
        RustVersion::parse(text).expect("a rust version")
    }

    #[test]
    fn a_requirement_allows_its_own_and_later_toolchains_of_the_same_major() {
        assert!(rust("1.56").allows(rust("1.56.0")));
        assert!(rust("1.56").allows(rust("1.95.0")));
        assert!(rust("1").allows(rust("1.0.0")));
        assert!(!rust("1.56.1").allows(rust("1.56")));
        assert!(!rust("2.0").allows(rust("1.95.0")));
    }

    #[test]
    fn what_is_not_a_plain_version_is_refused() {
        for text in ["^1.2", "1.*", ">=1.0", "", "1.2, 1.3", "x"] {
            assert_eq!(RustVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_shorter_version_is_before_a_longer_one() {
        assert!(rust("1.83") < rust("1.83.0"));
        assert!(rust("1.83.0") < rust("1.84"));
    }
}
