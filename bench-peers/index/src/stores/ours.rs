//! The index cache: whole file as body, each version a slice of it, every checksum compared.

use super::{MAPPED, Outcome, PREAD, Reader, Store, missing};
use crate::data::Crate;
use index_cache::cargo_layout::Document;
use index_cache::{
    Batch, Committed, Durability, Extent, FILE_NAME, IndexCache, Options, ReadMode, Snapshot,
};
use std::path::Path;

/// What the network brings is committed whenever this much of it waits in memory.
pub const BATCH_BYTES: usize = 2 << 20;
/// The same for an import of documents that are all there.
const IMPORT_BYTES: usize = 16 << 20;

/// By read mode.
#[derive(Clone, Copy)]
pub enum Ours {
    /// The default: by system calls alone.
    Pread,
    /// Small values by system calls, large ones through a map.
    Auto,
    /// Through a map.
    Mapped,
}

struct Open(Snapshot);

/// Opens a cache file of ours.
pub fn open(folder: &Path, mode: Ours) -> Outcome<IndexCache> {
    let options = match mode {
        Ours::Pread => Options::new(),
        // SAFETY: the folder is this benchmark's own and nobody else changes the file.
        Ours::Auto => unsafe { Options::new().mapped(ReadMode::Auto) },
        // SAFETY: as above.
        Ours::Mapped => unsafe { Options::new().mapped(ReadMode::Mapped) },
    };
    Ok(IndexCache::open(folder.join(FILE_NAME), options)?)
}

impl Store for Ours {
    fn name(&self) -> &'static str {
        match self {
            Self::Pread => PREAD,
            Self::Auto => "index-cache, auto",
            Self::Mapped => MAPPED,
        }
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.fill_by(BATCH_BYTES, folder, crates)
    }

    fn import(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.fill_by(IMPORT_BYTES, folder, crates)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        Ok(Box::new(Open(open(folder, *self)?.snapshot())))
    }

    fn is_fast_to_find(&self) -> bool {
        true
    }

    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()> {
        let cache = open(folder, *self)?;
        let mut batch = cache.batch();
        crates.iter().try_for_each(|one| put(&mut batch, one))?;
        let durability = if durable { Durability::Durable } else { Durability::Fast };
        written(&batch.commit(durability)?)
    }
}

impl Ours {
    /// One buffer serves all batches.
    fn fill_by(self, batch_bytes: usize, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        let cache = open(folder, self)?;
        let mut batch = cache.batch();
        for one in crates {
            put(&mut batch, one)?;
            if batch.bytes() >= batch_bytes {
                written(&batch.commit(Durability::Fast)?)?;
            }
        }
        written(&batch.commit(Durability::Fast)?)
    }
}

fn put(batch: &mut Batch<'_>, one: &Crate) -> Outcome<()> {
    let document = Document::parse(&one.blob).ok_or("not a document")?;
    Ok(batch.put(&one.name, &document.as_put())?)
}

fn written(committed: &Committed) -> Outcome<()> {
    match committed.skipped() {
        None => Ok(()),
        Some(reason) => Err(reason.to_string().into()),
    }
}

impl Reader for Open {
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        use_bytes(self.0.get(name)?.ok_or_else(|| missing(name))?.body()?);
        Ok(())
    }

    fn version(
        &mut self,
        name: &str,
        version: &str,
        use_bytes: &mut dyn FnMut(&[u8]),
    ) -> Outcome<()> {
        let entry = self.0.get(name)?.ok_or_else(|| missing(name))?;
        use_bytes(&entry.slice(version)?.ok_or_else(|| missing(name))?);
        Ok(())
    }

    fn prefetch(&mut self, names: &mut [&str]) -> Outcome<()> {
        self.0.prefetch(&*names, Extent::Whole)?;
        Ok(self.0.sort_as_stored(names)?)
    }

    fn locate(&mut self, name: &str) -> Outcome<usize> {
        match self.0.get(name)? {
            Some(entry) => Ok(usize::try_from(entry.body_len())?),
            None => Err(missing(name)),
        }
    }
}
