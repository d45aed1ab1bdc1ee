//! The files: plain data, no protocol.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

/// The number of the top folder, fixed by FUSE.
pub(crate) const ROOT: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Folder,
    File,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) mode: u16,
    pub(crate) bytes: Vec<u8>,
    pub(crate) names: HashMap<OsString, u64>,
}

impl Node {
    fn new(kind: Kind, mode: u16) -> Self {
        Self { kind, mode, bytes: Vec::new(), names: HashMap::new() }
    }

    /// The bytes `offset..offset + size`, as far as there are any.
    pub(crate) fn read(&self, offset: u64, size: u32) -> &[u8] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        let rest = &self.bytes[start..];
        &rest[..rest.len().min(size as usize)]
    }

    /// Puts `data` at `offset`, with zeros before it if the file is shorter.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) {
        let Ok(start) = usize::try_from(offset) else { return };
        let end = start + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[start..end].copy_from_slice(data);
    }
}

#[derive(Debug)]
pub(crate) struct Tree {
    nodes: HashMap<u64, Node>,
    next: u64,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let root = Node::new(Kind::Folder, 0o755);
        Self { nodes: HashMap::from([(ROOT, root)]), next: ROOT + 1 }
    }

    pub(crate) fn node(&self, number: u64) -> Option<&Node> {
        self.nodes.get(&number)
    }

    pub(crate) fn node_mut(&mut self, number: u64) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    pub(crate) fn find(&self, folder: u64, name: &OsStr) -> Option<u64> {
        self.nodes.get(&folder)?.names.get(name).copied()
    }

    pub(crate) fn add(&mut self, folder: u64, name: &OsStr, kind: Kind, mode: u32) -> u64 {
        let number = self.next;
        self.next += 1;
        self.nodes.insert(number, Node::new(kind, (mode & 0o7777) as u16));
        self.link(folder, name, number);
        number
    }

    fn link(&mut self, folder: u64, name: &OsStr, number: u64) {
        if let Some(folder) = self.nodes.get_mut(&folder) {
            folder.names.insert(name.to_owned(), number);
        }
    }

    fn unlink(&mut self, folder: u64, name: &OsStr) -> Option<u64> {
        self.nodes.get_mut(&folder)?.names.remove(name)
    }

    pub(crate) fn remove(&mut self, folder: u64, name: &OsStr) -> bool {
        let number = self.unlink(folder, name);
        number.is_some_and(|number| self.nodes.remove(&number).is_some())
    }

    pub(crate) fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr)) -> bool {
        let Some(number) = self.unlink(from.0, from.1) else { return false };
        self.link(to.0, to.1, number);
        true
    }

    /// The entries of a folder in a fixed order.
    pub(crate) fn list(&self, folder: u64) -> Vec<(u64, Kind, OsString)> {
        let Some(folder) = self.nodes.get(&folder) else { return Vec::new() };
        let mut entries: Vec<_> = folder
            .names
            .iter()
            .map(|(name, &number)| (number, self.nodes[&number].kind, name.clone()))
            .collect();
        entries.sort();
        entries
    }
}
