//! Asks an index which files a package has, and remembers the answer for as long as the server allows.
//!
//! An answer is kept with its policy: when it came, how long it is fresh, and the marks (`ETag`,
//! `Last-Modified`) to ask with whether it changed. A 304 renews the policy and leaves the answer; a
//! 404 is remembered too. Offline, any age will do.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use index_cache::Put;
use pep508_rs::PackageName;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::cache::Cache;
use crate::catalog::Releases;
use crate::http::{self, Http, Response};
use crate::page::{self, File};

const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";

/// How long an answer without a policy is fresh, in seconds; uv and pip use the same.
const FRESH_S: u64 = 600;

/// The largest answer that is read. The largest real ones have about 30 MB.
const PAGE_BYTES_MAX: u64 = 256 << 20;

/// One index.
#[derive(Debug)]
pub(crate) struct Index {
    base: Url,
}

/// When an answer came, and how to ask whether it still holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Policy {
    fetched_unix_s: u64,
    /// None when the server did not say.
    fresh_s: Option<u64>,
    etag: Option<String>,
    last_modified: Option<String>,
}

/// How an answer of the cache may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// While the server's policy holds.
    Policy,
    /// Always: there is no network.
    AnyAge,
    /// Only after asking the server.
    Revalidate,
}

/// What the cache knows: a page, or that there is none.
struct Known {
    policy: Policy,
    files: Option<Vec<File>>,
}

impl Index {
    /// The index whose pages are at `base`, one folder per package.
    pub(crate) fn new(base: &str) -> anyhow::Result<Self> {
        let with_slash = if base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
        let base = with_slash
            .parse()
            .with_context(|| format!("`{base}` is not the address of an index"))?;
        Ok(Self { base })
    }

    /// The address, without credentials.
    pub(crate) fn public(&self) -> Url {
        http::public(&self.base)
    }

    /// The releases of a package; none when the index does not know it.
    pub(crate) fn releases(
        &self,
        package: &PackageName,
        http: &Http,
        cache: &Cache,
        freshness: Freshness,
    ) -> anyhow::Result<Option<Releases>> {
        let key = format!("simple/{}{package}", self.public());
        let mut known = recall(cache, &key);
        known.iter_mut().flat_map(|known| &mut known.files).flatten().for_each(|file| {
            self.lend_credentials(file);
        });
        if let Some(known) = known.as_ref().filter(|known| known.policy.holds(freshness)) {
            return Ok(known.files.as_deref().map(|files| page::releases(files, package)));
        }
        let url = self
            .base
            .join(&format!("{package}/"))
            .context("the address of the index takes no folders")?;
        let response = ask(&url, http, known.as_ref().map(|known| &known.policy))?;
        let policy = Policy::of(&response);
        let files = match (response.status().as_u16(), known) {
            (304, Some(known)) => {
                touch(cache, &key, &policy.or(known.policy));
                known.files
            }
            (404, _) => {
                remember_absence(cache, &key, &policy);
                None
            }
            _ => Some(self.read(&url, response, cache, &key, &policy)?),
        };
        Ok(files.as_deref().map(|files| page::releases(files, package)))
    }

    fn read(
        &self,
        url: &Url,
        response: Response,
        cache: &Cache,
        key: &str,
        policy: &Policy,
    ) -> anyhow::Result<Vec<File>> {
        let json =
            http::header(&response, "Content-Type").is_some_and(|kind| kind.contains("json"));
        let bytes = http::read_all(http::body(url, response)?, PAGE_BYTES_MAX)?;
        let mut files = if json {
            page::parse_json(&bytes, url)
        } else {
            page::parse_html(&String::from_utf8_lossy(&bytes), url)
        }
        .with_context(|| format!("failed to read `{}`", http::public(url)))?;
        for file in &mut files {
            self.lend_credentials(file);
        }
        let body = serde_json::to_vec(&files.iter().map(without_credentials).collect::<Vec<_>>())?;
        cache.put(key, &Put::new().token(&policy.encode()).body(&body));
        Ok(files)
    }

    /// Files on the index's own host are fetched with the index's credentials.
    fn lend_credentials(&self, file: &mut File) {
        let Ok(mut url) = file.url.parse::<Url>() else { return };
        if url.host() == self.base.host() && url.username().is_empty() {
            url.set_username(self.base.username()).unwrap_or(());
            url.set_password(self.base.password()).unwrap_or(());
            file.url = url.to_string();
        }
    }
}

/// Credentials stay out of the cache.
fn without_credentials(file: &File) -> File {
    let url =
        file.url.parse().map_or_else(|_| file.url.clone(), |url| http::public(&url).to_string());
    File { url, ..file.clone() }
}

fn ask(url: &Url, http: &Http, known: Option<&Policy>) -> anyhow::Result<Response> {
    let mut headers = vec![("Accept", ACCEPT)];
    if let Some(etag) = known.and_then(|policy| policy.etag.as_deref()) {
        headers.push(("If-None-Match", etag));
    }
    if let Some(date) = known.and_then(|policy| policy.last_modified.as_deref()) {
        headers.push(("If-Modified-Since", date));
    }
    http.get(url, &headers)
}

fn recall(cache: &Cache, key: &str) -> Option<Known> {
    let entry = cache.heard(cache.index.get(key))??;
    let policy = serde_json::from_slice(entry.token()).ok()?;
    if entry.is_negative() {
        return Some(Known { policy, files: None });
    }
    let files = serde_json::from_slice(cache.heard(entry.body())?).ok()?;
    Some(Known { policy, files: Some(files) })
}

fn touch(cache: &Cache, key: &str, policy: &Policy) {
    let mut batch = cache.index.batch();
    if cache.heard(batch.touch(key, &policy.encode())).is_some() {
        cache.commit(batch);
    }
}

fn remember_absence(cache: &Cache, key: &str, policy: &Policy) {
    let mut batch = cache.index.batch();
    if cache.heard(batch.put_negative(key, &policy.encode())).is_some() {
        cache.commit(batch);
    }
}

impl Policy {
    fn of(response: &Response) -> Self {
        let text = |name: &str| http::header(response, name).map(str::to_owned);
        let fresh_s = http::header(response, "Cache-Control").and_then(fresh_s);
        Self {
            fetched_unix_s: now_s(),
            fresh_s,
            etag: text("ETag"),
            last_modified: text("Last-Modified"),
        }
    }

    /// This answer, and what `older` said where it says nothing: a 304 is often bare.
    fn or(self, older: Self) -> Self {
        Self {
            etag: self.etag.or(older.etag),
            last_modified: self.last_modified.or(older.last_modified),
            fresh_s: self.fresh_s.or(older.fresh_s),
            ..self
        }
    }

    fn holds(&self, freshness: Freshness) -> bool {
        match freshness {
            Freshness::AnyAge => true,
            Freshness::Revalidate => false,
            // An answer from the future was written by another clock.
            Freshness::Policy => {
                let age = now_s().checked_sub(self.fetched_unix_s);
                age.is_some_and(|age_s| age_s < self.fresh_s.unwrap_or(FRESH_S))
            }
        }
    }

    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Seconds of freshness that a Cache-Control header grants, if it says.
fn fresh_s(header: &str) -> Option<u64> {
    let directives: Vec<&str> = header.split(',').map(str::trim).collect();
    if directives.iter().any(|directive| matches!(*directive, "no-cache" | "no-store")) {
        return Some(0);
    }
    directives.iter().find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok())
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_holds_for_as_long_as_the_server_said() {
        assert_eq!(fresh_s("public, max-age=30"), Some(30));
        assert_eq!(fresh_s("no-cache, max-age=30"), Some(0));
        assert_eq!(fresh_s("public"), None);
        let policy = |age_s, fresh_s| Policy {
            fetched_unix_s: now_s() - age_s,
            fresh_s: Some(fresh_s),
            ..Policy::default()
        };
        assert!(policy(5, 60).holds(Freshness::Policy));
        assert!(!policy(100, 60).holds(Freshness::Policy));
        assert!(policy(100, 60).holds(Freshness::AnyAge));
        assert!(!policy(5, 60).holds(Freshness::Revalidate));
        assert!(
            !Policy { fetched_unix_s: now_s() + 1000, fresh_s: Some(60), ..Policy::default() }
                .holds(Freshness::Policy)
        );
    }
}
