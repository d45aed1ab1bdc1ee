//! What a wheel's file name says: name, version, build tag and the tags it is compatible with.
//!
//! # References
//!
//! The binary distribution format, "File name convention", of the Python packaging user guide.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use pep440_rs::Version;
use pep508_rs::PackageName;

/// A parsed `name-version[-build]-python-abi-platform.whl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WheelName {
    pub(crate) name: PackageName,
    pub(crate) version: Version,
    /// Leading number, then the rest; no build tag sorts lowest.
    pub(crate) build: Option<(u64, String)>,
    pythons: Vec<String>,
    abis: Vec<String>,
    platforms: Vec<String>,
}

impl WheelName {
    /// Every single tag that the compressed sets stand for.
    pub(crate) fn tags(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.pythons.iter().flat_map(move |python| {
            self.abis.iter().flat_map(move |abi| {
                self.platforms.iter().map(move |platform| (&**python, &**abi, &**platform))
            })
        })
    }

    /// `cp312-cp312-linux_x86_64`, as written.
    pub(crate) fn tag_text(&self) -> String {
        [self.pythons.join("."), self.abis.join("."), self.platforms.join(".")].join("-")
    }
}

impl FromStr for WheelName {
    type Err = anyhow::Error;

    fn from_str(file: &str) -> anyhow::Result<Self> {
        let stem = file.strip_suffix(".whl").context("its name does not end in `.whl`")?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (head, build, tags) = match *parts.as_slice() {
            [name, version, python, abi, platform] => {
                ((name, version), None, [python, abi, platform])
            }
            [name, version, build, python, abi, platform] => {
                ((name, version), Some(parse_build(build)?), [python, abi, platform])
            }
            _ => bail!(
                "a wheel's name has five or six parts between dashes, this has {}",
                parts.len()
            ),
        };
        ensure!(tags.iter().all(|tag| !tag.is_empty()), "a tag in its name is empty");
        let [pythons, abis, platforms] =
            tags.map(|set| set.split('.').map(str::to_owned).collect());
        Ok(Self {
            name: parse_name(head.0)?,
            version: parse_version(head.1)?,
            build,
            pythons,
            abis,
            platforms,
        })
    }
}

impl fmt::Display for WheelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=={}", self.name, self.version)
    }
}

fn parse_name(name: &str) -> anyhow::Result<PackageName> {
    name.parse().with_context(|| format!("`{name}` is not a package name"))
}

fn parse_version(version: &str) -> anyhow::Result<Version> {
    version.parse().with_context(|| format!("`{version}` is not a version"))
}

fn parse_build(build: &str) -> anyhow::Result<(u64, String)> {
    let digits = build.bytes().take_while(u8::is_ascii_digit).count();
    let number = build[..digits]
        .parse()
        .with_context(|| format!("a build tag starts with a number, `{build}` does not"))?;
    Ok((number, build[digits..].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_set_stands_for_every_combination() {
        let wheel: WheelName = "Foo.Bar-1.0-2a-py2.py3-none-any.whl".parse().unwrap();
        assert_eq!(wheel.to_string(), "foo-bar==1.0");
        assert_eq!(wheel.build, Some((2, "a".to_owned())));
        assert_eq!(
            wheel.tags().collect::<Vec<_>>(),
            [("py2", "none", "any"), ("py3", "none", "any")]
        );
    }

    #[test]
    fn names_that_are_not_wheels_are_refused() {
        for name in [
            "a-1.0.tar.gz",
            "a-1.0-py3-none.whl",
            "a-x-py3-none-any.whl",
            "a-1-b-py3-none-any.whl",
            "a-1-py3--any.whl",
        ] {
            assert!(name.parse::<WheelName>().is_err(), "{name}");
        }
    }
}
