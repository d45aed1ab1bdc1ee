//! What the user asks for: a name with specifiers, a wheel file, or the address of a wheel.
//!
//! Text in, request out. Whether it can be had is for `resolve.rs`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use pep440_rs::VersionSpecifiers;
use pep508_rs::{ExtraName, MarkerTree, PackageName, Requirement, VersionOrUrl};
use url::Url;

use crate::dist::{Dist, Location};
use crate::fault::Advise;
use crate::record;
use crate::wheel_name::WheelName;

/// One thing that the user asks for.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) name: PackageName,
    pub(crate) extras: Vec<ExtraName>,
    pub(crate) specifiers: VersionSpecifiers,
    pub(crate) marker: MarkerTree,
    /// The wheel itself, when it was named directly.
    pub(crate) direct: Option<Direct>,
    /// Digests of which the archive must have one; empty: any.
    pub(crate) hashes: Vec<[u8; 32]>,
    /// As the user wrote it.
    pub(crate) text: String,
}

/// A wheel that was named directly.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) dist: Dist,
    /// For `direct_url.json`.
    pub(crate) url: String,
}

impl Request {
    /// Reads what a person types or a requirements file in `folder` has on a line.
    pub(crate) fn parse(text: &str, folder: &Path) -> anyhow::Result<Self> {
        let text = text.trim();
        if let Some((target, extras)) = as_target(text) {
            return Self::direct(text, None, extras, target, folder);
        }
        let requirement: Requirement = text
            .parse()
            .map_err(|error: pep508_rs::Pep508Error| anyhow::anyhow!("{error}"))
            .with_context(|| format!("failed to read the requirement `{text}`"))
            .hint_with(|| advice(text, folder))?;
        Self::from_requirement(text, requirement, folder)
    }

    fn from_requirement(
        text: &str,
        requirement: Requirement,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let Requirement { name, extras, version_or_url, marker, .. } = requirement;
        match version_or_url {
            Some(VersionOrUrl::Url(url)) => {
                let mut request =
                    Self::direct(text, Some(&name), extras, url.raw().as_str(), folder)?;
                request.marker = marker;
                Ok(request)
            }
            Some(VersionOrUrl::VersionSpecifier(specifiers)) => {
                Ok(Self::named(text, name, extras, specifiers, marker))
            }
            None => Ok(Self::named(text, name, extras, VersionSpecifiers::empty(), marker)),
        }
    }

    fn named(
        text: &str,
        name: PackageName,
        extras: Vec<ExtraName>,
        specifiers: VersionSpecifiers,
        marker: MarkerTree,
    ) -> Self {
        Self {
            name,
            extras,
            specifiers,
            marker,
            direct: None,
            hashes: Vec::new(),
            text: text.to_owned(),
        }
    }

    fn direct(
        text: &str,
        name: Option<&PackageName>,
        extras: Vec<ExtraName>,
        target: &str,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let (location, url, sha256) = locate(target, folder)?;
        let wheel = wheel_of(&location)
            .with_context(|| format!("failed to read the requirement `{text}`"))?;
        if let Some(name) = name.filter(|name| **name != wheel.name) {
            bail!("`{text}` names {name} and the wheel of {}", wheel.name);
        }
        let mut dist = Dist::direct(wheel, location);
        dist.sha256 = sha256;
        Ok(Self {
            name: dist.wheel.name.clone(),
            extras,
            specifiers: VersionSpecifiers::empty(),
            marker: MarkerTree::TRUE,
            hashes: sha256.into_iter().collect(),
            direct: Some(Direct { dist, url }),
            text: text.to_owned(),
        })
    }
}

/// The path or address in `text`, and the extras behind it, when it is no requirement.
fn as_target(text: &str) -> Option<(&str, Vec<ExtraName>)> {
    let (target, extras) = match text.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((target, extras)) => {
            (target, extras.split(',').filter_map(|extra| extra.trim().parse().ok()).collect())
        }
        None => (text, Vec::new()),
    };
    let without_fragment = target.split('#').next().unwrap_or(target);
    let url = ["file:", "http:", "https:"].iter().any(|scheme| target.starts_with(scheme));
    let wheel =
        without_fragment.len() > 4 && without_fragment.to_ascii_lowercase().ends_with(".whl");
    (url || wheel && !text.contains(" @ ") && !text.contains('@')).then_some((target, extras))
}

/// Where `target` is, its address for the record, and the digest in its fragment.
fn locate(target: &str, folder: &Path) -> anyhow::Result<(Location, String, Option<[u8; 32]>)> {
    if let Ok(mut url) = Url::parse(target)
        && url.scheme().len() > 1
    {
        let sha256 = digest_in_fragment(&url)?;
        url.set_fragment(None);
        let text = url.to_string();
        let location = match url.scheme() {
            "file" => Location::File(
                url.to_file_path().ok().with_context(|| format!("`{url}` is no path here"))?,
            ),
            "http" | "https" => Location::Url(url),
            scheme => {
                bail!("`{target}` has the scheme `{scheme}`, only file, http and https are read")
            }
        };
        return Ok((location, text, sha256));
    }
    let path = std::path::absolute(folder.join(target))?;
    let url = Url::from_file_path(&path)
        .ok()
        .with_context(|| format!("`{}` has no address", path.display()))?;
    Ok((Location::File(path), url.to_string(), None))
}

/// `#sha256=...`, alone or among other parts.
fn digest_in_fragment(url: &Url) -> anyhow::Result<Option<[u8; 32]>> {
    let mut parts = url.fragment().unwrap_or_default().split('&');
    let Some(hex) = parts.find_map(|part| part.strip_prefix("sha256=")) else {
        return Ok(None);
    };
    record::unhex(hex).map(Some).with_context(|| format!("`{hex}` is no SHA-256"))
}

/// What the file name at a location says.
fn wheel_of(location: &Location) -> anyhow::Result<WheelName> {
    let file = match location {
        Location::Url(url) => file_name(url),
        Location::File(path) | Location::Installed(path) => {
            path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned()
        }
    };
    if is_source(&file) {
        return Err(anyhow::anyhow!(
            "`{file}` is a source distribution, which this tool does not build"
        ))
        .hint(format!("build a wheel of it first: `pip wheel --no-deps {file}`"));
    }
    file.parse().with_context(|| format!("`{file}` is not the name of a wheel"))
}

/// The last part of an address, decoded.
pub(crate) fn file_name(url: &Url) -> String {
    let last = url.path_segments().and_then(Iterator::last).unwrap_or_default();
    decode_percent(last)
}

/// `%2B` and its like.
pub(crate) fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let decoded = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// True for the archives that source distributions come in.
pub(crate) fn is_source(file: &str) -> bool {
    [".tar.gz", ".zip", ".tar.bz2", ".tar.xz", ".tgz"].iter().any(|suffix| file.ends_with(suffix))
}

/// What may have been meant.
fn advice(text: &str, folder: &Path) -> String {
    let path: PathBuf = folder.join(text);
    if path.is_dir() {
        return format!(
            "`{text}` is a folder: build a wheel of it first, `pip wheel --no-deps {text}`"
        );
    }
    if is_source(text) {
        return format!(
            "this tool does not build source distributions: `pip wheel --no-deps {text}` makes a wheel"
        );
    }
    if path.is_file() {
        return format!("to read requirements from the file `{text}`, use `-r {text}`");
    }
    "a requirement looks like `name`, `name==1.0`, `name[extra]>=2; python_version < '3.12'`"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> anyhow::Result<Request> {
        Request::parse(text, Path::new("/w"))
    }

    #[test]
    fn names_files_and_addresses_are_told_apart() {
        let named = parse("Foo[x]>=1; os_name == 'posix'").unwrap();
        assert_eq!((named.name.to_string(), named.extras.len()), ("foo".to_owned(), 1));
        let file = parse("sub/foo-1.0-py3-none-any.whl[x]").unwrap();
        assert_eq!(file.direct.unwrap().url, "file:///w/sub/foo-1.0-py3-none-any.whl");
        let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let url = parse(&format!("https://host.test/foo-1.0%2Bx-py3-none-any.whl#sha256={digest}"))
            .unwrap();
        assert_eq!(url.direct.unwrap().dist.wheel.to_string(), "foo==1.0+x");
        assert_eq!(url.hashes.len(), 1);
        let at = parse("foo @ https://host.test/foo-1.0-py3-none-any.whl").unwrap();
        assert!(at.direct.is_some());
    }

    #[test]
    fn what_cannot_be_installed_says_what_to_do() {
        for (text, hint) in [
            ("https://host.test/foo-1.0.tar.gz", "pip wheel"),
            ("foo-1.0.tar.gz", "pip wheel"),
            ("??", "looks like"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(crate::fault::hints(&error).join(" ").contains(hint), "{error:#}");
        }
        assert!(parse("bar @ https://host.test/foo-1.0-py3-none-any.whl").is_err());
    }
}
