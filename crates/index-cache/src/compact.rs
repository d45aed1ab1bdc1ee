//! Giving space back: what is still reachable is copied, in key order, into a new file that takes
//! the old one's name.
//!
//! Readers are not asked and do not notice: they hold the old file open, and the system keeps it
//! until the last of them lets go. That is also why space is never reclaimed in place.

use crate::commit::{Target, WriteSkipped, Writer, pad_to_page};
use crate::content;
use crate::edit::Edit;
use crate::error::{Error, Result};
use crate::fresh::{self, Fresh};
use crate::header::Header;
use crate::layer::{Layer, Reach, Record};
use crate::progress::{Observer, report};
use crate::record::{self, Encoded};
use crate::slot::Slot;
use crate::walk::{Leaves, Walk};
use std::io::ErrorKind;

/// Records are written in pieces of about this many bytes.
const PIECE_LEN: usize = 1 << 20;

/// The outcome of [`IndexCache::compact`](crate::IndexCache::compact).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "a skipped compaction is not an error, but the caller may want to say so"]
pub enum Compacted {
    /// The file holds only what is reachable.
    Done(Reclaimed),
    /// Nothing was changed.
    Skipped(WriteSkipped),
}

/// What a compaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reclaimed {
    /// Length of the old file up to its snapshot's end.
    pub bytes_before: u64,
    /// Length of the new file.
    pub bytes_after: u64,
    /// Entries that were kept.
    pub entries: u64,
    /// Entries that were damaged and are gone.
    pub damaged: u64,
}

impl Writer<'_> {
    pub(crate) fn compact(&self, observer: &mut Observer<'_>) -> Result<Compacted> {
        let _lock = match self.lock()? {
            Ok(lock) => lock,
            Err(reason) => return Ok(Compacted::Skipped(reason)),
        };
        match self.target()? {
            Ok(Target::Existing(old)) => self.rewrite(&old, observer),
            Ok(Target::Fresh) => Ok(Compacted::Done(Reclaimed::default())),
            Err(reason) => Ok(Compacted::Skipped(reason)),
        }
    }

    fn rewrite(&self, old: &Layer, observer: &mut Observer<'_>) -> Result<Compacted> {
        let mut reclaimed = Reclaimed { bytes_before: old.header.end, ..Reclaimed::default() };
        let live = reachable(old, &mut reclaimed.damaged)?;
        let file = match Fresh::create(self.disk, self.path) {
            Ok(file) => file,
            Err(error) => {
                return crate::commit::refusal("create", self.path, error).map(Compacted::Skipped);
            }
        };
        let mut copy = Copy::new(old, file);
        for (done, (key, slot)) in (0..).zip(&live) {
            report(observer, done, old.header.entries)?;
            reclaimed.damaged += u64::from(!copy.entry(key, *slot)?);
        }
        match copy.finish() {
            Ok(header) => {
                reclaimed.bytes_after = header.end;
                reclaimed.entries = header.entries;
                Ok(Compacted::Done(reclaimed))
            }
            // Windows: somebody holds the old file in a way that keeps its name taken.
            Err(error) if error.io_kind() == Some(ErrorKind::PermissionDenied) => {
                Ok(Compacted::Skipped(WriteSkipped::InUse))
            }
            Err(error) => Err(error),
        }
    }
}

/// Keys and slots of all records that can be read, in key order, each key once.
fn reachable(old: &Layer, damaged: &mut u64) -> Result<Vec<(Box<str>, Slot)>> {
    let mut live: Vec<(Box<str>, Slot)> = Vec::new();
    for record in Walk::new(old, Leaves::OrOlder) {
        match record {
            Ok((slot, record)) => live.extend(key_of(old, &record).map(|key| (key.into(), slot))),
            Err(error) if error.is_corrupt() => *damaged += 1,
            Err(error) => return Err(error),
        }
    }
    live.sort_by(|(a, _), (b, _)| a.cmp(b));
    // Only a hostile file has a key twice.
    live.dedup_by(|(a, _), (b, _)| a == b);
    Ok(live)
}

fn key_of<'a>(layer: &'a Layer, record: &'a Record) -> Option<&'a str> {
    str::from_utf8(layer.key_bytes(record)).ok()
}

/// A new file on its way.
struct Copy<'a> {
    old: &'a Layer,
    file: Fresh<'a>,
    edit: Edit<'a>,
    piece: Vec<u8>,
}

impl<'a> Copy<'a> {
    fn new(old: &'a Layer, file: Fresh<'a>) -> Self {
        let header = Header { seq: old.header.seq, ..fresh::header(old.header.schema) };
        Self { old, file, edit: Edit::new(header), piece: Vec::new() }
    }

    /// Copies one entry; gives false when it is damaged.
    fn entry(&mut self, key: &str, slot: Slot) -> Result<bool> {
        let encoded = match self.append(key, slot) {
            Err(error) if error.is_corrupt() => return Ok(false),
            outcome => outcome?,
        };
        let (hash, place) = (self.edit.hash(key), encoded.place(self.file.at));
        self.edit.set(key, Slot { hash, check: encoded.check, place })?;
        if self.piece.len() >= PIECE_LEN {
            self.file.append(&self.piece)?;
            self.piece.clear();
        }
        Ok(true)
    }

    fn append(&mut self, key: &str, slot: Slot) -> Result<Encoded> {
        let record = self.old.record(slot, Reach::Name)?;
        let content = content::read(self.old, &record)?;
        let (head, bytes) = (self.old.head(&record), self.old.view(&content));
        let token = &self.old.named(&record)[head.token()];
        let (kind, described) = (head.kind(), head.content());
        Ok(record::append_copy(&mut self.piece, kind, key, token, described, bytes))
    }

    fn finish(mut self) -> Result<Header, Error> {
        pad_to_page(&mut self.piece, self.file.at);
        let mut header = self.edit.finish(&mut self.piece, self.file.at)?;
        // It replaces a file that may hold durable commits.
        header.synced = true;
        self.file.append(&self.piece)?;
        self.file.publish(&header)?;
        Ok(header)
    }
}
