//! Where everything in a store lives: the only module that knows a folder's name.
//!
//! The prose is in `docs/LAYOUT.md`. A test in this file reads that document and fails when a row of
//! its table and a constant here disagree. This module does no I/O.

use std::fmt;

use crate::digest::{Digest, Executable};

/// The folder of this major version. Another major version lives beside it, untouched.
pub(crate) const VERSION: &str = "v1";
/// Marks the root as worthless to backups, by the Cache Directory Tagging Specification.
pub(crate) const CACHE_TAG: &str = "CACHEDIR.TAG";
/// Settings that must outlive a process; written last, so that its presence means a whole store.
pub(crate) const CONFIG: &str = "config";
/// Shard folders of objects, each made when it is first needed.
pub(crate) const OBJECTS: &str = "objects";
/// One manifest per tree.
pub(crate) const TREES: &str = "trees";
/// Folders of hard links that keep objects alive without a manifest in [`TREES`].
pub(crate) const ARCHIVES: &str = "archives";
/// Objects whose bytes no longer are what their name says.
pub(crate) const QUARANTINE: &str = "quarantine";
/// Files that are being made or removed.
pub(crate) const TEMPORARY: &str = "tmp";
/// Held by a sweep, only against another sweep.
pub(crate) const SWEEP_LOCK: &str = "sweep.lock";

/// The folders beside [`OBJECTS`].
pub(crate) const FOLDERS: [&str; 4] = [TREES, ARCHIVES, QUARANTINE, TEMPORARY];

/// Every name, in the order of the document's table.
#[cfg(test)]
const ENTRIES: [&str; 9] =
    [CACHE_TAG, VERSION, CONFIG, OBJECTS, TREES, ARCHIVES, QUARANTINE, TEMPORARY, SWEEP_LOCK];

/// What the tag file must begin with.
pub(crate) const CACHE_TAG_TEXT: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
    # This folder is a store of files that can be fetched again; backups need not keep it.\n";

pub(crate) const TREE_SUFFIX: &str = ".tree";
/// In an archive folder: the manifest, and the folder of hard links.
pub(crate) const ARCHIVE_MANIFEST: &str = "manifest";
pub(crate) const ARCHIVE_FILES: &str = "files";

/// How many shard folders there can be: one level of 256. Measured: two levels cost twice per insert
/// and four times per sweep; a flat folder can fill ext4's index.
pub(crate) const SHARDS: usize = 256;

/// `00` to `ff`.
pub(crate) fn shards() -> impl Iterator<Item = String> {
    (0..SHARDS).map(|index| format!("{index:02x}"))
}

/// An object's path under [`OBJECTS`]: `ab/cdef...`, with `x` at the end of an executable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectName {
    text: [u8; 66],
    len: u8,
}

impl ObjectName {
    pub(crate) fn new(digest: &Digest, executable: Executable) -> Self {
        let hex = digest.hex();
        let mut text = [b'x'; 66];
        text[..2].copy_from_slice(&hex[..2]);
        text[2] = b'/';
        text[3..65].copy_from_slice(&hex[2..]);
        Self { text, len: if executable.into() { 66 } else { 65 } }
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..usize::from(self.len)]).unwrap_or_default()
    }

    /// The shard's folder name.
    pub(crate) fn shard(&self) -> &str {
        &self.as_str()[..2]
    }

    /// The same name without the folder, for places that are flat.
    pub(crate) fn flat(&self) -> String {
        self.as_str().replace('/', "")
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads an object's name back from a shard folder's name and a file name in it.
pub(crate) fn parse_object(shard: &str, name: &str) -> Option<(Digest, Executable)> {
    let (rest, executable) = match name.strip_suffix('x') {
        Some(rest) => (rest, Executable::Yes),
        None => (name, Executable::No),
    };
    if shard.len() != 2 || rest.len() != 62 {
        return None;
    }
    Some((format!("{shard}{rest}").parse().ok()?, executable))
}

/// The name under [`TREES`] or [`ARCHIVES`] of what the caller calls `key`: any text, any length.
pub(crate) fn key_name(key: &str) -> String {
    Digest::of(key.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../docs/LAYOUT.md");

    /// The first cell of every row of the table under `heading`, without its marks.
    fn documented(heading: &str) -> Vec<String> {
        let section = DOCUMENT.split(heading).nth(1).expect("the heading exists");
        let rows = section.lines().skip_while(|line| !line.starts_with('|'));
        rows.take_while(|line| line.starts_with('|'))
            .skip(2)
            .map(|row| row.split('|').nth(1).unwrap().trim().trim_matches('`').to_owned())
            .collect()
    }

    #[test]
    fn the_folders_match_the_document() {
        let names: Vec<_> = documented("## Folders and files")
            .iter()
            .map(|path| path.trim_end_matches('/').rsplit('/').next().unwrap().to_owned())
            .collect();
        assert_eq!(names, ENTRIES);
    }

    #[test]
    fn the_worked_example_of_the_document_is_true() {
        let digest = Digest::of(b"hello\n");
        for executable in [Executable::No, Executable::Yes] {
            let name = ObjectName::new(&digest, executable);
            assert!(DOCUMENT.contains(&format!("objects/{}", name.as_str())), "{name:?}");
        }
        let time = crate::fingerprint::of(&digest, 6);
        let stated = format!("{} s and {} ns", time.seconds, time.nanoseconds);
        assert!(DOCUMENT.contains(&stated), "the document should state {stated}");
    }

    #[test]
    fn an_object_name_reads_back() {
        let digest = Digest::of(b"a");
        for executable in [Executable::No, Executable::Yes] {
            let name = ObjectName::new(&digest, executable);
            let (shard, file) = name.as_str().split_once('/').unwrap();
            assert_eq!(parse_object(shard, file), Some((digest, executable)));
            assert_eq!(name.shard(), shard);
        }
        for (shard, file) in [("a", "b"), ("zz", &"0".repeat(62)), ("00", &"0".repeat(63))] {
            assert_eq!(parse_object(shard, file), None);
        }
    }
}
