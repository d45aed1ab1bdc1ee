//! A directory source in the registry's place: a folder per package, as `vendor` makes it.
//!
//! What the registry's index would say of a version is read from its manifest; the checksum comes
//! from `.cargo-checksum.json`. Nothing is stored: there are as many manifests as packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::cargo_files::CrateFile;
use crate::index_line::{self, Stored};
use crate::manifest::{Detailed, Inheritable, Manifest};
use crate::record::{DescribedDep, Description};
use crate::store::{Freshness, Lookup, Store};
use crate::summary::Kind;
use crate::unpack::CHECKSUM_FILE;

/// Every package of the folder, by its name in lower case.
#[derive(Debug, Default)]
pub(crate) struct DirectorySource(BTreeMap<String, Rc<CrateFile>>);

/// The part of `.cargo-checksum.json` that a lock file needs.
#[derive(Deserialize)]
struct Checksums {
    package: Option<String>,
}

impl DirectorySource {
    /// Reads every package in `root`.
    ///
    /// # Errors
    /// When the folder or a manifest in it cannot be read.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut crates: BTreeMap<String, CrateFile> = BTreeMap::new();
        let context = || format!("failed to read the directory source `{}`", root.display());
        for entry in fs::read_dir(root).with_context(context)? {
            let folder = entry.with_context(context)?.path();
            let hidden = folder.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
            if hidden || !folder.join("Cargo.toml").is_file() {
                continue;
            }
            let stored = package(&folder)
                .with_context(|| format!("failed to load the package in `{}`", folder.display()))?;
            let known = crates.entry(stored.name.to_lowercase()).or_insert_with(|| CrateFile {
                revision: "Unknown".to_owned(),
                spelling: stored.name.clone(),
                versions: Vec::new(),
            });
            known.versions.push(stored);
        }
        Ok(Self(crates.into_iter().map(|(key, file)| (key, Rc::new(file))).collect()))
    }
}

impl Store for DirectorySource {
    fn find(&self, key: &str, _: Freshness) -> Result<Lookup<'_>> {
        let found = self.0.get(key);
        Ok(found.map_or(Lookup::Unknown, |file| Lookup::Known(Box::new(Rc::clone(file)))))
    }
}

fn package(folder: &Path) -> Result<Stored> {
    let list = fs::read(folder.join(CHECKSUM_FILE))
        .with_context(|| format!("failed to read `{CHECKSUM_FILE}`"))?;
    let list: Checksums = serde_json::from_slice(&list)
        .with_context(|| format!("failed to parse `{CHECKSUM_FILE}`"))?;
    let manifest: Manifest = toml::from_str(&fs::read_to_string(folder.join("Cargo.toml"))?)?;
    let package = manifest.package.as_ref().context("missing field `package`")?;
    let text = |value: &'_ Option<Inheritable>| match value {
        Some(Inheritable::Value(text)) => Some(text.clone()),
        _ => None,
    };
    let (version, rust_version) = (text(&package.version), text(&package.rust_version));
    let deps = deps(&manifest);
    let features = manifest.features.iter();
    let description = Description {
        checksum: list.package.as_deref().unwrap_or_default(),
        links: package.links.as_deref(),
        rust_version: rust_version.as_deref(),
        schema: 1,
        deps: deps.iter().map(describe).collect(),
        features: features
            .map(|(k, v)| (k.as_str(), v.iter().map(String::as_str).collect()))
            .collect(),
        ..Description::default()
    };
    index_line::store(&package.name, version.as_deref().unwrap_or("0.0.0"), &description.checked())
}

/// A line of a dependency table, with what it stands under.
struct Line {
    key: String,
    dep: Detailed,
    kind: Kind,
    target: Option<String>,
}

fn deps(manifest: &Manifest) -> Vec<Line> {
    let mut lines = Vec::new();
    for (table, kind, target) in manifest.tables() {
        for (key, line) in table {
            let (dep, target) = (line.get_ref().clone().into_detailed(), target.map(str::to_owned));
            lines.push(Line { key: key.clone(), dep, kind, target });
        }
    }
    lines
}

fn describe(line: &Line) -> DescribedDep<'_> {
    let Line { key, dep, kind, target } = line;
    DescribedDep {
        key,
        name: dep.package.as_deref().unwrap_or(key),
        req: dep.version.as_deref().unwrap_or("*"),
        kind: *kind,
        optional: dep.optional.unwrap_or(false),
        default_features: dep.default_features.unwrap_or(true),
        foreign: dep.registry_index.is_some(),
        target: target.as_deref(),
        features: dep.features.iter().map(String::as_str).collect(),
    }
}
