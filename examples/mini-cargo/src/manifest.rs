//! The tables of a `Cargo.toml` that decide what is locked, as they are written.
//!
//! Nothing is inherited, joined or checked against other files here; `workspace.rs` does that.
//! Everything that only matters to a build (targets, profiles, lints) is skipped unread.
//!
//! These are own types rather than those of the `cargo_toml` crate because two facts are needed
//! that it drops: whether an inheriting dependency says `default-features`, and the byte at which
//! a dependency stands, for messages with a line number.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use toml::Spanned;

use crate::summary::Kind;

/// A dependency table; the span is that of the value.
pub(crate) type Deps = BTreeMap<String, Spanned<Dependency>>;

/// One `Cargo.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Manifest {
    #[serde(alias = "project")]
    pub(crate) package: Option<Package>,
    pub(crate) workspace: Option<WorkspaceTable>,
    pub(crate) dependencies: Deps,
    #[serde(alias = "dev_dependencies")]
    pub(crate) dev_dependencies: Deps,
    #[serde(alias = "build_dependencies")]
    pub(crate) build_dependencies: Deps,
    pub(crate) target: BTreeMap<String, Tables>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) patch: BTreeMap<String, Deps>,
    pub(crate) replace: Deps,
}

/// The dependency tables under one `[target.'...']`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Tables {
    pub(crate) dependencies: Deps,
    #[serde(alias = "dev_dependencies")]
    pub(crate) dev_dependencies: Deps,
    #[serde(alias = "build_dependencies")]
    pub(crate) build_dependencies: Deps,
}

impl Manifest {
    /// Every dependency table in the order in which cargo reads them, which decides ties later:
    /// a target's last two tables are swapped.
    pub(crate) fn tables(&self) -> Vec<(&Deps, Kind, Option<&str>)> {
        let mut tables = vec![
            (&self.dependencies, Kind::Normal, None),
            (&self.dev_dependencies, Kind::Dev, None),
            (&self.build_dependencies, Kind::Build, None),
        ];
        for (target, of) in &self.target {
            let target = Some(target.as_str());
            tables.push((&of.dependencies, Kind::Normal, target));
            tables.push((&of.build_dependencies, Kind::Build, target));
            tables.push((&of.dev_dependencies, Kind::Dev, target));
        }
        tables
    }
}

/// `[package]`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: Option<Inheritable>,
    pub(crate) edition: Option<Inheritable>,
    pub(crate) rust_version: Option<Inheritable>,
    pub(crate) links: Option<String>,
    pub(crate) resolver: Option<String>,
    /// `package.workspace`: where the root is, when it is not above.
    pub(crate) workspace: Option<String>,
}

/// A value or `{ workspace = true }`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Inheritable {
    Value(String),
    Workspace { workspace: bool },
}

/// `[workspace]`
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct WorkspaceTable {
    pub(crate) members: Option<Vec<String>>,
    pub(crate) exclude: Vec<String>,
    pub(crate) resolver: Option<String>,
    pub(crate) package: PackageDefaults,
    pub(crate) dependencies: Deps,
}

/// The fields of `[workspace.package]` that a lock depends on.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct PackageDefaults {
    pub(crate) version: Option<String>,
    pub(crate) edition: Option<String>,
    pub(crate) rust_version: Option<String>,
}

/// The right-hand side of a dependency line.
#[derive(Clone, Debug)]
pub(crate) enum Dependency {
    Version(String),
    Detailed(Box<Detailed>),
}

/// A dependency written as a table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Detailed {
    pub(crate) workspace: Option<bool>,
    pub(crate) version: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) package: Option<String>,
    pub(crate) git: Option<String>,
    pub(crate) registry: Option<String>,
    pub(crate) registry_index: Option<String>,
    pub(crate) artifact: Option<toml::Value>,
    #[serde(alias = "default_features")]
    pub(crate) default_features: Option<bool>,
    pub(crate) optional: Option<bool>,
    pub(crate) features: Vec<String>,
}

/// By hand, because an untagged enum would answer "did not match any variant" to a typing error.
impl<'de> Deserialize<'de> for Dependency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DependencyVisitor)
    }
}

struct DependencyVisitor;

impl<'de> Visitor<'de> for DependencyVisitor {
    type Value = Dependency;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a version string like \"0.9.8\" or a detailed dependency like { version = \"0.9.8\" }",
        )
    }

    fn visit_str<E: serde::de::Error>(self, version: &str) -> Result<Dependency, E> {
        Ok(Dependency::Version(version.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Dependency, A::Error> {
        let detailed = Detailed::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Dependency::Detailed(Box::new(detailed)))
    }
}

impl Dependency {
    pub(crate) fn into_detailed(self) -> Detailed {
        match self {
            Self::Version(version) => Detailed { version: Some(version), ..Detailed::default() },
            Self::Detailed(detailed) => *detailed,
        }
    }

    /// Whether the line says `workspace = true`.
    pub(crate) fn inherits(&self) -> bool {
        matches!(self, Self::Detailed(detailed) if detailed.workspace == Some(true))
    }
}

/// The line, counted from one, on which byte `at` of `text` stands.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_dependency_is_read() {
        let text = "[package]\nname = \"a\"\nversion.workspace = true\n\
            [dependencies]\none = \"1\"\ntwo = { version = \"2\", optional = true }\n\
            three.workspace = true\n\
            [dev_dependencies]\nfour = { path = \"../four\", default_features = false }\n\
            [target.'cfg(unix)'.build-dependencies]\nfive = \"5\"\n";
        let manifest: Manifest = toml::from_str(text).unwrap();
        let deps = &manifest.dependencies;
        assert!(matches!(deps["one"].get_ref(), Dependency::Version(v) if v == "1"));
        assert!(deps["three"].get_ref().inherits());
        assert_eq!(line_of(text, deps["two"].span().start), 6);
        let four = manifest.dev_dependencies["four"].get_ref().clone().into_detailed();
        assert_eq!(four.default_features, Some(false));
        assert!(manifest.target["cfg(unix)"].build_dependencies.contains_key("five"));
    }

    #[test]
    fn a_number_as_dependency_is_explained() {
        let error = toml::from_str::<Manifest>("[dependencies]\na = 1\n").unwrap_err();
        assert!(error.message().contains("a version string like"), "{error}");
    }
}
