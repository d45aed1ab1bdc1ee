//! What happened to each file: every fallback is returned and counted, none is printed.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::digest::{Digest, Executable};
use crate::sys::Inode;

/// How one file came to its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placed {
    /// A hard link of an object that was there; nothing was written.
    Linked,
    /// A copy-on-write clone of an object that was there.
    Reflinked,
    /// A copy of an object that was there, hashed while it was copied.
    Copied,
    /// Written at the destination, and the store has it now.
    WroteAndPublished,
    /// Written at the destination only.
    WrotePrivate(Why),
}

/// Why a file did not become an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// Empty files are never shared: they save nothing, and one write would reach them all.
    Empty,
    /// It has an inode of its own already, and keeps it.
    Alone,
    /// The store was opened with [`Access::ReadOnly`](crate::Access::ReadOnly).
    ReadOnlyStore,
    /// The system refused; this is its error number, zero when it gave none.
    Refused(i32),
}

/// An object that was not what its name says, and is in the store's `quarantine` folder now.
///
/// Environments that were given it as a hard link still hold the bad bytes:
/// [`Store::sharers`](crate::Store::sharers) finds them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Quarantined {
    /// What the object was to contain.
    pub digest: Digest,
    /// Which variant it was.
    pub executable: Executable,
    /// The name of the bad file in the `quarantine` folder.
    pub file: String,
    /// How many other names the bad inode had when it was found.
    pub other_links: u64,
    pub(crate) inode: Inode,
}

/// How many files went which way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PlaceReport {
    /// Hard links of objects.
    pub linked: u64,
    /// Copy-on-write clones of objects.
    pub reflinked: u64,
    /// Copies of objects.
    pub copied: u64,
    /// Files written that the store has now.
    pub published: u64,
    /// Files written that the store does not have, empty ones included.
    pub private: u64,
    /// Objects that had as many links as the file system allows and were replaced by a fresh inode.
    pub rolled_over: u64,
    /// Hard links that made an overlay file system copy the object up, after which copies are made.
    pub copied_up: u64,
    /// Objects found bad on the way. They were never handed out.
    pub quarantined: Vec<Quarantined>,
}

impl PlaceReport {
    /// All files placed.
    pub fn files(&self) -> u64 {
        self.linked + self.reflinked + self.copied + self.published + self.private
    }
}

/// The counters behind a [`PlaceReport`], shared by threads.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    linked: AtomicU64,
    reflinked: AtomicU64,
    copied: AtomicU64,
    published: AtomicU64,
    private: AtomicU64,
    rolled_over: AtomicU64,
    copied_up: AtomicU64,
    quarantined: Mutex<Vec<Quarantined>>,
}

impl Tally {
    /// Counts and gives back.
    pub(crate) fn count(&self, placed: Placed) -> Placed {
        let counter = match placed {
            Placed::Linked => &self.linked,
            Placed::Reflinked => &self.reflinked,
            Placed::Copied => &self.copied,
            Placed::WroteAndPublished => &self.published,
            Placed::WrotePrivate(_) => &self.private,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        placed
    }

    pub(crate) fn rolled_over(&self) {
        self.rolled_over.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn copied_up(&self) {
        self.copied_up.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn quarantined(&self, bad: Quarantined) {
        self.quarantined.lock().unwrap_or_else(PoisonError::into_inner).push(bad);
    }

    /// Adds what another tally counted.
    pub(crate) fn absorb(&self, other: &PlaceReport) {
        let add = |counter: &AtomicU64, more| counter.fetch_add(more, Ordering::Relaxed);
        add(&self.linked, other.linked);
        add(&self.reflinked, other.reflinked);
        add(&self.copied, other.copied);
        add(&self.published, other.published);
        add(&self.private, other.private);
        add(&self.rolled_over, other.rolled_over);
        add(&self.copied_up, other.copied_up);
        other.quarantined.iter().cloned().for_each(|bad| self.quarantined(bad));
    }

    pub(crate) fn report(&self) -> PlaceReport {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PlaceReport {
            linked: read(&self.linked),
            reflinked: read(&self.reflinked),
            copied: read(&self.copied),
            published: read(&self.published),
            private: read(&self.private),
            rolled_over: read(&self.rolled_over),
            copied_up: read(&self.copied_up),
            quarantined: self.quarantined.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
