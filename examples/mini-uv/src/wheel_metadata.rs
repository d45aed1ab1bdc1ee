//! METADATA of a wheel that is not unpacked: the cheapest way that its location offers.
//!
//! An index may serve it as a file of its own (PEP 658); else two small range requests reach it
//! inside the wheel; else the wheel is fetched whole. A local wheel is opened at its directory. The
//! answer is kept for good when the wheel's digest is known.
//!
//! What is read here decides versions only. The files that are installed are verified when they are
//! unpacked, and must then belong to the wheel's name and version.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Context, bail};
use index_cache::Put;
use url::Url;
use zip::ZipArchive;

use crate::cache::Cache;
use crate::dist::{Dist, Location};
use crate::fault::Advise;
use crate::http::{self, Http};
use crate::identity;
use crate::metadata::Metadata;
use crate::record;
use crate::remote::RemoteFile;
use crate::wheel;
use crate::wheel_name::WheelName;

const METADATA_BYTES_MAX: u64 = 16 << 20;

/// Reads the METADATA of `dist`.
pub(crate) fn read(dist: &Dist, http: &Http, cache: &Cache) -> anyhow::Result<Metadata> {
    let text = text(dist, http, cache)
        .with_context(|| format!("failed to read the metadata of {}", dist.wheel))?;
    let metadata = Metadata::parse(&text)
        .with_context(|| format!("failed to read the metadata of {}", dist.wheel))?;
    let same = metadata.name == dist.wheel.name && metadata.version == dist.wheel.version;
    anyhow::ensure!(
        same,
        "the metadata of {} is that of {} {}",
        dist.wheel,
        metadata.name,
        metadata.version
    );
    Ok(metadata)
}

fn text(dist: &Dist, http: &Http, cache: &Cache) -> anyhow::Result<String> {
    match &dist.location {
        Location::Installed(dist_info) => {
            let bytes = fs_err::read(dist_info.join("METADATA"))?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        Location::File(path) => {
            let key = format!("metadata/path/{}", path.display());
            let token = identity::of(path)?;
            kept(cache, &key, &token, || from_file(path, &dist.wheel))
        }
        Location::Url(url) => {
            let key = match &dist.sha256 {
                Some(digest) => format!("metadata/sha256/{}", record::hex(digest)),
                None => format!("metadata/url/{}", http::public(url)),
            };
            kept(cache, &key, b"", || from_url(dist, url, http))
        }
    }
}

/// What the cache has under `key`, or what `read` finds.
fn kept(
    cache: &Cache,
    key: &str,
    token: &[u8],
    read: impl FnOnce() -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    if let Some(text) = cache.body(key, token).and_then(|bytes| String::from_utf8(bytes).ok()) {
        return Ok(text);
    }
    let text = read()?;
    cache.put(key, &Put::new().token(token).body(text.as_bytes()));
    Ok(text)
}

fn from_file(path: &Path, wheel: &WheelName) -> anyhow::Result<String> {
    let file: File = fs_err::File::open(path)?.into_parts().0;
    from_zip(BufReader::new(file), wheel)
        .with_context(|| format!("failed to open `{}`", path.display()))
        .hint("if the wheel is damaged or ends early, download it again")
}

fn from_url(dist: &Dist, url: &Url, http: &Http) -> anyhow::Result<String> {
    if dist.has_metadata_file {
        return beside(url, http);
    }
    match RemoteFile::open(http, url)? {
        Some(file) => from_zip(BufReader::with_capacity(8 << 10, file), &dist.wheel),
        None => from_whole(url, http, &dist.wheel),
    }
}

/// The file that an index serves at the wheel's address with `.metadata` behind it.
fn beside(url: &Url, http: &Http) -> anyhow::Result<String> {
    let mut url = url.clone();
    url.set_path(&format!("{}.metadata", url.path()));
    let body = http::body(&url, http.get(&url, &[])?)?;
    let bytes = http::read_all(body, METADATA_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn from_whole(url: &Url, http: &Http, wheel: &WheelName) -> anyhow::Result<String> {
    tracing::debug!("`{}` is not served in parts", http::public(url));
    let body = http::body(url, http.get(url, &[])?)?;
    let mut file = tempfile::tempfile().context("failed to make a temporary file")?;
    std::io::copy(&mut body.into_with_config().limit(u64::MAX).reader(), &mut file)?;
    from_zip(BufReader::new(file), wheel)
}

/// The METADATA in the one `.dist-info` folder of an archive.
fn from_zip(file: impl Read + Seek, wheel: &WheelName) -> anyhow::Result<String> {
    let mut archive = ZipArchive::new(file).context("it is not a zip archive, or it ends early")?;
    let names = archive.file_names().map(|name| name.map(std::borrow::Cow::into_owned));
    let names: Vec<String> =
        names.collect::<Result<_, _>>().context("its directory cannot be read")?;
    let dist_info = wheel::dist_info(&names, wheel)?;
    let entry = archive.by_name(&format!("{dist_info}/METADATA")).context("it has no METADATA")?;
    let mut bytes = Vec::new();
    entry.take(METADATA_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > METADATA_BYTES_MAX {
        bail!("its METADATA has more than {METADATA_BYTES_MAX} bytes");
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
