//! A registry's sparse index: one small document per crate, asked for only when it changed.
//!
//! `GET {index}/{se}/{rd}/serde` with the validator of what is known gives 304 when that is still
//! right, 404, 410 or 451 when there is no such crate, and the document otherwise. Nothing is
//! stored here.

use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;

use crate::cargo_files::{self, CrateFile};
use crate::lock::Locked;
use crate::net::{Client, Failure, Response};

/// Requests that are under way at once.
const REQUESTS_MAX: usize = 8;
/// No crate's document is anywhere near this.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// A sparse index.
#[derive(Debug)]
pub(crate) struct Sparse {
    client: Client,
    /// Ends with a slash.
    root: String,
}

/// What the registry says about a crate.
#[derive(Debug)]
pub(crate) enum Answer {
    NotModified,
    Document(CrateFile),
    Missing,
}

/// `config.json`
#[derive(Debug, Deserialize)]
struct RegistryConfig {
    dl: String,
}

impl Sparse {
    /// `None` for an index that is a git repository.
    pub(crate) fn new(client: Client, url: &str) -> Option<Self> {
        let root = url.strip_prefix("sparse+")?.trim_end_matches('/');
        Some(Self { client, root: format!("{root}/") })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Asks for many crates at once; each with the revision of what is known, if anything.
    pub(crate) fn ask_all(
        &self,
        asked: &[(String, Option<String>)],
    ) -> Result<Vec<(String, Answer)>> {
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Ok(Vec::with_capacity(asked.len())));
        thread::scope(|scope| {
            for _ in 0..REQUESTS_MAX.min(asked.len()) {
                scope.spawn(|| {
                    while let Some((key, revision)) =
                        asked.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        let answer = self.ask(key, revision.as_deref());
                        let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                        match (answer, &mut *answers) {
                            (Ok(answer), Ok(all)) => all.push((key.clone(), answer)),
                            (Err(error), all) => {
                                next.store(asked.len(), Ordering::Relaxed);
                                *all = Err(error);
                            }
                            (Ok(_), Err(_)) => {}
                        }
                    }
                });
            }
        });
        answers.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, key: &str, revision: Option<&str>) -> Result<Answer> {
        let url = format!("{}{}", self.root, cargo_files::relative(key));
        self.client
            .persist(|| self.ask_once(&url, revision))
            .with_context(|| format!("failed to get `{key}` from the registry's index"))
    }

    fn ask_once(&self, url: &str, revision: Option<&str>) -> Result<Answer, Failure> {
        let condition = revision.and_then(|revision| {
            let (kind, value) = revision.split_once(": ")?;
            Some((if kind == "etag" { "if-none-match" } else { "if-modified-since" }, value))
        });
        let mut headers = vec![("cargo-protocol", "version=1"), ("accept", "text/plain")];
        headers.extend(condition);
        let mut response = self.client.get(url, &headers)?;
        match response.status().as_u16() {
            200 => document(&mut response, url).map(Answer::Document),
            304 => Ok(Answer::NotModified),
            404 | 410 | 451 => Ok(Answer::Missing),
            status => Err(Failure::permanent(anyhow!("`{url}` answered {status}"))),
        }
    }

    /// Where archives are.
    pub(crate) fn archive_template(&self) -> Result<ArchiveTemplate> {
        let url = format!("{}config.json", self.root);
        let text = self
            .client
            .persist(|| text(&mut self.client.get(&url, &[])?, &url))
            .context("failed to get the registry's configuration")?;
        let config: RegistryConfig = serde_json::from_slice(&text)
            .with_context(|| format!("`{url}` is no registry's configuration"))?;
        Ok(ArchiveTemplate(config.dl))
    }
}

/// A registry's `dl`: an address with or without markers.
#[derive(Debug)]
pub(crate) struct ArchiveTemplate(String);

impl ArchiveTemplate {
    pub(crate) fn of(&self, package: &Locked) -> String {
        let checksum = package.checksum.as_deref().unwrap_or_default();
        fill(&self.0, package.id.name.as_str(), &package.id.version.to_string(), checksum)
    }
}

fn document(response: &mut Response, url: &str) -> Result<CrateFile, Failure> {
    let header = |name| response.headers().get(name)?.to_str().ok();
    let revision = match (header("etag"), header("last-modified")) {
        (Some(etag), _) => format!("etag: {etag}"),
        (None, Some(time)) => format!("last-modified: {time}"),
        (None, None) => "Unknown".to_owned(),
    };
    let body = text(response, url)?;
    let file = cargo_files::parse_lines(&body, revision);
    file.map_err(|error| Failure::permanent(error.context(format!("`{url}` makes no sense"))))
}

fn text(response: &mut Response, url: &str) -> Result<Vec<u8>, Failure> {
    if response.status().as_u16() != 200 {
        let error = anyhow!("`{url}` answered {}", response.status());
        return Err(Failure::permanent(error));
    }
    let mut bytes = Vec::new();
    let mut reader = response.body_mut().with_config().limit(DOCUMENT_BYTES_MAX).reader();
    reader.read_to_end(&mut bytes).map_err(|error| Failure::reading(error, url))?;
    Ok(bytes)
}

/// The markers of a registry's `dl`; without any, the usual path is appended.
fn fill(dl: &str, name: &str, version: &str, checksum: &str) -> String {
    let prefix = |name: &str| {
        let path = cargo_files::relative(name);
        path.rsplit_once('/').map_or(String::new(), |(prefix, _)| prefix.to_owned())
    };
    let markers = [
        ("{crate}", name.to_owned()),
        ("{version}", version.to_owned()),
        ("{prefix}", prefix(name)),
        ("{lowerprefix}", prefix(&name.to_lowercase())),
        ("{sha256-checksum}", checksum.to_owned()),
    ];
    if !markers.iter().any(|(marker, _)| dl.contains(marker)) {
        return format!("{dl}/{name}/{version}/download");
    }
    markers.iter().fold(dl.to_owned(), |url, (marker, value)| url.replace(marker, value))
}

/// A registry that can be asked, or why not.
pub(crate) fn require(sparse: Option<&Sparse>) -> Result<&Sparse> {
    match sparse {
        Some(sparse) => Ok(sparse),
        None => bail!(
            "a download is needed, but mini-cargo is offline\n\
             help: run it again without --offline (and without `net.offline` in cargo's configuration)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_where_the_registry_says() {
        let url = |dl| fill(dl, "Serde", "1.0.0", "abc");
        assert_eq!(url("http://x/dl"), "http://x/dl/Serde/1.0.0/download");
        assert_eq!(
            url("http://x/{prefix}/{lowerprefix}/{crate}-{version}.crate?{sha256-checksum}"),
            "http://x/Se/rd/se/rd/Serde-1.0.0.crate?abc"
        );
    }
}
