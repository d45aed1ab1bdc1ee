//! What `METADATA` says: name, version, dependencies, supported Python versions.
//!
//! Text in, answer out. Old packages carry requirements that today's grammar refuses; uv and pip
//! repair the common ones, and a package that no one can read is an error that names its line.

use anyhow::Context;
use pep440_rs::{Version, VersionSpecifiers};
use pep508_rs::{ExtraName, PackageName, Requirement};

use crate::headers::Headers;

/// The part of a package's metadata that an installer acts on.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub(crate) name: PackageName,
    pub(crate) version: Version,
    pub(crate) requires: Vec<Requirement>,
    pub(crate) requires_python: Option<VersionSpecifiers>,
    pub(crate) extras: Vec<ExtraName>,
}

impl Metadata {
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let headers = Headers::parse(text);
        Ok(Self {
            name: parsed(&headers, "Name")?,
            version: parsed(&headers, "Version")?,
            requires: requirements(&headers)?,
            requires_python: requires_python(&headers)?,
            extras: headers.all("Provides-Extra").filter_map(|extra| extra.parse().ok()).collect(),
        })
    }
}

fn parsed<T: std::str::FromStr>(headers: &Headers, key: &str) -> anyhow::Result<T>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    let value = headers.first(key).with_context(|| format!("METADATA has no `{key}`"))?;
    value.parse().with_context(|| format!("METADATA has an invalid `{key}: {value}`"))
}

fn requirements(headers: &Headers) -> anyhow::Result<Vec<Requirement>> {
    headers.all("Requires-Dist").map(requirement).collect()
}

fn requirement(line: &str) -> anyhow::Result<Requirement> {
    line.parse()
        .or_else(|error| repaired(line).parse().map_err(|_: pep508_rs::Pep508Error| error))
        .with_context(|| format!("METADATA has an invalid `Requires-Dist: {line}`"))
}

fn requires_python(headers: &Headers) -> anyhow::Result<Option<VersionSpecifiers>> {
    let Some(text) = headers.first("Requires-Python") else { return Ok(None) };
    specifiers(text).map(Some)
}

/// Reads specifiers, repairing what is commonly wrong in old packages.
pub(crate) fn specifiers(text: &str) -> anyhow::Result<VersionSpecifiers> {
    text.parse()
        .or_else(|error| {
            repaired(text).parse().map_err(|_: pep440_rs::VersionSpecifiersParseError| error)
        })
        .with_context(|| format!("invalid version specifiers `{text}`"))
}

/// Drops a trailing comma, quotes around versions, and the star of `>=2.7.*`.
fn repaired(text: &str) -> String {
    let (requirement, marker) = text.split_once(';').map_or((text, None), |(a, b)| (a, Some(b)));
    let mut clauses: Vec<String> = requirement.split(',').map(repaired_clause).collect();
    clauses.retain(|clause| !clause.trim().is_empty());
    let repaired = clauses.join(",").replace(",)", ")");
    marker.map_or_else(|| repaired.clone(), |marker| format!("{repaired};{marker}"))
}

fn repaired_clause(clause: &str) -> String {
    let clause = clause.replace(['\'', '"'], "");
    let starred = [">=", "<=", ">", "<", "~="].iter().any(|operator| clause.contains(operator));
    if starred && !clause.contains("==") { clause.replace(".*", "") } else { clause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_an_installer_acts_on_are_read() {
        let metadata = Metadata::parse(
            "Metadata-Version: 2.1\nName: A.b\nVersion: 1.0\nRequires-Python: >=3.9\n\
             Provides-Extra: X\nRequires-Dist: c>=1; extra == 'x'\n\nbody",
        )
        .unwrap();
        assert_eq!(metadata.name.to_string(), "a-b");
        assert_eq!(metadata.requires[0].name.to_string(), "c");
        assert_eq!(metadata.extras[0].to_string(), "x");
        assert!(metadata.requires_python.unwrap().contains(&Version::new([3, 12])));
    }

    #[test]
    fn common_faults_of_old_packages_are_repaired() {
        assert_eq!(requirement("a (>=2.7.*,)").unwrap().to_string(), "a>=2.7");
        assert_eq!(specifiers(">='3.6'").unwrap().to_string(), ">=3.6");
        assert_eq!(specifiers("==3.*").unwrap().to_string(), "==3.*");
    }

    #[test]
    fn what_nobody_can_read_is_an_error_that_names_the_line() {
        let text = "Name: a\nVersion: 1\nRequires-Dist: !!\n";
        assert!(format!("{:#}", Metadata::parse(text).unwrap_err()).contains("Requires-Dist: !!"));
        assert!(Metadata::parse("Name: a\n").unwrap_err().to_string().contains("Version"));
    }
}
