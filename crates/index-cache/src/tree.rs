//! The way from a header to a slot: branch page, leaf page, each proved by the pointer above it.
//!
//! Pages are loaded at most once per open file and only when a key needs them, which keeps opening
//! at one read whatever the number of entries. They are copied in every read mode: a first touch of
//! a map costs several times what reading 4 KiB costs, and each page of a large index would be one.
//! What is kept is 4 KiB for each leaf that was used, which stands for about 150 entries.

use crate::error::Result;
use crate::header::{Header, Pointer};
use crate::layout::FANOUT;
use crate::pages::{self, EMPTY, Page};
use std::sync::OnceLock;

/// The index of one snapshot.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) leaves: u32,
    branches: Vec<Branch>,
}

#[derive(Debug)]
struct Branch {
    pointer: Pointer,
    children: OnceLock<Vec<Leaf>>,
}

#[derive(Debug)]
struct Leaf {
    pointer: Pointer,
    page: OnceLock<Box<Page>>,
}

/// Where pages come from. Implemented by the layer, which owns the file.
pub(crate) trait PageSource {
    /// Reads the page and compares it with the pointer's check.
    fn load(&self, pointer: Pointer, what: &'static str) -> Result<Box<Page>>;
}

impl Tree {
    pub(crate) fn new(header: &Header) -> Self {
        let branch = |pointer: &Pointer| Branch { pointer: *pointer, children: OnceLock::new() };
        Self { leaves: header.leaves, branches: header.branches.iter().map(branch).collect() }
    }

    /// The leaf that `hash` belongs to.
    #[inline]
    pub(crate) fn leaf_for(&self, source: &impl PageSource, hash: u32) -> Result<&Page> {
        self.leaf(source, pages::leaf_of(hash, self.leaves))
    }

    /// Leaf number `index`; a leaf that was never written is empty.
    #[inline]
    pub(crate) fn leaf(&self, source: &impl PageSource, index: u32) -> Result<&Page> {
        let Some(leaf) = self.child(source, index)? else { return Ok(&EMPTY) };
        if leaf.pointer.is_none() {
            return Ok(&EMPTY);
        }
        if leaf.page.get().is_none() {
            let loaded = source.load(leaf.pointer, "leaf page")?;
            let _already = leaf.page.set(loaded);
        }
        Ok(leaf.page.get().map_or(&EMPTY, |page| page))
    }

    /// The pointer to leaf number `index`.
    pub(crate) fn pointer(&self, source: &impl PageSource, index: u32) -> Result<Pointer> {
        Ok(self.child(source, index)?.map_or(Pointer::NONE, |leaf| leaf.pointer))
    }

    /// True when reading the leaf costs no I/O.
    pub(crate) fn is_loaded(&self, source: &impl PageSource, index: u32) -> bool {
        matches!(self.child(source, index), Ok(Some(leaf)) if leaf.page.get().is_some())
    }

    #[inline]
    fn child(&self, source: &impl PageSource, index: u32) -> Result<Option<&Leaf>> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match self.branches.get(index / FANOUT) {
            Some(branch) if !branch.pointer.is_none() => {
                Ok(branch.children(source)?.get(index % FANOUT))
            }
            _ => Ok(None),
        }
    }
}

impl Branch {
    #[inline]
    fn children(&self, source: &impl PageSource) -> Result<&[Leaf]> {
        if let Some(children) = self.children.get() {
            return Ok(children);
        }
        let page = source.load(self.pointer, "branch page")?;
        Ok(self.children.get_or_init(|| leaves_of(&page)))
    }
}

/// The leaves of a branch page, without the absent ones at its end.
fn leaves_of(page: &Page) -> Vec<Leaf> {
    let pointers: Vec<_> = (0..FANOUT).map(|index| pages::child(page, index)).collect();
    let used = pointers.iter().rposition(|pointer| !pointer.is_none()).map_or(0, |last| last + 1);
    let leaf = |pointer: &Pointer| Leaf { pointer: *pointer, page: OnceLock::new() };
    pointers[..used].iter().map(leaf).collect()
}
