//! Seeded inputs with the shapes of real ones, for when real ones cannot be had.
//!
//! Sizes follow distributions that were measured on 50,388 files of 43 real wheels (median 2.1 kB,
//! 90 % below 31 kB, 99 % below 278 kB, one in 43 empty, one in a hundred executable and native) and
//! on rust-docs (16,000 files around 4 kB). Text compresses about as text does. A seed gives the same
//! bytes in every release; a real input is still the better one.
//!
//! Only this module knows what inputs look like; it writes nothing unless asked.

mod archive;
mod index;
mod words;

use std::path::Path;

use fs_err as fs;

use crate::error::{Error, Result};
use crate::rng::Rng;
use words::{library, text};

pub use index::{IndexEntry, index};

/// One file of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct File {
    /// Path inside the tree, with `/`.
    pub path: String,
    /// Content.
    pub body: Vec<u8>,
    /// Whether it may be executed.
    pub executable: bool,
}

/// A package's or a component's files, in the order in which an archive holds them.
///
/// # Examples
///
/// ```
/// use bench_util::corpus::Tree;
///
/// let old = Tree::package(1, "demo", 200);
/// let new = old.patched(2, 0.3);
/// let kept = old.files.iter().zip(&new.files).filter(|(a, b)| a.body == b.body).count();
/// assert!(kept > 100 && kept < 180, "about 70 % of a patch release is as it was: {kept}");
/// assert_eq!(Tree::package(1, "demo", 200), old);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tree {
    /// The files.
    pub files: Vec<File>,
}

impl Tree {
    /// Makes a Python package: modules, tests, data, some empty files, some native libraries.
    pub fn package(seed: u64, name: &str, files: usize) -> Self {
        let mut rng = Rng::for_part(seed, name);
        let files = (0..files).map(|number| package_file(&mut rng, name, number)).collect();
        Self { files }
    }

    /// Makes a tree of documentation pages: very many, all small.
    pub fn docs(seed: u64, files: usize) -> Self {
        let mut rng = Rng::for_part(seed, "docs");
        let page = |number| {
            let size = size(&mut rng, 4096.0, 0.8, 1 << 20);
            let path = format!("html/{}/page{number}.html", folder(&mut rng, 400));
            File { path, body: text(&mut rng, size), executable: false }
        };
        Self { files: (0..files).map(page).collect() }
    }

    /// Makes the next version: a share of the files gets other bytes, the rest stays as it is.
    #[must_use]
    pub fn patched(&self, seed: u64, share: f64) -> Self {
        let mut rng = Rng::for_part(seed, "patch");
        let mut next = self.clone();
        for file in &mut next.files {
            if !file.body.is_empty() && rng.unit() < share {
                let at = rng.below(file.body.len());
                file.body[at] ^= 1;
            }
        }
        next
    }

    /// All bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.body.len() as u64).sum()
    }

    /// Writes the files below `top`, which exists.
    ///
    /// # Errors
    ///
    /// When a folder or a file cannot be made.
    pub fn write_to(&self, top: &Path) -> Result<()> {
        for file in &self.files {
            let path = top.join(&file.path);
            let failed = |error| Error::io("write", &path, error);
            fs::create_dir_all(path.parent().unwrap_or(top)).map_err(failed)?;
            fs::write(&path, &file.body).map_err(failed)?;
            if file.executable {
                set_executable(&path).map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn package_file(rng: &mut Rng, name: &str, number: usize) -> File {
    let folder = folder(rng, 60);
    match rng.below(1000) {
        0..23 => file(format!("{name}/{folder}/p{number}/__init__.py"), Vec::new(), false),
        23..32 => {
            let size = size(rng, 300_000.0, 1.2, 16 << 20);
            file(format!("{name}/{folder}/native{number}.so"), library(rng, size), true)
        }
        _ => {
            let size = size(rng, 2100.0, 2.1, 1 << 20);
            file(format!("{name}/{folder}/module{number}.py"), text(rng, size), false)
        }
    }
}

fn file(path: String, body: Vec<u8>, executable: bool) -> File {
    File { path, body, executable }
}

/// One of some folders, two deep, the first ones fuller than the last.
fn folder(rng: &mut Rng, folders: usize) -> String {
    let most = 1 + rng.below(folders);
    let number = rng.below(most);
    format!("part{}/sub{number}", number % 8)
}

/// A log-normal size, which is what file sizes are.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and at most `most`"
)]
fn size(rng: &mut Rng, median: f64, spread: f64, most: u32) -> usize {
    (median * (spread * rng.normal()).exp()).min(f64::from(most)) as usize + 1
}

#[cfg(unix)]
fn set_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
fn set_executable(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_below(tree: &Tree, size: usize) -> f64 {
        let below = tree.files.iter().filter(|file| file.body.len() <= size).count();
        f64::from(u32::try_from(below).unwrap())
            / f64::from(u32::try_from(tree.files.len()).unwrap())
    }

    #[test]
    fn a_package_has_the_sizes_of_real_wheels() {
        let tree = Tree::package(7, "shape", 1500);
        for (size, expected) in [(0, 0.023), (2100, 0.50), (31_000, 0.90), (278_000, 0.985)] {
            let share = share_below(&tree, size);
            assert!((share - expected).abs() < 0.04, "{share} are at most {size} bytes");
        }
        assert!(tree.files.iter().any(|file| file.executable));
    }

    #[test]
    fn paths_are_unique_and_relative() {
        for tree in [Tree::package(1, "a", 2000), Tree::docs(1, 2000)] {
            let paths: std::collections::BTreeSet<_> =
                tree.files.iter().map(|file| &file.path).collect();
            assert_eq!(paths.len(), 2000);
            assert!(paths.iter().all(|path| !path.starts_with('/') && !path.contains("..")));
        }
    }

    #[test]
    fn a_written_tree_has_every_byte() {
        let top = tempfile::tempdir().unwrap();
        let tree = Tree::package(3, "written", 60);
        tree.write_to(top.path()).unwrap();
        for file in &tree.files {
            assert_eq!(fs::read(top.path().join(&file.path)).unwrap(), file.body);
        }
    }
}
