//! What the resolver needs to know about one version of one package.
//!
//! A [`Summary`] is made from a manifest or from an index record; nothing here knows which, reads
//! a file or parses TOML or JSON. Feature lists are checked once, when the summary is built, so
//! that the resolver meets only values that can be followed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::rc::Rc;

use anyhow::{Result, bail};
use semver::{Version, VersionReq};

use crate::name::Name;
use crate::rust_version::RustVersion;

/// Where a package comes from. Git and other registries are refused when a manifest is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Source {
    /// A folder on this disk, by its number in the workspace; sorts first, as in a lock file.
    Path(u32),
    /// The default registry.
    Registry,
}

/// Which table a dependency stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Normal,
    Dev,
    Build,
}

/// What versions a dependency accepts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Req {
    /// No requirement at all: pre-releases too, unlike `*`.
    Any,
    /// The manifest's or the index's requirement.
    Range(Rc<VersionReq>),
    /// Exactly this version, because an earlier lock file says so; the range is for messages.
    Locked(Version, Rc<VersionReq>),
}

impl Req {
    pub(crate) fn matches(&self, version: &Version) -> bool {
        match self {
            Self::Any => true,
            Self::Range(range) => range.matches(version),
            Self::Locked(locked, _) => same_release(locked, version),
        }
    }

    pub(crate) fn is_locked(&self) -> bool {
        matches!(self, Self::Locked(..))
    }

    /// The requirement as it was written.
    pub(crate) fn range(&self) -> Rc<VersionReq> {
        match self {
            Self::Any => Rc::new(VersionReq::STAR),
            Self::Range(range) | Self::Locked(_, range) => Rc::clone(range),
        }
    }

    /// `(locked to 1.2.3) ` or nothing, as cargo says it.
    pub(crate) fn locked_note(&self) -> String {
        match self {
            Self::Any | Self::Range(_) => String::new(),
            Self::Locked(version, _) => format!("(locked to {version}) "),
        }
    }
}

/// Build metadata of the candidate does not count when the lock file has none.
fn same_release(locked: &Version, version: &Version) -> bool {
    locked.cmp_precedence(version).is_eq() && (locked.build.is_empty() || locked == version)
}

impl fmt::Display for Req {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.range().fmt(f)
    }
}

/// One line of a dependency table.
///
/// Equality is the key of the resolver's conflict cache, so every field takes part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dep {
    /// The package's name.
    pub(crate) name: Name,
    /// The key in the table: differs from `name` when the dependency is renamed.
    pub(crate) key: Name,
    pub(crate) req: Req,
    pub(crate) source: Source,
    pub(crate) kind: Kind,
    pub(crate) optional: bool,
    pub(crate) default_features: bool,
    pub(crate) features: Vec<Name>,
    /// A triple or a `cfg(...)`; the resolver ignores it, as cargo's does.
    pub(crate) target: Option<Name>,
}

impl Dep {
    pub(crate) fn accepts(&self, name: Name, version: &Version) -> bool {
        self.name == name && self.req.matches(version)
    }
}

/// One value of a `[features]` list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeatureValue {
    Feature(Name),
    /// `dep:name`
    Dep(Name),
    /// `dep/feature`, weak when written `dep?/feature`
    DepFeature {
        dep: Name,
        feature: Name,
        weak: bool,
    },
}

impl FeatureValue {
    pub(crate) fn new(text: &str) -> Self {
        if let Some((dep, feature)) = text.split_once('/') {
            let (dep, weak) = dep.strip_suffix('?').map_or((dep, false), |dep| (dep, true));
            return Self::DepFeature { dep: Name::new(dep), feature: Name::new(feature), weak };
        }
        match text.strip_prefix("dep:") {
            Some(dep) => Self::Dep(Name::new(dep)),
            None => Self::Feature(Name::new(text)),
        }
    }
}

impl fmt::Display for FeatureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Feature(name) => name.fmt(f),
            Self::Dep(dep) => write!(f, "dep:{dep}"),
            Self::DepFeature { dep, feature, weak } => {
                write!(f, "{dep}{}/{feature}", if *weak { "?" } else { "" })
            }
        }
    }
}

/// The features of a package, implicit ones included, by name.
pub(crate) type FeatureMap = BTreeMap<Name, Vec<FeatureValue>>;

/// One version of one package.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) name: Name,
    pub(crate) version: Version,
    pub(crate) source: Source,
    pub(crate) deps: Vec<Rc<Dep>>,
    pub(crate) features: FeatureMap,
    pub(crate) links: Option<Name>,
    pub(crate) rust_version: Option<RustVersion>,
    /// SHA-256 of the archive in hex; packages on disk have none.
    pub(crate) checksum: Option<String>,
}

/// Turns a `[features]` table into what the resolver follows.
///
/// An optional dependency that no list names with `dep:` gets a feature of its own name.
pub(crate) fn feature_map<'a>(
    table: impl Iterator<Item = (&'a str, Vec<&'a str>)>,
    deps: &[Rc<Dep>],
) -> FeatureMap {
    let mut map: FeatureMap = table
        .map(|(name, list)| (Name::new(name), list.into_iter().map(FeatureValue::new).collect()))
        .collect();
    add_implicit(&mut map, deps);
    map
}

/// The same for a table that nobody has checked yet.
///
/// # Errors
/// When a list names something that is not there, or in a form that makes no sense for it.
pub(crate) fn checked_feature_map<'a>(
    table: impl Iterator<Item = (&'a str, Vec<&'a str>)> + Clone,
    deps: &[Rc<Dep>],
) -> Result<FeatureMap> {
    let declared: HashSet<Name> = table.clone().map(|(name, _)| Name::new(name)).collect();
    let map = feature_map(table, deps);
    check(&map, &declared, deps)?;
    Ok(map)
}

fn add_implicit(map: &mut FeatureMap, deps: &[Rc<Dep>]) {
    let explicit: HashSet<Name> = map.values().flatten().filter_map(explicit_dep).collect();
    for dep in deps.iter().filter(|dep| dep.optional && !explicit.contains(&dep.key)) {
        map.entry(dep.key).or_insert_with(|| vec![FeatureValue::Dep(dep.key)]);
    }
}

fn explicit_dep(value: &FeatureValue) -> Option<Name> {
    match value {
        FeatureValue::Dep(dep) => Some(*dep),
        FeatureValue::Feature(_) | FeatureValue::DepFeature { .. } => None,
    }
}

fn check(map: &FeatureMap, declared: &HashSet<Name>, deps: &[Rc<Dep>]) -> Result<()> {
    let mut optional: HashMap<Name, bool> = HashMap::new();
    for dep in deps {
        *optional.entry(dep.key).or_default() |= dep.optional;
    }
    for (feature, list) in map {
        for value in list {
            check_value(*feature, value, map, declared, &optional)?;
        }
    }
    check_all_reachable(map, &optional)
}

fn check_value(
    feature: Name,
    value: &FeatureValue,
    map: &FeatureMap,
    declared: &HashSet<Name>,
    optional: &HashMap<Name, bool>,
) -> Result<()> {
    match value {
        FeatureValue::Feature(name) if declared.contains(name) => Ok(()),
        FeatureValue::Feature(name) => match optional.get(name) {
            None => bail!(
                "feature `{feature}` includes `{value}` which is neither a dependency nor another feature"
            ),
            Some(true) if map.contains_key(name) => Ok(()),
            Some(true) => bail!(
                "feature `{feature}` includes `{value}`, but `{name}` is an optional dependency \
                 without an implicit feature\nUse `dep:{name}` to enable the dependency."
            ),
            Some(false) => bail!(not_optional(feature, value, *name)),
        },
        FeatureValue::Dep(dep) => match optional.get(dep) {
            None => bail!(
                "feature `{feature}` includes `{value}`, but `{dep}` is not listed as a dependency"
            ),
            Some(false) => bail!(not_optional(feature, value, *dep)),
            Some(true) => Ok(()),
        },
        FeatureValue::DepFeature { .. } => check_dep_feature(feature, value, optional),
    }
}

fn not_optional(feature: Name, value: &FeatureValue, dep: Name) -> String {
    format!(
        "feature `{feature}` includes `{value}`, but `{dep}` is not an optional dependency\n\
         A non-optional dependency of the same name is defined; \
         consider adding `optional = true` to its definition."
    )
}

fn check_dep_feature(
    feature: Name,
    value: &FeatureValue,
    optional: &HashMap<Name, bool>,
) -> Result<()> {
    let FeatureValue::DepFeature { dep, feature: wanted, weak } = value else { return Ok(()) };
    if wanted.as_str().contains('/') {
        bail!(
            "multiple slashes in feature `{value}` (included by feature `{feature}`) are not allowed"
        );
    }
    if dep.as_str().starts_with("dep:") {
        bail!(
            "feature `{feature}` includes `{value}` with both `dep:` and `/`\n\
             To fix this, remove the `dep:` prefix."
        );
    }
    match optional.get(dep) {
        None => bail!("feature `{feature}` includes `{value}`, but `{dep}` is not a dependency"),
        Some(false) if *weak => bail!(
            "feature `{feature}` includes `{value}` with a `?`, but `{dep}` is not an optional dependency\n\
             A non-optional dependency of the same name is defined; \
             consider removing the `?` or changing the dependency to be optional"
        ),
        Some(_) => Ok(()),
    }
}

fn check_all_reachable(map: &FeatureMap, optional: &HashMap<Name, bool>) -> Result<()> {
    let used: HashSet<Name> = map
        .values()
        .flatten()
        .filter_map(|value| match value {
            FeatureValue::Dep(dep) | FeatureValue::DepFeature { dep, .. } => Some(*dep),
            FeatureValue::Feature(_) => None,
        })
        .collect();
    match optional.iter().filter(|(dep, optional)| **optional && !used.contains(dep)).min() {
        None => Ok(()),
        Some((dep, _)) => bail!(
            "optional dependency `{dep}` is not included in any feature\n\
             Make sure that `dep:{dep}` is included in one of features in the [features] table."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dep(key: &str, optional: bool) -> Rc<Dep> {
        Rc::new(Dep {
            name: Name::new(key),
            key: Name::new(key),
            req: Req::Range(Rc::new(VersionReq::STAR)),
            source: Source::Registry,
            kind: Kind::Normal,
            optional,
            default_features: true,
            features: Vec::new(),
            target: None,
        })
    }

    fn map(table: &[(&str, &[&str])], deps: &[Rc<Dep>]) -> Result<FeatureMap> {
        checked_feature_map(table.iter().map(|(name, list)| (*name, list.to_vec())), deps)
    }

    #[test]
    fn an_optional_dependency_is_a_feature_until_some_list_says_dep() {
        let deps = [dep("serde", true)];
        assert!(map(&[], &deps).unwrap().contains_key(&Name::new("serde")));
        let hidden = map(&[("ser", &["dep:serde"])], &deps).unwrap();
        assert!(!hidden.contains_key(&Name::new("serde")));
    }

    #[test]
    fn every_form_of_a_bad_list_is_refused_with_cargos_words() {
        let deps = [dep("log", false), dep("serde", true)];
        for (list, said) in [
            (&["nope"][..], "neither a dependency nor another feature"),
            (&["log"], "not an optional dependency"),
            (&["dep:log"], "not an optional dependency"),
            (&["dep:nope"], "not listed as a dependency"),
            (&["nope/x"], "not a dependency"),
            (&["log?/std"], "with a `?`"),
            (&["log/a/b"], "multiple slashes"),
            (&["dep:serde/std"], "both `dep:` and `/`"),
            (&["dep:serde", "serde"], "without an implicit feature"),
        ] {
            let error = map(&[("f", list)], &deps).expect_err(said).to_string();
            assert!(error.contains(said), "{list:?}: {error}");
        }
    }

    #[test]
    fn an_optional_dependency_that_no_list_reaches_is_refused() {
        let deps = [dep("serde", true)];
        let error = map(&[("serde", &[])], &deps).expect_err("unreachable").to_string();
        assert!(error.contains("not included in any feature"), "{error}");
    }

    #[test]
    fn a_locked_requirement_matches_its_version_only() {
        let range = Rc::new(VersionReq::parse("1").unwrap());
        let locked = Req::Locked(Version::new(1, 2, 3), range);
        assert!(locked.matches(&Version::new(1, 2, 3)));
        assert!(locked.matches(&Version::parse("1.2.3+meta").unwrap()));
        assert!(!locked.matches(&Version::new(1, 2, 4)));
    }
}
