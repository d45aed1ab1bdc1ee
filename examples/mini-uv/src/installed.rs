//! Which packages an environment has: its `.dist-info` folders.
//!
//! Name and version come from the folder's name, so that a list costs one directory read. Packages
//! that were installed without one (`.egg-info`, `.egg-link`) are absent here, as nothing could
//! uninstall them safely.

use std::path::{Path, PathBuf};

use anyhow::Context;
use pep440_rs::Version;
use pep508_rs::PackageName;

use crate::environment::Roots;
use crate::metadata::Metadata;
use crate::record::{self, Row};

/// One installed package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) name: PackageName,
    pub(crate) version: Version,
    pub(crate) dist_info: PathBuf,
}

impl Installed {
    /// The folder that RECORD's paths are relative to.
    pub(crate) fn site(&self) -> &Path {
        self.dist_info.parent().unwrap_or(Path::new("."))
    }

    /// The package's own METADATA.
    pub(crate) fn metadata(&self) -> anyhow::Result<Metadata> {
        let path = self.dist_info.join("METADATA");
        let text = fs_err::read(&path)?;
        Metadata::parse(&String::from_utf8_lossy(&text))
            .with_context(|| format!("failed to read `{}`", path.display()))
    }

    /// The files of the package.
    pub(crate) fn record(&self) -> anyhow::Result<Vec<Row>> {
        let path = self.dist_info.join("RECORD");
        let text = fs_err::read_to_string(&path)?;
        record::parse(&text).with_context(|| format!("failed to read `{}`", path.display()))
    }

    /// Where it came from, when it did not come from an index.
    pub(crate) fn direct_url(&self) -> Option<String> {
        Some(self.origin()?.get("url")?.as_str()?.to_owned())
    }

    /// True when its sources are used where they lie, so that only another tool can install it.
    pub(crate) fn is_editable(&self) -> bool {
        self.origin().is_some_and(|origin| origin["dir_info"]["editable"] == true)
    }

    fn origin(&self) -> Option<serde_json::Value> {
        let text = std::fs::read(self.dist_info.join("direct_url.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }
}

/// Every package of the environment, by name.
pub(crate) fn scan(roots: &Roots) -> anyhow::Result<Vec<Installed>> {
    let mut found = Vec::new();
    for site in roots.sites() {
        scan_site(site, &mut found)?;
    }
    found.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(found)
}

fn scan_site(site: &Path, found: &mut Vec<Installed>) -> anyhow::Result<()> {
    let entries = match std::fs::read_dir(site) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to list `{}`", site.display()));
        }
    };
    for entry in entries {
        let entry = entry.with_context(|| format!("failed to list `{}`", site.display()))?;
        found.extend(from_folder(&entry.path()));
    }
    Ok(())
}

fn from_folder(path: &Path) -> Option<Installed> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".dist-info")?;
    let (name, version) = stem.split_once('-')?;
    let (name, version) = (name.parse().ok()?, version.parse().ok()?);
    Some(Installed { name, version, dist_info: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_name_tells_name_and_version() {
        let found = from_folder(Path::new("/s/Foo_Bar-1.0+x.dist-info")).unwrap();
        assert_eq!(
            (found.name.to_string(), found.version.to_string()),
            ("foo-bar".into(), "1.0+x".into())
        );
        assert_eq!(found.site(), Path::new("/s"));
        for other in ["/s/a.dist-info", "/s/a-1.egg-info", "/s/a-x.dist-info"] {
            assert_eq!(from_folder(Path::new(other)), None);
        }
    }
}
