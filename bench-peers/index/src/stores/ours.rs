//! The index cache: whole file as body, each version a slice of it, every checksum compared.

use super::{Outcome, Reader, Store, missing};
use crate::data::Crate;
use index_cache::cargo_layout::Document;
use index_cache::{Durability, Extent, FILE_NAME, IndexCache, Options, ReadMode, Snapshot};
use std::path::Path;

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
            Self::Pread => "index-cache",
            Self::Auto => "index-cache, auto",
            Self::Mapped => "index-cache, mapped",
        }
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.update(folder, crates, false)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        Ok(Box::new(Open(open(folder, *self)?.snapshot())))
    }

    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()> {
        let cache = open(folder, *self)?;
        let mut batch = cache.batch();
        for one in crates {
            let document = Document::parse(&one.blob).ok_or("not a document")?;
            batch.put(&one.name, &document.as_put())?;
        }
        let durability = if durable { Durability::Durable } else { Durability::Fast };
        match batch.commit(durability)?.skipped() {
            None => Ok(()),
            Some(reason) => Err(reason.to_string().into()),
        }
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

    fn prefetch(&mut self, names: &[&str]) -> Outcome<()> {
        self.0.prefetch(names, Extent::Whole)?;
        Ok(())
    }

    fn locate(&mut self, name: &str) -> Outcome<usize> {
        let entry = self.0.get(name)?.ok_or_else(|| missing(name))?;
        Ok(usize::try_from(entry.body_len())?)
    }
}
