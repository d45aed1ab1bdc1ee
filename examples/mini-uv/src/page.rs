//! Reads what an index says about one package: JSON (PEP 691) or the older HTML (PEP 503).
//!
//! Bytes in, files out. A file that no one could install (an egg, an installer, a name that is no
//! wheel) is left out, as the index may hold anything.

use anyhow::Context;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::catalog::Releases;
use crate::dist::{Dist, Location};
use crate::metadata;
use crate::record;
use crate::request::{decode_percent, is_source};
use crate::wheel_name::WheelName;

/// One file of a package, in the form that the cache keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) sha256: Option<String>,
    pub(crate) requires_python: Option<String>,
    /// The reason, which may be empty.
    pub(crate) yanked: Option<String>,
    pub(crate) has_metadata: bool,
    #[serde(default)]
    pub(crate) bytes: Option<u64>,
}

#[derive(Deserialize)]
struct JsonPage {
    files: Vec<JsonFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct JsonFile {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    requires_python: Option<String>,
    #[serde(default)]
    yanked: Flag,
    #[serde(default)]
    core_metadata: Flag,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default, rename = "data-dist-info-metadata")]
    dist_info_metadata: Flag,
}

/// `true`, `false`, a text or a table: the specifications use them all.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Flag {
    #[default]
    Absent,
    Bool(bool),
    Text(String),
    Other(serde_json::Value),
}

impl Flag {
    fn is_set(&self) -> bool {
        match self {
            Self::Absent => false,
            Self::Bool(set) => *set,
            Self::Text(_) => true,
            Self::Other(value) => !value.is_null(),
        }
    }

    fn into_reason(self) -> Option<String> {
        match self {
            Self::Text(reason) => Some(reason),
            flag => flag.is_set().then(String::new),
        }
    }
}

/// Reads a JSON page that was found at `base`.
pub(crate) fn parse_json(bytes: &[u8], base: &Url) -> anyhow::Result<Vec<File>> {
    let page: JsonPage =
        serde_json::from_slice(bytes).context("the index's answer is not the JSON of PEP 691")?;
    page.files.into_iter().map(|file| from_json(file, base)).collect()
}

fn from_json(file: JsonFile, base: &Url) -> anyhow::Result<File> {
    let url = base.join(&file.url).with_context(|| format!("`{}` is no address", file.url))?;
    Ok(File {
        name: file.filename,
        url: url.to_string(),
        sha256: file.hashes.get("sha256").cloned(),
        requires_python: file.requires_python,
        yanked: file.yanked.into_reason(),
        has_metadata: file.core_metadata.is_set() || file.dist_info_metadata.is_set(),
        bytes: file.size,
    })
}

/// Reads the links of an HTML page that was found at `base`.
pub(crate) fn parse_html(text: &str, base: &Url) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut rest = text;
    while let Some((_, tail)) = rest.split_once("<a") {
        let Some((tag, after)) = tail.split_once('>') else { break };
        rest = after;
        if tag.starts_with(char::is_whitespace) {
            files.extend(from_anchor(&attributes(tag), base)?);
        }
    }
    Ok(files)
}

fn from_anchor(attributes: &[(String, String)], base: &Url) -> anyhow::Result<Option<File>> {
    let get =
        |name: &str| attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let Some(href) = get("href") else { return Ok(None) };
    let mut url = base.join(&href).with_context(|| format!("`{href}` is no address"))?;
    let fragment = url.fragment().unwrap_or_default().to_owned();
    url.set_fragment(None);
    let name = url.path_segments().and_then(Iterator::last).unwrap_or_default();
    Ok(Some(File {
        name: decode_percent(name),
        sha256: fragment
            .split('&')
            .find_map(|part| part.strip_prefix("sha256="))
            .map(str::to_owned),
        requires_python: get("data-requires-python"),
        yanked: get("data-yanked"),
        has_metadata: get("data-core-metadata")
            .or_else(|| get("data-dist-info-metadata"))
            .is_some(),
        bytes: None,
        url: url.to_string(),
    }))
}

/// `key="value"` pairs, and keys alone, with character references decoded.
fn attributes(tag: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = tag.trim().trim_end_matches('/');
    while !rest.is_empty() {
        let end = rest
            .find(|character: char| character == '=' || character.is_whitespace())
            .unwrap_or(rest.len());
        let (key, tail) = rest.split_at(end);
        let (value, tail) = match tail.trim_start().strip_prefix('=') {
            Some(tail) => attribute_value(tail.trim_start()),
            None => ("", tail),
        };
        if !key.is_empty() {
            found.push((key.to_ascii_lowercase(), unescape(value)));
        }
        rest = tail.trim_start();
    }
    found
}

fn attribute_value(text: &str) -> (&str, &str) {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
        _ => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    }
}

fn unescape(text: &str) -> String {
    let named = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&#34;", "\""),
        ("&amp;", "&"),
    ];
    named.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

/// The releases that the files make up.
pub(crate) fn releases(files: &[File], package: &pep508_rs::PackageName) -> Releases {
    let mut releases = Releases::default();
    for file in files {
        if let Some(dist) = dist(file).filter(|dist| dist.wheel.name == *package) {
            releases.add(dist);
        } else if let Some(version) = source_version(&file.name, package) {
            releases.add_source(version);
        }
    }
    releases
}

pub(crate) fn dist(file: &File) -> Option<Dist> {
    let wheel: WheelName = file.name.parse().ok()?;
    Some(Dist {
        wheel,
        location: Location::Url(file.url.parse().ok()?),
        sha256: file.sha256.as_deref().and_then(record::unhex),
        requires_python: file
            .requires_python
            .as_deref()
            .and_then(|text| metadata::specifiers(text).ok()),
        yanked: file.yanked.clone(),
        has_metadata_file: file.has_metadata,
        bytes: file.bytes,
    })
}

/// The version of `name-1.0.tar.gz`.
pub(crate) fn source_version(
    file: &str,
    package: &pep508_rs::PackageName,
) -> Option<pep440_rs::Version> {
    if !is_source(file) {
        return None;
    }
    let stem = file
        .strip_suffix(".tar.gz")
        .or_else(|| file.strip_suffix(".zip"))
        .or_else(|| file.rsplit_once('.').map(|(stem, _)| stem))?;
    let at = stem
        .match_indices('-')
        .find(|(at, _)| {
            stem[..*at].parse().is_ok_and(|name: pep508_rs::PackageName| name == *package)
        })?
        .0;
    stem[at + 1..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Url {
        "https://host.test/simple/foo/".parse().unwrap()
    }

    #[test]
    fn json_and_html_say_the_same() {
        let json = br#"{"meta":{"api-version":"1.1"},"files":[
            {"filename":"foo-1.0-py3-none-any.whl","url":"../../f/foo-1.0-py3-none-any.whl",
             "hashes":{"sha256":"ab"},"requires-python":">=3.9","yanked":"why","core-metadata":{"sha256":"cd"}},
            {"filename":"foo-2.0-py3-none-any.whl","url":"foo-2.0-py3-none-any.whl","hashes":{},"yanked":false}]}"#;
        let html = r#"<!DOCTYPE html><a href="../../f/foo-1.0-py3-none-any.whl#sha256=ab"
            data-requires-python="&gt;=3.9" data-yanked='why' data-core-metadata="true">foo</a>
            <abbr href=no>x</abbr><A href=nothing></A><a href=foo-2.0-py3-none-any.whl>foo</a>"#;
        let from_json = parse_json(json, &base()).unwrap();
        assert_eq!(from_json, parse_html(html, &base()).unwrap());
        assert_eq!(from_json[0].url, "https://host.test/f/foo-1.0-py3-none-any.whl");
        assert_eq!(from_json[0].yanked.as_deref(), Some("why"));
    }

    #[test]
    fn sources_count_as_versions_without_wheels() {
        let foo = "foo-bar".parse().unwrap();
        let version = |file: &str| source_version(file, &foo).map(|version| version.to_string());
        assert_eq!(version("foo-bar-1.0.tar.gz").as_deref(), Some("1.0"));
        assert_eq!(version("foo_bar-1.0rc1.zip").as_deref(), Some("1.0rc1"));
        assert_eq!(version("foo-1.0.tar.gz"), None);
        assert_eq!(version("foo_bar-1.0-py3-none-any.whl"), None);
    }

    #[test]
    fn other_json_is_an_error() {
        assert!(parse_json(b"{}", &base()).is_err());
        assert!(parse_json(b"<html>", &base()).is_err());
    }
}
