//! What a manifest takes from its workspace's root.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, anyhow, bail};
use semver::Version;

use super::{Loaded, parse_version};
use crate::manifest::{
    Dependency, Detailed, Inheritable, Package, PackageDefaults, WorkspaceTable,
};
use crate::rust_version::RustVersion;

/// One package beside the root that it inherits from.
pub(super) struct Inherit<'a> {
    package: &'a Package,
    root: Option<&'a WorkspaceTable>,
    root_dir: PathBuf,
}

impl<'a> Inherit<'a> {
    pub(super) fn new(loaded: &'a Loaded, root: &'a Rc<Loaded>, root_dir: PathBuf) -> Result<Self> {
        let package = loaded.manifest.package.as_ref().context("missing field `package`")?;
        Ok(Self { package, root: root.manifest.workspace.as_ref(), root_dir })
    }

    pub(super) fn name(&self) -> &'a str {
        &self.package.name
    }

    pub(super) fn links(&self) -> Option<&'a str> {
        self.package.links.as_deref()
    }

    pub(super) fn version(&self) -> Result<Version> {
        let version =
            self.field("version", self.package.version.as_ref(), |d| d.version.as_deref())?;
        version.map_or(Ok(Version::new(0, 0, 0)), parse_version)
    }

    pub(super) fn rust_version(&self) -> Result<Option<RustVersion>> {
        let field = self.package.rust_version.as_ref();
        let text = self.field("rust-version", field, |d| d.rust_version.as_deref())?;
        text.map(|text| {
            RustVersion::parse(text).ok_or_else(|| anyhow!("invalid `rust-version` \"{text}\""))
        })
        .transpose()
    }

    fn edition_2024(&self) -> Result<bool> {
        let field = self.package.edition.as_ref();
        let edition = self.field("edition", field, |d| d.edition.as_deref())?;
        Ok(edition.is_some_and(|edition| edition >= "2024"))
    }

    fn field(
        &self,
        what: &str,
        value: Option<&'a Inheritable>,
        default: impl Fn(&'a PackageDefaults) -> Option<&'a str>,
    ) -> Result<Option<&'a str>> {
        match value {
            None => Ok(None),
            Some(Inheritable::Value(text)) => Ok(Some(text)),
            Some(Inheritable::Workspace { workspace: false }) => {
                bail!("`{what}.workspace` must be `true`")
            }
            Some(Inheritable::Workspace { workspace: true }) => {
                let inherited = self.root.and_then(|root| default(&root.package));
                let inherited = inherited.with_context(|| {
                    format!("error inheriting `{what}` from workspace root manifest's `workspace.package.{what}`")
                })?;
                Ok(Some(inherited))
            }
        }
    }

    /// The dependency with everything inherited, and the folder that its path is relative to.
    pub(super) fn dependency(
        &self,
        key: &str,
        line: &Dependency,
        own_dir: &Path,
    ) -> Result<(Detailed, PathBuf)> {
        if !line.inherits() {
            return Ok((line.clone().into_detailed(), own_dir.to_owned()));
        }
        let own = line.clone().into_detailed();
        let from_root = self.root.and_then(|root| root.dependencies.get(key)).with_context(|| {
            format!(
                "error inheriting `{key}` from workspace root manifest's `workspace.dependencies.{key}`"
            )
        })?;
        let merged = self.merge(key, own, from_root.get_ref().clone().into_detailed())?;
        Ok((merged, self.root_dir.clone()))
    }

    /// A member may turn default features on and add features; it cannot take any away.
    fn merge(&self, key: &str, own: Detailed, root: Detailed) -> Result<Detailed> {
        let defaults = match (own.default_features, root.default_features) {
            (Some(true), Some(false)) => Some(true),
            (Some(false), Some(true) | None) if self.edition_2024()? => bail!(
                "error inheriting `{key}` from workspace root manifest's `workspace.dependencies.{key}`: \
                 `default-features = false` cannot override workspace's `default-features`"
            ),
            (_, root) => root,
        };
        let mut features = root.features;
        features.extend(own.features);
        Ok(Detailed { default_features: defaults, features, optional: own.optional, ..root })
    }
}

/// Whether the root package's edition brings the third resolver with it.
pub(super) fn default_edition_2024(root: &Rc<Loaded>) -> Result<bool> {
    if root.manifest.package.is_none() {
        return Ok(false);
    }
    Inherit::new(root, root, PathBuf::new())?.edition_2024()
}
