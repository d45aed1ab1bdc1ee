//! A crate as the registry sends it and as cargo caches it: lines of JSON.
//!
//! Only an import or a download comes here. Bytes in, [`Description`]s out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use semver::{Version, VersionReq};
use serde::Deserialize;

use crate::name::Name;
use crate::record::{DescribedDep, Description, Flags};
use crate::summary::{Dep, Kind, Req, Source, checked_feature_map};

/// One line, borrowing from the file where JSON allows it.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    vers: Cow<'a, str>,
    #[serde(borrow)]
    deps: Vec<LineDep<'a>>,
    #[serde(borrow)]
    cksum: Cow<'a, str>,
    #[serde(borrow)]
    features: BTreeMap<Cow<'a, str>, Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    features2: Option<BTreeMap<Cow<'a, str>, Vec<Cow<'a, str>>>>,
    yanked: Option<bool>,
    #[serde(borrow)]
    links: Option<Cow<'a, str>>,
    #[serde(borrow)]
    rust_version: Option<Cow<'a, str>>,
    v: Option<u32>,
}

#[derive(Deserialize)]
struct LineDep<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    req: Cow<'a, str>,
    #[serde(borrow, default)]
    features: Vec<Cow<'a, str>>,
    #[serde(default)]
    optional: bool,
    #[serde(default = "yes")]
    default_features: bool,
    #[serde(borrow)]
    target: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    registry: Option<Cow<'a, str>>,
    #[serde(borrow)]
    package: Option<Cow<'a, str>>,
}

fn yes() -> bool {
    true
}

/// What even a line of a future schema has.
#[derive(Deserialize)]
struct Minimum<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    vers: Cow<'a, str>,
    v: Option<u32>,
    #[serde(borrow)]
    rust_version: Option<Cow<'a, str>>,
}

/// A version ready to be stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) flags: Flags,
    pub(crate) record: Vec<u8>,
}

/// Turns one line about a crate spelled `spelling` into what is stored of it.
///
/// # Errors
/// When not even a name and a version can be read from it.
pub(crate) fn parse(line: &[u8], spelling: Option<&str>) -> Result<Stored> {
    match serde_json::from_slice::<Line<'_>>(line) {
        Ok(line) => store(&line.name, &line.vers, &line.describe(spelling)),
        Err(error) => {
            let minimum: Minimum<'_> = serde_json::from_slice(line).map_err(|_| error)?;
            store(&minimum.name, &minimum.vers, &minimum.describe(spelling))
        }
    }
}

/// Encodes what is known about a version.
///
/// # Errors
/// When the version is none.
pub(crate) fn store(name: &str, version: &str, description: &Description<'_>) -> Result<Stored> {
    Version::parse(version).with_context(|| format!("version `{version}` of `{name}`"))?;
    let (name, version) = (name.to_owned(), version.to_owned());
    Ok(Stored { name, version, flags: description.flags(), record: description.encode()? })
}

impl Minimum<'_> {
    fn describe(&self, spelling: Option<&str>) -> Description<'_> {
        Description {
            schema: self.v.unwrap_or(1),
            rust_version: self.rust_version.as_deref(),
            other_name: spelling.is_some_and(|spelling| spelling != self.name),
            ..Description::default()
        }
    }
}

impl Line<'_> {
    fn describe(&self, spelling: Option<&str>) -> Description<'_> {
        Description {
            checksum: &self.cksum,
            links: self.links.as_deref(),
            rust_version: self.rust_version.as_deref(),
            schema: self.v.unwrap_or(1),
            yanked: self.yanked.unwrap_or(false),
            other_name: spelling.is_some_and(|spelling| spelling != self.name),
            deps: self.deps.iter().map(LineDep::describe).collect(),
            features: self.features(),
            ..Description::default()
        }
        .checked()
    }

    /// The second table extends the first: newer syntax is hidden there from older cargos.
    fn features(&self) -> Vec<(&str, Vec<&str>)> {
        let mut merged: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, values) in self.features.iter().chain(self.features2.iter().flatten()) {
            merged.entry(name).or_default().extend(values.iter().map(AsRef::as_ref));
        }
        merged.into_iter().collect()
    }
}

impl LineDep<'_> {
    fn describe(&self) -> DescribedDep<'_> {
        DescribedDep {
            key: &self.name,
            name: self.package.as_ref().unwrap_or(&self.name),
            req: &self.req,
            kind: match self.kind.as_deref() {
                Some("dev") => Kind::Dev,
                Some("build") => Kind::Build,
                _ => Kind::Normal,
            },
            optional: self.optional,
            default_features: self.default_features,
            foreign: self.registry.is_some(),
            target: self.target.as_deref(),
            // Some old lines list an empty feature, which is none.
            features: self.features.iter().map(AsRef::as_ref).filter(|f| !f.is_empty()).collect(),
        }
    }
}

impl Description<'_> {
    /// Keeps the version and flags only of what makes no sense.
    pub(crate) fn checked(self) -> Self {
        let valid = is_valid(&self.deps, &self.features);
        if valid {
            return Self { valid, ..self };
        }
        Self { valid, deps: Vec::new(), features: Vec::new(), ..self }
    }
}

/// Checked with dev-dependencies, because a feature may name one.
fn is_valid(deps: &[DescribedDep<'_>], features: &[(&str, Vec<&str>)]) -> bool {
    let deps: Option<Vec<_>> = deps.iter().map(|dep| checkable(dep).map(Rc::new)).collect();
    deps.is_some_and(|deps| checked_feature_map(features.iter().cloned(), &deps).is_ok())
}

fn checkable(dep: &DescribedDep<'_>) -> Option<Dep> {
    Some(Dep {
        name: Name::new(dep.name),
        key: Name::new(dep.key),
        req: Req::Range(Rc::new(VersionReq::parse(dep.req).ok()?)),
        source: Source::Registry,
        kind: dep.kind,
        optional: dep.optional && dep.kind != Kind::Dev,
        default_features: dep.default_features,
        features: Vec::new(),
        target: None,
    })
}
