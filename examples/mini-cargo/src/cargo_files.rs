//! Cargo's own index cache: one file per crate, read as it is.
//!
//! The format is cargo's: a version byte, the index schema, the revision (`etag: ...`), then
//! `version NUL json NUL` for each version. It has no checksums and cargo rewrites the files in
//! place, so whoever reads them holds cargo's package-cache lock. Nothing is written here.

use std::borrow::Cow;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use semver::Version;

use crate::index_line::{self, Stored};
use crate::record::Flags;
use crate::store::{Freshness, Listing, Lookup, Store};

const CACHE_VERSION: u8 = 3;
const SCHEMA: u32 = 2;

/// The files of one registry's index.
#[derive(Debug, Clone)]
pub(crate) struct CargoFiles {
    root: PathBuf,
    decode: fn(&[u8]) -> Result<CrateFile>,
}

/// One crate's file, decoded.
#[derive(Clone, Debug)]
pub(crate) struct CrateFile {
    /// `etag: ...`, `last-modified: ...` or `Unknown`.
    pub(crate) revision: String,
    pub(crate) spelling: String,
    pub(crate) versions: Vec<Stored>,
}

impl CargoFiles {
    /// `index` is the folder that holds `config.json` and `.cache`.
    pub(crate) fn new(index: &Path) -> Self {
        Self { root: index.join(".cache"), decode: parse }
    }

    /// The index of a local registry: the registry's own lines, without anything around them.
    pub(crate) fn local(index: &Path) -> Self {
        let decode = |bytes: &[u8]| parse_lines(bytes, "Unknown".to_owned());
        Self { root: index.to_owned(), decode }
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.root.join(relative(key))
    }

    /// The file's size and time, or `None` when cargo does not know the crate.
    pub(crate) fn stat(&self, key: &str) -> Result<Option<Metadata>> {
        let path = self.path(key);
        absent(fs::metadata(&path)).with_context(|| format!("failed to read `{}`", path.display()))
    }

    pub(crate) fn read(&self, key: &str) -> Result<Option<CrateFile>> {
        let path = self.path(key);
        let context = || format!("failed to read cargo's cache file `{}`", path.display());
        match absent(fs::read(&path)).with_context(context)? {
            Some(bytes) => (self.decode)(&bytes).with_context(context).map(Some),
            None => Ok(None),
        }
    }

    /// The name of every crate that cargo has a file for.
    pub(crate) fn keys(&self) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let context = || format!("failed to list `{}`", folder.display());
            for entry in absent(fs::read_dir(&folder)).with_context(context)?.into_iter().flatten()
            {
                let entry = entry.with_context(context)?;
                if entry.file_type().with_context(context)?.is_dir() {
                    folders.push(entry.path());
                } else {
                    keys.extend(entry.file_name().into_string());
                }
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }
}

fn absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// `1/a`, `2/ab`, `3/a/abc`, `ab/cd/abcd`: the registry's layout, for files and addresses alike.
pub(crate) fn relative(key: &str) -> String {
    match (key.len(), key.get(..2), key.get(2..4)) {
        (1 | 2, ..) => format!("{}/{key}", key.len()),
        (3, ..) => format!("3/{}/{key}", key.get(..1).unwrap_or_default()),
        (_, Some(first), Some(second)) => format!("{first}/{second}/{key}"),
        _ => key.to_owned(),
    }
}

/// Decodes one of cargo's files.
///
/// # Errors
/// When the header is of another version or the file stops in the middle of a version: such a
/// file is torn, and what is left of it must not be believed.
pub(crate) fn parse(bytes: &[u8]) -> Result<CrateFile> {
    let header = bytes.get(..5).context("the file is shorter than its header")?;
    let schema = u32::from_le_bytes([header[1], header[2], header[3], header[4]]);
    if header[0] != CACHE_VERSION || schema != SCHEMA {
        bail!("version {} with index schema {schema} is not understood", header[0]);
    }
    let Some(body) = bytes[5..].strip_suffix(&[0]) else {
        bail!("the file ends in the middle of a version, at byte {}", bytes.len());
    };
    let mut fields = body.split(|byte| *byte == 0);
    let revision = fields.next().unwrap_or_default();
    let revision = std::str::from_utf8(revision).context("the revision is no text")?.to_owned();
    let mut lines = Vec::new();
    while let Some(version) = fields.next() {
        let line = fields.next().with_context(|| {
            format!("version `{}` has no description", String::from_utf8_lossy(version))
        })?;
        lines.push(line);
    }
    collect(&mut lines.into_iter(), revision)
}

/// Decodes what a registry sends: one line of JSON for each version.
///
/// # Errors
/// When there is no version in it.
pub(crate) fn parse_lines(bytes: &[u8], revision: String) -> Result<CrateFile> {
    let lines = bytes.split(|byte| *byte == b'\n');
    collect(&mut lines.filter(|line| !line.trim_ascii().is_empty()), revision)
}

/// A line that cannot be read at all is left out, as cargo does.
fn collect(lines: &mut dyn Iterator<Item = &[u8]>, revision: String) -> Result<CrateFile> {
    let mut spelling: Option<String> = None;
    let mut versions = Vec::new();
    for line in lines {
        let Ok(stored) = index_line::parse(line, spelling.as_deref()) else { continue };
        spelling.get_or_insert_with(|| stored.name.clone());
        versions.push(stored);
    }
    let spelling = spelling.context("the file has no version")?;
    Ok(CrateFile { revision, spelling, versions })
}

impl Store for CargoFiles {
    fn find(&self, key: &str, _: Freshness) -> Result<Lookup<'_>> {
        Ok(self.read(key)?.map_or(Lookup::Unknown, |file| Lookup::Known(Box::new(file))))
    }
}

impl Listing for Rc<CrateFile> {
    fn spelling(&self) -> &str {
        self.as_ref().spelling()
    }

    fn versions(&self) -> Result<Vec<(Version, Flags)>> {
        self.as_ref().versions()
    }

    fn record(&self, at: usize) -> Result<Cow<'_, [u8]>> {
        self.as_ref().record(at)
    }
}

impl Listing for CrateFile {
    fn spelling(&self) -> &str {
        &self.spelling
    }

    fn versions(&self) -> Result<Vec<(Version, Flags)>> {
        self.versions
            .iter()
            .map(|stored| Ok((Version::parse(&stored.version)?, stored.flags)))
            .collect()
    }

    fn record(&self, at: usize) -> Result<Cow<'_, [u8]>> {
        let stored = self.versions.get(at).context("no such version")?;
        Ok(Cow::Borrowed(&stored.record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(lines: &[&str]) -> Vec<u8> {
        let mut bytes = vec![3, 2, 0, 0, 0];
        bytes.extend(b"etag: \"x\"\0");
        for (at, line) in lines.iter().enumerate() {
            bytes.extend(format!("1.0.{at}\0{line}\0").bytes());
        }
        bytes
    }

    fn line(version: &str) -> String {
        format!(
            r#"{{"name":"Ab","vers":"{version}","deps":[],"cksum":"{}","features":{{}},"yanked":false}}"#,
            "0a".repeat(32)
        )
    }

    #[test]
    fn names_are_laid_out_as_the_registry_does() {
        for (name, path) in
            [("a", "1/a"), ("ab", "2/ab"), ("abc", "3/a/abc"), ("abcd", "ab/cd/abcd")]
        {
            assert_eq!(relative(name), path);
        }
    }

    #[test]
    fn a_whole_file_is_read() {
        let file = parse(&file(&[&line("1.0.0"), &line("1.0.1")])).unwrap();
        assert_eq!(file.revision, "etag: \"x\"");
        assert_eq!(file.spelling(), "Ab");
        assert_eq!(file.versions().unwrap()[1].0, Version::new(1, 0, 1));
    }

    #[test]
    fn a_file_cut_at_any_byte_is_refused_or_gives_whole_versions_only() {
        let whole = file(&[&line("1.0.0"), &line("1.0.1")]);
        for cut in 0..whole.len() {
            if let Ok(file) = parse(&whole[..cut]) {
                assert_eq!(file.versions.len(), 1, "cut at {cut}");
                assert_eq!(whole[cut - 1], 0, "cut at {cut}");
            }
        }
    }
}
