//! Reading everything and comparing every check.

use crate::content;
use crate::error::{Error, Result};
use crate::header::Slot as HeaderSlot;
use crate::layer::{self, Layer, Record};
use crate::layout::PAGE;
use crate::progress::{Observer, report};
use crate::walk::{Leaves, Walk};
use std::fmt;
use std::path::PathBuf;

/// The outcome of [`IndexCache::verify`](crate::IndexCache::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "the faults are in here"]
pub struct Verified {
    /// Entries that are wholly as they were stored.
    pub entries: u64,
    /// Bytes of those entries' records and contents.
    pub bytes: u64,
    /// What is not as it was stored; empty for a sound cache.
    pub faults: Vec<Fault>,
}

/// One damaged structure.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// First byte of the structure.
    pub offset: u64,
    /// The structure's name in `docs/FORMAT.md`.
    pub what: &'static str,
    /// The entry that is lost with it, where that is known.
    pub key: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: corrupt {} at byte {}", self.path.display(), self.what, self.offset)?;
        match &self.key {
            Some(key) => write!(f, ", entry `{key}`"),
            None => Ok(()),
        }
    }
}

impl Verified {
    /// Returns true when no fault was found.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Verifies one file and adds the result.
    pub(crate) fn add(&mut self, layer: &Layer, observer: &mut Observer<'_>) -> Result<()> {
        self.headers(layer)?;
        for record in Walk::new(layer, Leaves::Current) {
            match record {
                Ok((_, record)) => self.entry(layer, &record)?,
                Err(error) => self.fault(layer, error, None)?,
            }
            report(observer, self.entries, layer.header.entries)?;
        }
        Ok(())
    }

    fn headers(&mut self, layer: &Layer) -> Result<()> {
        let slots = layer::read_slots(layer.medium(), &layer.path)?;
        for (slot, offset) in slots.slots.iter().zip([0, PAGE]) {
            if matches!(slot, HeaderSlot::Damaged | HeaderSlot::Foreign) {
                self.fault(layer, Error::corrupt(&layer.path, offset, "header slot"), None)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, layer: &Layer, record: &Record) -> Result<()> {
        match content::read(layer, record) {
            Ok(bytes) => {
                self.entries += 1;
                self.bytes +=
                    crate::put::wide(layer.head(record).named_len() + layer.view(&bytes).len());
                Ok(())
            }
            Err(error) => {
                let key = String::from_utf8_lossy(layer.key_bytes(record)).into_owned();
                self.fault(layer, error, Some(key))
            }
        }
    }

    fn fault(&mut self, layer: &Layer, error: Error, key: Option<String>) -> Result<()> {
        if !error.is_corrupt() {
            return Err(error);
        }
        let (offset, what) = (error.offset().unwrap_or_default(), error.what());
        let fault = Fault { path: layer.path.clone(), offset, what, key };
        // Below a damaged branch page every leaf reports the same page.
        if self.faults.last() != Some(&fault) {
            self.faults.push(fault);
        }
        Ok(())
    }
}
