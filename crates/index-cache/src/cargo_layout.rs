//! cargo's own index cache, one file for each crate: parsing, import and export.
//!
//! ```text
//! .cache/se/rd/serde      folders as in a registry index: 1/a  2/ab  3/a/abc  ab/cd/abcd...
//!
//! | 3 | 2 0 0 0 | index version | 0 | ( version | 0 | JSON line | 0 )*
//!   |   |         `etag: ...` or similar
//!   |   newest index schema the writer knew, u32
//!   cache format
//! ```
//!
//! The format has no lengths, no checksums and no end mark, so a file cut between two versions looks
//! whole. Import therefore cannot tell every damaged file from a sound one; it refuses what does not
//! parse to the last byte, lines of JSON by their first and last byte alone. From then on the bytes
//! are protected.
//!
//! # References
//!
//! cargo's `registry/index/cache.rs`; rust-lang/cargo#6908, #9476, #13515.

use crate::batch::Durability;
use crate::cache::IndexCache;
use crate::commit::WriteSkipped;
use crate::error::{Error, Result};
use crate::progress::{Observer, report};
use crate::put::Put;
use crate::snapshot::Snapshot;
use std::collections::HashMap;
use std::ffi::CStr;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The cache format that is read and written.
const FORMAT: u8 = 3;
/// The newest index schema that writers of that format know.
const INDEX_SCHEMA: u32 = 2;
const PREAMBLE_LEN: usize = 5;
/// Import commits whenever this many bytes wait: one buffer of this length serves for all. Few long
/// writes also leave the file in larger pieces of the page cache, which are cheaper to map.
const IMPORT_BATCH_LEN: usize = 16 << 20;

/// One file of cargo's cache, parsed.
///
/// # Examples
///
/// ```
/// use index_cache::cargo_layout::Document;
///
/// let file = b"\x03\x02\0\0\0etag: 1\x001.0.0\0{\"name\":\"a\"}\0";
/// let document = Document::parse(file).expect("well formed");
/// assert_eq!(document.index_version(), "etag: 1");
/// assert_eq!(document.versions().collect::<Vec<_>>(), [("1.0.0", &b"{\"name\":\"a\"}"[..])]);
/// assert!(Document::parse(&file[..20]).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    bytes: &'a [u8],
    index_version: &'a str,
    versions: Vec<(&'a str, Range<usize>)>,
}

impl<'a> Document<'a> {
    /// Parses a file; none when it is of another format or does not parse to its last byte.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (preamble, _) = bytes.split_at_checked(PREAMBLE_LEN)?;
        let schema = INDEX_SCHEMA.to_le_bytes();
        if preamble[0] != FORMAT || preamble[1..] != schema {
            return None;
        }
        let index_version = text_at(bytes, PREAMBLE_LEN)?;
        let mut at = PREAMBLE_LEN + index_version.len() + 1;
        let mut versions = Vec::new();
        while at < bytes.len() {
            let version = text_at(bytes, at)?;
            at += version.len() + 1;
            let json = at..at + field_at(bytes, at)?.to_bytes().len();
            at = json.end + 1;
            let is_object =
                bytes[json.clone()].starts_with(b"{") && bytes[..json.end].ends_with(b"}");
            if version.is_empty() || !is_object {
                return None;
            }
            versions.push((version, json));
        }
        Some(Self { bytes, index_version, versions })
    }

    /// What cargo compares to know whether the file is fresh: `etag: ...`, `last-modified: ...`.
    pub fn index_version(&self) -> &'a str {
        self.index_version
    }

    /// Versions with their JSON lines, in file order.
    pub fn versions(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.versions.iter().map(|(version, json)| (*version, &self.bytes[json.clone()]))
    }

    /// The document as an entry: the whole file as body, the index version as token, each version's
    /// JSON line as a slice of the body with flags zero.
    ///
    /// A version that occurs twice keeps its last line, as it does for cargo.
    pub fn as_put(&self) -> Put<'_> {
        let numbered = self.versions.iter().enumerate();
        let last: HashMap<_, _> = numbered.map(|(index, (version, _))| (*version, index)).collect();
        let put = Put::new().token(self.index_version.as_bytes()).body(self.bytes);
        let lines = self.versions.iter().enumerate();
        lines
            .filter(|(index, (version, _))| last.get(version) == Some(index))
            .fold(put, |put, (_, (version, json))| put.slice_in_body(version, 0, json.clone()))
    }
}

/// The UTF-8 text from `at` up to the next NUL.
fn text_at(bytes: &[u8], at: usize) -> Option<&str> {
    field_at(bytes, at)?.to_str().ok()
}

/// The bytes from `at` up to the next NUL.
fn field_at(bytes: &[u8], at: usize) -> Option<&CStr> {
    // The standard library's fastest search for a byte: import spends its time here.
    CStr::from_bytes_until_nul(bytes.get(at..)?).ok()
}

/// Where cargo keeps the file of `name` below its `.cache` folder.
///
/// None for a name that cannot be a crate's: empty, or with a character other than ASCII letters,
/// digits, `-` and `_`. So an exported tree never leaves its folder.
///
/// # Examples
///
/// ```
/// use index_cache::cargo_layout::relative_path;
///
/// assert_eq!(relative_path("serde").unwrap(), std::path::Path::new("se/rd/serde"));
/// assert_eq!(relative_path("syn").unwrap(), std::path::Path::new("3/s/syn"));
/// assert_eq!(relative_path("../etc/passwd"), None);
/// ```
pub fn relative_path(name: &str) -> Option<PathBuf> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.bytes().all(is_plain) {
        return None;
    }
    Some(match name.len() {
        0 => return None,
        1 => PathBuf::from("1").join(name),
        2 => PathBuf::from("2").join(name),
        3 => PathBuf::from("3").join(&name[..1]).join(name),
        _ => PathBuf::from(&name[..2]).join(&name[2..4]).join(name),
    })
}

/// The outcome of [`import`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "files that were refused are in here"]
pub struct Imported {
    /// Files that became entries.
    pub entries: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Files that are not cargo's cache format 3, or are torn.
    pub refused: Vec<PathBuf>,
    /// Why nothing was written, if so.
    pub skipped: Option<WriteSkipped>,
}

/// Stores every file below `folder`, cargo's `.cache`, under its file name.
///
/// # Errors
///
/// [`Error::is_io`](crate::Error::is_io) when the folder cannot be read or the cache not be written;
/// what was committed until then stays. [`Error::is_cancelled`](crate::Error::is_cancelled) when the
/// observer says so.
///
/// # Durability
///
/// As asked, for all of it when the function returns: only the last of several commits waits.
pub fn import(
    cache: &IndexCache,
    folder: &Path,
    durability: Durability,
    observer: &mut Observer<'_>,
) -> Result<Imported> {
    let files = files_below(folder)?;
    let mut imported = Imported::default();
    let mut batch = cache.batch();
    for (done, path) in (0..).zip(&files) {
        report(observer, done, crate::put::wide(files.len()))?;
        let bytes = fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let name = path.file_name().and_then(|name| name.to_str());
        let (Some(name), Some(document)) = (name, Document::parse(&bytes)) else {
            imported.refused.push(path.clone());
            continue;
        };
        // Before the next entry and not behind this one: the last commit must not be empty, or it
        // would sync nothing.
        if batch.bytes() >= IMPORT_BATCH_LEN {
            imported.skipped = imported.skipped.or(batch.commit(Durability::Fast)?.skipped());
        }
        batch.put(name, &document.as_put())?;
        imported.entries += 1;
        imported.bytes += crate::put::wide(bytes.len());
    }
    imported.skipped = imported.skipped.or(batch.commit(durability)?.skipped());
    Ok(imported)
}

/// Files at the depths where cargo keeps them, in a stable order.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    const DEPTH_MAX: usize = 3;
    let mut files = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), 1)];
    while let Some((folder, depth)) = folders.pop() {
        let failed = |error| Error::io("list", &folder, error);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() && depth < DEPTH_MAX {
                folders.push((entry.path(), depth + 1));
            } else if kind.is_file() && depth > 1 {
                files.push(entry.path());
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// The outcome of [`export`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "entries that were left out are in here"]
pub struct Exported {
    /// Files that were written.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Keys of entries that cargo's layout cannot hold: negative ones, odd names, other bodies,
    /// damage.
    pub left_out: Vec<String>,
}

/// Writes every entry whose body is a file of cargo's cache below `folder`, as cargo would.
///
/// Each file is written beside its place and renamed, so that a cargo that runs at the same time
/// never sees half of one.
///
/// # Errors
///
/// [`Error::is_io`](crate::Error::is_io) when a file cannot be written.
pub fn export(snapshot: &Snapshot, folder: &Path) -> Result<Exported> {
    let mut exported = Exported::default();
    for entry in snapshot.entries() {
        let entry = match entry {
            Err(error) if error.is_corrupt() => {
                exported.left_out.push(error.to_string());
                continue;
            }
            entry => entry?,
        };
        let body = match entry.body() {
            Err(error) if error.is_corrupt() => &[],
            body => body?,
        };
        match relative_path(entry.key()) {
            Some(path) if Document::parse(body).is_some() => {
                write_beside(&folder.join(path), body)?;
                exported.files += 1;
                exported.bytes += crate::put::wide(body.len());
            }
            _ => exported.left_out.push(entry.key().to_owned()),
        }
    }
    Ok(exported)
}

fn write_beside(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = path.with_extension("tmp");
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    fs::write(&temporary, bytes).map_err(|error| Error::io("write", &temporary, error))?;
    fs::rename(&temporary, path).map_err(|error| Error::io("rename", &temporary, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(index_version: &str, versions: &[(String, String)]) -> Vec<u8> {
        let mut bytes = vec![FORMAT, 2, 0, 0, 0];
        bytes.extend_from_slice(index_version.as_bytes());
        bytes.push(0);
        for (version, json) in versions {
            bytes.extend_from_slice(version.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(json.as_bytes());
            bytes.push(0);
        }
        bytes
    }

    proptest! {
        #[test]
        fn a_document_gives_back_its_versions(
            token in "[ -~]{0,20}",
            versions in prop::collection::vec(("[0-9.]{1,9}", "\\{[ -~]{0,30}\\}"), 0..9),
        ) {
            let bytes = file(&token, &versions);
            let document = Document::parse(&bytes).unwrap();
            prop_assert_eq!(document.index_version(), token);
            let found: Vec<_> = document.versions().collect();
            let stored: Vec<_> = versions.iter().map(|(v, j)| (v.as_str(), j.as_bytes())).collect();
            prop_assert_eq!(found, stored);
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(mut bytes: Vec<u8>, ours: bool) {
            if ours {
                bytes.splice(0..0, [FORMAT, 2, 0, 0, 0]);
            }
            drop(Document::parse(&bytes));
        }
    }

    #[test]
    fn a_version_that_occurs_twice_keeps_its_last_line() {
        let versions = [("1.0.0", "{1}"), ("1.0.0", "{2}")].map(|(v, j)| (v.into(), j.into()));
        let bytes = file("t", &versions);
        let document = Document::parse(&bytes).unwrap();
        assert!(document.as_put().check("a").is_ok());
        assert_eq!(document.as_put().slices.len(), 1);
    }
}
