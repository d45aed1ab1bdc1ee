//! What sharing saves, by which files are shared: the table on which uv's design was decided.
//!
//! Two questions a maintainer asks first: is it worth it for large files only, and what does sharing
//! the many small ones add? Pure counting; this module does no I/O but reading manifests.

use std::collections::HashMap;

use crate::digest::{Digest, Executable};
use crate::error::Result;
use crate::store::Store;

/// Which files are shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Selection {
    /// Files with the executable bit, and native libraries by their names.
    Native,
    /// Files of at least this many bytes.
    AtLeast(u64),
    /// Every file that is not empty: what a store does.
    NonEmpty,
    /// Every file, empty ones included: shown for their link count.
    All,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavingsRow {
    /// Which files are shared.
    pub selection: Selection,
    /// Bytes that are not stored again.
    pub saved_bytes: u64,
    /// Files that are links of an object.
    pub files: u64,
    /// Different objects.
    pub objects: u64,
    /// The most files that one object stands for.
    pub most_links: u64,
}

/// Counts files by content.
///
/// # Examples
///
/// ```
/// use cas_store::{Digest, Executable, Savings, Selection};
///
/// let mut savings = Savings::default();
/// for package in ["a", "b"] {
///     savings.add(&format!("{package}/LICENSE"), Digest::of(b"MIT"), Executable::No, 3);
/// }
/// let row = savings.row(Selection::NonEmpty);
/// assert_eq!((row.saved_bytes, row.files, row.objects), (3, 2, 1));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Savings {
    contents: HashMap<(Digest, Executable), Content>,
    files: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Content {
    size: u64,
    files: u64,
    native_files: u64,
}

impl Savings {
    /// Counts one file. A manifest may state any size, so sums stop at the largest number.
    pub fn add(&mut self, path: &str, digest: Digest, executable: Executable, size: u64) {
        let content = self.contents.entry((digest, executable)).or_default();
        content.size = size;
        content.files += 1;
        content.native_files += u64::from(executable.into() || is_native_library(path));
        self.files += 1;
        self.bytes = self.bytes.saturating_add(size);
    }

    /// All files counted.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Their bytes, each file in full.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What one selection saves.
    pub fn row(&self, selection: Selection) -> SavingsRow {
        let empty = SavingsRow { selection, saved_bytes: 0, files: 0, objects: 0, most_links: 0 };
        self.contents.values().fold(empty, SavingsRow::with)
    }

    /// The table: native files, six sizes, all that are not empty, all.
    pub fn table(&self) -> Vec<SavingsRow> {
        const KIB: u64 = 1024;
        let sizes = [10 * KIB * KIB, KIB * KIB, 100 * KIB, 10 * KIB, KIB];
        let sizes = sizes.into_iter().map(Selection::AtLeast);
        std::iter::once(Selection::Native)
            .chain(sizes)
            .chain([Selection::NonEmpty, Selection::All])
            .map(|selection| self.row(selection))
            .collect()
    }
}

impl SavingsRow {
    fn with(self, content: &Content) -> Self {
        let files = match self.selection {
            Selection::Native => content.native_files,
            Selection::AtLeast(bytes) if content.size < bytes => 0,
            Selection::NonEmpty if content.size == 0 => 0,
            _ => content.files,
        };
        let saved = content.size.saturating_mul(files.saturating_sub(1));
        Self {
            saved_bytes: self.saved_bytes.saturating_add(saved),
            files: self.files + files,
            objects: self.objects + files.min(1),
            most_links: self.most_links.max(files),
            ..self
        }
    }
}

/// By name: `.so` (also with a version after it), `.dylib`, `.dll`, `.pyd`, `.node`.
fn is_native_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut parts = name.split('.').skip(1);
    parts.any(|part| matches!(part, "so" | "dylib" | "dll" | "pyd" | "node"))
}

impl Store {
    /// What sharing saves over all trees of this store, as if each were unpacked on its own.
    ///
    /// # Errors
    ///
    /// An I/O error. Damaged manifests are left out.
    pub fn savings(&self) -> Result<Savings> {
        let mut savings = Savings::default();
        for name in self.inner.tree_names()? {
            match self.inner.read_tree(&name) {
                Err(error) if !error.is_corrupt() => return Err(error),
                Ok(Some((_, tree))) => tree.files().iter().for_each(|file| {
                    savings.add(&file.path, file.digest, file.executable, file.size);
                }),
                _ => {}
            }
        }
        Ok(savings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_selection_counts_its_own_files() {
        let mut savings = Savings::default();
        for package in ["a", "b", "c"] {
            let mut add = |name: &str, bytes: &[u8], executable| {
                let path = format!("{package}/{name}");
                savings.add(&path, Digest::of(bytes), executable, bytes.len() as u64);
            };
            add("__init__.py", b"", Executable::No);
            add("big.txt", &[7; 2048], Executable::No);
            add("lib.so.1", b"elf", Executable::No);
            add("tool", b"#!", Executable::Yes);
        }
        let row = |selection| savings.row(selection);
        assert_eq!(row(Selection::AtLeast(1024)).saved_bytes, 4096);
        let native = row(Selection::Native);
        assert_eq!((native.saved_bytes, native.files, native.objects), (10, 6, 2));
        assert_eq!((row(Selection::NonEmpty).files, row(Selection::All).files), (9, 12));
        assert_eq!((savings.files(), savings.bytes()), (12, 3 * 2053));
        assert_eq!(savings.table().len(), 8);
    }

    #[test]
    fn a_library_is_known_by_its_name() {
        for yes in ["a/x.so", "libc.so.6", "x.cpython-312-x86_64-linux-gnu.so", "y.dylib"] {
            assert!(is_native_library(yes), "{yes}");
        }
        for no in ["so", "a.so/readme", "x.sox", "also.txt"] {
            assert!(!is_native_library(no), "{no}");
        }
    }
}
