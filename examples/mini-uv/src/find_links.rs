//! `--find-links`: wheels in a folder, or linked from a page.
//!
//! A folder is listed once and nothing in it is opened: a wheel's name says enough to choose it.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, bail};
use pep508_rs::PackageName;
use url::Url;

use crate::catalog::Releases;
use crate::dist::{Dist, Location};
use crate::fault::Advise;
use crate::http::{self, Http};
use crate::page;
use crate::request::is_source;
use crate::wheel_name::WheelName;

const PAGE_BYTES_MAX: u64 = 256 << 20;

/// What the places hold, by package.
pub(crate) type Links = HashMap<PackageName, Releases>;

/// Adds everything that `place`, a folder or an address, holds.
pub(crate) fn read(place: &str, http: &Http, links: &mut Links) -> anyhow::Result<()> {
    match Url::parse(place) {
        Ok(url) if url.scheme() == "file" => {
            let path =
                url.to_file_path().ok().with_context(|| format!("`{place}` is no path here"))?;
            read_folder(&path, links)
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") => read_page(&url, http, links),
        _ => read_folder(Path::new(place), links),
    }
}

fn read_folder(folder: &Path, links: &mut Links) -> anyhow::Result<()> {
    let folder = std::path::absolute(folder)?;
    if !folder.is_dir() {
        return Err(anyhow::anyhow!("`{}` is not a folder", folder.display()))
            .hint("`--find-links` takes a folder with wheels, or the address of a page that links to wheels");
    }
    for entry in fs_err::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Ok(wheel) = name.parse::<WheelName>() {
            add(links, Dist::direct(wheel, Location::File(path)));
        } else {
            add_source(links, name);
        }
    }
    Ok(())
}

fn read_page(url: &Url, http: &Http, links: &mut Links) -> anyhow::Result<()> {
    let body = http::body(url, http.get(url, &[("Accept", "text/html")])?)?;
    let bytes = http::read_all(body, PAGE_BYTES_MAX)?;
    let files = page::parse_html(&String::from_utf8_lossy(&bytes), url)?;
    if files.is_empty() {
        bail!("the page `{}` links to no file", http::public(url));
    }
    for file in &files {
        match page::dist(file) {
            Some(dist) => add(links, dist),
            None => add_source(links, &file.name),
        }
    }
    Ok(())
}

fn add(links: &mut Links, dist: Dist) {
    links.entry(dist.wheel.name.clone()).or_default().add(dist);
}

/// `name-1.0.tar.gz`: at the last dash, as names have dashes too.
fn add_source(links: &mut Links, file: &str) {
    let Some((name, _)) = is_source(file).then(|| file.rsplit_once('-')).flatten() else { return };
    let Ok(name) = name.parse::<PackageName>() else { return };
    if let Some(version) = page::source_version(file, &name) {
        links.entry(name).or_default().add_source(version);
    }
}
