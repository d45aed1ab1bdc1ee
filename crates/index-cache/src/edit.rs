//! The index while a commit changes it: leaves are loaded, changed in memory, and written anew.
//!
//! Copy on write keeps three promises at once: a batch is atomic (only the header makes the new
//! pages reachable), old snapshots stay readable, and removing a key needs no marker. A commit
//! writes the leaves it touched, the branch pages above them, and nothing else.

use crate::batch::Durability;
use crate::error::{Error, Result};
use crate::hash::hash;
use crate::header::{Header, Pointer, branches_for};
use crate::layer::{Found, Layer, Reach, Record};
use crate::layout::{FANOUT, LEAVES_MAX, PAGE};
use crate::pages::{self, LEAF_FULL, LEAF_MAX};
use crate::put::wide;
use crate::slot::Slot;
use std::collections::BTreeMap;

/// An index under change.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    /// The snapshot it started from; none for a new file.
    pub(crate) old: Option<&'a Layer>,
    header: Header,
    /// Leaves that are in memory; all of them once the index has grown.
    tables: BTreeMap<u32, Vec<Slot>>,
    grown: bool,
    pub(crate) is_changed: bool,
}

impl<'a> Edit<'a> {
    /// Starts from an existing snapshot.
    pub(crate) fn of(old: &'a Layer) -> Self {
        let header = old.header.clone();
        Self { old: Some(old), header, tables: BTreeMap::new(), grown: false, is_changed: false }
    }

    /// Starts from nothing; `header` brings identity and schema.
    pub(crate) fn new(header: Header) -> Self {
        Self { old: None, header, tables: BTreeMap::new(), grown: true, is_changed: true }
    }

    pub(crate) fn hash(&self, key: &str) -> u32 {
        hash(&self.header.hash_key, key)
    }

    /// The snapshot's record of `key`. Where a lookup would go round damage this does not: what is
    /// found there may be older than what the caller has seen.
    pub(crate) fn find(&mut self, key: &str) -> Result<Found> {
        let hash = self.hash(key);
        let Some(old) = self.old else { return Ok(Found::Nothing) };
        let leaf = pages::leaf_of(hash, old.header.leaves);
        if old.is_leaf_lost(leaf, Durability::Durable)? {
            return Ok(Found::Damaged);
        }
        Ok(match self.position(hash, key)? {
            Some((_, Some(record))) => Found::Record(record),
            Some((_, None)) => Found::Damaged,
            None => Found::Nothing,
        })
    }

    /// Points `key` at a new record.
    pub(crate) fn set(&mut self, key: &str, slot: Slot) -> Result<()> {
        let position = self.position(slot.hash, key)?;
        let table = self.table(slot.hash)?;
        let mut freed = 0;
        if let Some((index, _)) = position {
            freed = std::mem::replace(&mut table[index], slot).place.span();
        } else {
            table.push(slot);
        }
        let is_full = table.len() > LEAF_FULL;
        self.header.entries = self.header.entries.saturating_add(u64::from(position.is_none()));
        self.account(slot.place.span(), freed);
        if is_full { self.grow() } else { Ok(()) }
    }

    /// Forgets `key`.
    pub(crate) fn remove(&mut self, key: &str) -> Result<()> {
        let hash = self.hash(key);
        if let Some((index, _)) = self.position(hash, key)? {
            let gone = self.table(hash)?.swap_remove(index);
            self.header.entries = self.header.entries.saturating_sub(1);
            self.account(0, gone.place.span());
        }
        Ok(())
    }

    /// Takes over from the last durable snapshot what a power cut took from the current one.
    ///
    /// An unsynced commit leaves the durable header where it is, so there it is enough to mend
    /// what this commit's own branch pages would lose. A durable commit ends the durable header's
    /// life: every page written since has to prove itself now.
    pub(crate) fn heal(&mut self, durability: Durability) -> Result<()> {
        let Some(old) = self.old.filter(|old| !self.grown && old.has_fallback()) else {
            return Ok(());
        };
        for index in 0..self.header.leaves {
            if !self.tables.contains_key(&index) && old.is_leaf_lost(index, durability)? {
                let table = self.load(index)?;
                self.tables.insert(index, table);
            }
        }
        Ok(())
    }

    fn account(&mut self, added: u64, freed: u64) {
        // The old numbers come from the file: they may be anything.
        self.header.live_bytes = self.header.live_bytes.saturating_add(added).saturating_sub(freed);
        self.is_changed = true;
    }

    /// Where the leaf keeps `key`, and its record if that can be read.
    ///
    /// A record that is damaged cannot say whose it is; with equal 32-bit hashes it is taken for
    /// the key's own, and replaced.
    fn position(&mut self, hash: u32, key: &str) -> Result<Option<(usize, Option<Record>)>> {
        let Some(old) = self.old else { return Ok(None) };
        let table = self.table(hash)?;
        let same = table.iter().enumerate().filter(|(_, slot)| slot.hash == hash);
        // Records at or past the old end belong to other keys of this very batch.
        for (index, slot) in same.filter(|(_, slot)| slot.place.offset() < old.header.end) {
            match old.record(*slot, Reach::Name) {
                Ok(record) if old.key_bytes(&record) == key.as_bytes() => {
                    return Ok(Some((index, Some(record))));
                }
                Ok(_) => {}
                Err(error) if error.is_corrupt() => return Ok(Some((index, None))),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn table(&mut self, hash: u32) -> Result<&mut Vec<Slot>> {
        let index = pages::leaf_of(hash, self.header.leaves);
        if !self.tables.contains_key(&index) {
            let table = self.load(index)?;
            self.tables.insert(index, table);
        }
        Ok(self.tables.entry(index).or_default())
    }

    fn load(&self, index: u32) -> Result<Vec<Slot>> {
        match self.old {
            Some(old) if !self.grown => old.leaf_or_older(index),
            _ => Ok(Vec::new()),
        }
    }

    /// Doubles the number of leaves. From now on every leaf is in memory and will be written.
    fn grow(&mut self) -> Result<()> {
        if self.header.leaves >= LEAVES_MAX {
            return Ok(());
        }
        for index in 0..self.header.leaves {
            if !self.grown && !self.tables.contains_key(&index) {
                let table = self.load(index)?;
                self.tables.insert(index, table);
            }
        }
        self.grown = true;
        self.header.leaves *= 2;
        for (index, table) in std::mem::take(&mut self.tables) {
            let (low, high) = pages::split(table, self.header.leaves);
            self.tables.insert(index * 2, low);
            self.tables.insert(index * 2 + 1, high);
        }
        Ok(())
    }

    fn check_capacity(&self) -> Result<()> {
        let fullest = self.tables.values().map(Vec::len).max().unwrap_or(0);
        if fullest > LEAF_MAX {
            return Err(Error::too_large("slots of a leaf", wide(fullest), wide(LEAF_MAX)));
        }
        Ok(())
    }

    /// Appends the changed pages to `tail`, whose first byte will be at `base`, a multiple of the
    /// page length in file and buffer. Gives the header that makes them reachable.
    pub(crate) fn finish(mut self, tail: &mut Vec<u8>, base: u64) -> Result<Header> {
        self.check_capacity()?;
        let mut pointers = BTreeMap::new();
        for (index, table) in std::mem::take(&mut self.tables) {
            let pointer = if table.is_empty() {
                Pointer::NONE
            } else {
                append_page(tail, base, &pages::encode_leaf(&table))
            };
            pointers.insert(index, pointer);
        }
        let mut branches = self.header.branches.clone();
        branches.resize(branches_for(self.header.leaves), Pointer::NONE);
        for (branch, pointer) in (0_u32..).zip(&mut branches) {
            if let Some(children) = self.children(branch, &pointers)? {
                *pointer = append_page(tail, base, &pages::encode_branch(&children));
            }
        }
        self.header.branches = branches;
        self.header.end = base + wide(tail.len());
        self.header.seq += 1;
        Ok(self.header)
    }

    /// The leaf pointers of one branch; none when no leaf below it has changed.
    fn children(&self, branch: u32, new: &BTreeMap<u32, Pointer>) -> Result<Option<Vec<Pointer>>> {
        let fanout = u32::try_from(FANOUT).unwrap_or(u32::MAX);
        let first = branch * fanout;
        let leaves = first..self.header.leaves.min(first + fanout);
        if new.range(leaves.clone()).next().is_none() {
            return Ok(None);
        }
        let pointer = |index| match new.get(&index) {
            Some(pointer) => Ok(*pointer),
            None => self.kept(index),
        };
        leaves.map(pointer).collect::<Result<_>>().map(Some)
    }

    /// Where an untouched leaf is. Below a damaged branch page that is unknown, and what `heal` did
    /// not bring back is lost.
    fn kept(&self, index: u32) -> Result<Pointer> {
        match self.old {
            Some(old) if !self.grown => match old.leaf_pointer(index) {
                Err(error) if error.is_corrupt() => Ok(Pointer::NONE),
                outcome => outcome,
            },
            _ => Ok(Pointer::NONE),
        }
    }
}

fn append_page(tail: &mut Vec<u8>, base: u64, page: &pages::Page) -> Pointer {
    let offset = base + wide(tail.len());
    debug_assert!(offset.is_multiple_of(PAGE), "pages lie on page boundaries");
    tail.extend_from_slice(page);
    Pointer { offset, check: crate::check::check(page) }
}
