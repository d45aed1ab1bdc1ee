//! Which paths are taken, so that no two entries ever claim one.
//!
//! Kept as 64-bit hashes under a key that an attacker cannot know (the key of a hash map): 17 bytes
//! per path instead of the path. Two different paths collide with a chance of 2^-64 per pair; the
//! consequence is a refused archive, never an overwritten file. This module does no I/O and does not
//! judge names; it only compares them, folded where the policy says so.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use crate::error::{Class, Error, Result};

/// What an entry is, as far as its name matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A folder that exists because something is inside it.
    Parent,
    /// A folder with an entry of its own.
    Folder,
    /// A regular file.
    File,
    /// A link: nothing may be below it, and no hard link may point to it.
    Link,
}

/// Passes a key that is a hash already through.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[derive(Default)]
pub(crate) struct Names {
    key: RandomState,
    taken: HashMap<u64, Node, BuildHasherDefault<Identity>>,
    last_parent: String,
    fold: bool,
    repeat_folders: bool,
}

impl Names {
    /// Forgets everything; `repeat_folders` accepts several entries for one folder.
    pub(crate) fn reset(&mut self, fold: bool, repeat_folders: bool) {
        self.taken.clear();
        self.last_parent.clear();
        self.fold = fold;
        self.repeat_folders = repeat_folders;
    }

    /// Hashes as `other` does from now on.
    pub(crate) fn share_key(&mut self, other: &Self) {
        self.key = other.key.clone();
    }

    /// A keyed hash of exact bytes.
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.key.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }

    /// Claims `path` and its parents.
    pub(crate) fn claim(&mut self, path: &str, node: Node) -> Result<()> {
        self.claim_parents(path)?;
        let key = self.key_of(path);
        let repeat = self.repeat_folders;
        match self.taken.entry(key) {
            Slot::Vacant(slot) => {
                slot.insert(node);
            }
            Slot::Occupied(mut slot) => match (*slot.get(), node) {
                (Node::Parent, Node::Folder) => *slot.get_mut() = Node::Folder,
                (Node::Folder, Node::Folder) if repeat => {}
                (old, _) => return Err(conflict(old, node)),
            },
        }
        Ok(())
    }

    /// True when `path` is a regular file of this archive.
    pub(crate) fn is_file(&self, path: &str) -> bool {
        self.taken.get(&self.key_of(path)) == Some(&Node::File)
    }

    fn claim_parents(&mut self, path: &str) -> Result<()> {
        let Some((parent, _)) = path.rsplit_once('/') else { return Ok(()) };
        if parent == self.last_parent {
            return Ok(());
        }
        let ends = parent.match_indices('/').map(|(at, _)| at).chain([parent.len()]);
        for end in ends {
            let key = self.key_of(&parent[..end]);
            let node = *self.taken.entry(key).or_insert(Node::Parent);
            if matches!(node, Node::File | Node::Link) {
                return Err(conflict(node, Node::Parent));
            }
        }
        self.last_parent.clear();
        self.last_parent.push_str(parent);
        Ok(())
    }

    fn key_of(&self, path: &str) -> u64 {
        if !self.fold {
            return self.hash(path.as_bytes());
        }
        let mut hasher = self.key.build_hasher();
        if path.is_ascii() {
            path.bytes().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
        } else {
            // Written bytewise, so that the ASCII parts of both branches hash alike.
            let folded = path.chars().nfd().default_case_fold().nfd().nfc();
            folded.for_each(|c| write_char(&mut hasher, c));
        }
        hasher.finish()
    }
}

fn write_char(hasher: &mut impl Hasher, c: char) {
    let mut utf8 = [0; 4];
    c.encode_utf8(&mut utf8).bytes().for_each(|byte| hasher.write_u8(byte));
}

fn conflict(old: Node, new: Node) -> Error {
    let leaf = |node| matches!(node, Node::File | Node::Link);
    let what = match (old, new) {
        _ if leaf(old) && leaf(new) => "two files have one name (case and Unicode form may differ)",
        (Node::Folder, Node::Folder) => "a folder has two entries",
        _ => "one name is both a file and a folder",
    };
    Error::new(Class::Conflict, what)
}
