//! Which paths are taken, so that no two entries ever claim one.
//!
//! Kept as hashes under a key that an attacker cannot know (the key of a hash map), 10 to 16 bytes for
//! each path instead of the path. Two different paths collide with a chance of 2^-62 per pair; the
//! consequence is a refused archive, never an overwritten file. This module does no I/O and does not
//! judge names; it only compares them, folded where the policy says so.

use std::hash::{BuildHasher, Hasher, RandomState};

use caseless::Caseless;
use unicode_normalization::UnicodeNormalization;

use crate::error::{Class, Error, Result};
use crate::job::Job;
pub(crate) use crate::slots::Node;
use crate::slots::Slots;

#[derive(Default)]
pub(crate) struct Names {
    key: RandomState,
    taken: Slots,
    last_parent: String,
    /// A path as it is compared; a buffer that is kept.
    folded: String,
    /// How many paths there may be: folders without an entry of their own cost memory too.
    max: u64,
    count: u64,
    fold: bool,
    repeat_folders: bool,
}

impl Names {
    /// Forgets everything; `repeat_folders` accepts several entries for one folder.
    pub(crate) fn reset(&mut self, job: &Job<'_>, repeat_folders: bool) {
        self.taken.clear();
        self.last_parent.clear();
        self.count = 0;
        self.max = job.limits.entries;
        self.fold = job.policy.folds_names();
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
        match (self.take(key, node)?, node) {
            (None, _) => {}
            (Some(Node::Parent), Node::Folder) => self.taken.change(key, Node::Folder),
            (Some(Node::Folder), Node::Folder) if self.repeat_folders => {}
            (Some(old), _) => return Err(conflict(old, node)),
        }
        Ok(())
    }

    /// Takes a name unless it is taken; returns what it was before.
    fn take(&mut self, key: u64, node: Node) -> Result<Option<Node>> {
        let old = self.taken.insert(key, node);
        if old.is_none() {
            self.count += 1;
        }
        if self.count > self.max {
            let at_most = format!("at most {}", self.max);
            let what = "number of files and folders";
            return Err(Error::mismatch(Class::Limit, what, at_most, "more"));
        }
        Ok(old)
    }

    /// True when `path` is a regular file of this archive.
    pub(crate) fn is_file(&mut self, path: &str) -> bool {
        let key = self.key_of(path);
        self.taken.get(key) == Some(Node::File)
    }

    fn claim_parents(&mut self, path: &str) -> Result<()> {
        let Some((parent, _)) = path.rsplit_once('/') else { return Ok(()) };
        if parent == self.last_parent {
            return Ok(());
        }
        let ends = parent.match_indices('/').map(|(at, _)| at).chain([parent.len()]);
        for end in ends {
            let key = self.key_of(&parent[..end]);
            if let Some(old @ (Node::File | Node::Link)) = self.take(key, Node::Parent)? {
                return Err(conflict(old, Node::Parent));
            }
        }
        self.last_parent.clear();
        self.last_parent.push_str(parent);
        Ok(())
    }

    fn key_of(&mut self, path: &str) -> u64 {
        if !self.fold {
            return self.hash(path.as_bytes());
        }
        self.folded.clear();
        if path.is_ascii() {
            self.folded.push_str(path);
            self.folded.make_ascii_lowercase();
        } else {
            self.folded.extend(path.chars().nfd().default_case_fold().nfd().nfc());
        }
        self.hash(self.folded.as_bytes())
    }
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
