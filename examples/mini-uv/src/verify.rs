//! Reads the whole cache and compares it with what its names and checksums promise.
//!
//! A cache may lose data and must not return wrong data; this is how to know before it is asked. What
//! is found is a list, and repairing is removing: everything here can be fetched again.

use std::collections::HashSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use cas_store::{Digest, TreeFile};

use crate::cache::Cache;

/// One damaged thing and what names it.
#[derive(Debug)]
pub(crate) enum Damage {
    /// An object whose content has another digest, or that is gone.
    Object { path: PathBuf, tree: String, what: String },
    /// A tree that cannot be read, or whose metadata cannot.
    Wheel { tree: String, what: String },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object { path, tree, what } => {
                write!(f, "`{}` of {tree}: {what}", path.display())
            }
            Self::Wheel { tree, what } => write!(f, "{tree}: {what}"),
        }
    }
}

/// What was read, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) wheels: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) damage: Vec<Damage>,
}

/// Reads everything that the trees name.
pub(crate) fn check(cache: &Cache) -> anyhow::Result<Checked> {
    let mut checked = Checked::default();
    let mut seen = HashSet::new();
    for key in cache.store.trees()? {
        checked.wheels += 1;
        checked.damage.extend(check_texts(cache, &key));
        match cache.store.tree(&key) {
            Ok(tree) => {
                let files = tree.iter().flat_map(|tree| tree.files());
                for file in files.filter(|file| file.digest != Digest::of(b"")) {
                    if seen.insert((file.digest, file.executable)) {
                        check_object(cache, &key, file, &mut checked);
                    }
                }
            }
            Err(error) => checked.damage.push(Damage::Wheel { tree: key, what: error.to_string() }),
        }
    }
    Ok(checked)
}

fn check_texts(cache: &Cache, key: &str) -> Option<Damage> {
    let damage = |what: String| Some(Damage::Wheel { tree: key.to_owned(), what });
    let lost = || damage(format!("its metadata is lost from `{}`", cache.index.path().display()));
    let entry = match cache.index.get(&format!("wheel/{key}")) {
        Ok(Some(entry)) => entry,
        Ok(None) => return lost(),
        Err(error) => return damage(error.to_string()),
    };
    for name in crate::cache::TEXTS {
        match entry.slice(name) {
            Ok(Some(_)) => {}
            Ok(None) => return lost(),
            Err(error) => return damage(error.to_string()),
        }
    }
    None
}

fn check_object(cache: &Cache, key: &str, file: &TreeFile, checked: &mut Checked) {
    let path = cache.store.object_path(file.digest, file.executable);
    let found = fs_err::File::open(&path).and_then(Digest::of_reader);
    let what = match found {
        Ok((digest, bytes)) if digest == file.digest => {
            checked.files += 1;
            checked.bytes += bytes;
            return;
        }
        Ok((digest, _)) => format!("its content has the digest {digest}"),
        Err(error) if error.kind() == ErrorKind::NotFound => "it is missing".to_owned(),
        Err(error) => error.to_string(),
    };
    checked.damage.push(Damage::Object { path, tree: key.to_owned(), what });
}

/// Removes what is damaged and returns how many entries that were.
pub(crate) fn repair(cache: &Cache, damage: &[Damage]) -> anyhow::Result<usize> {
    let mut batch = cache.index.batch();
    for damage in damage {
        let tree = match damage {
            Damage::Object { path, tree, .. } => {
                remove_if_there(path)?;
                tree
            }
            Damage::Wheel { tree, .. } => tree,
        };
        cache.store.remove_tree(tree)?;
        batch.remove(&format!("wheel/{tree}"))?;
    }
    cache.commit(batch);
    Ok(damage.len())
}

fn remove_if_there(path: &std::path::Path) -> anyhow::Result<()> {
    match fs_err::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
