//! sled: one tree, a blob per crate.

use super::{Outcome, Reader, Store, missing};
use crate::data::Crate;
use std::path::Path;

pub struct Sled;

struct Open(sled::Db);

impl Store for Sled {
    fn name(&self) -> &'static str {
        "sled"
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.update(folder, crates, false)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        Ok(Box::new(Open(sled::Config::new().path(folder.join("sled")).open()?)))
    }

    fn is_fast_to_find(&self) -> bool {
        true
    }

    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()> {
        let db = sled::Config::new().path(folder.join("sled")).open()?;
        let mut batch = sled::Batch::default();
        for one in crates {
            batch.insert(one.name.as_bytes(), one.blob.as_slice());
        }
        db.apply_batch(batch)?;
        if durable {
            db.flush()?;
        }
        Ok(())
    }

    fn note(&self) -> Option<&'static str> {
        Some("sled is 0.34.7, the newest release that is not an alpha; one process at a time.")
    }
}

impl Reader for Open {
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        use_bytes(&self.0.get(name)?.ok_or_else(|| missing(name))?);
        Ok(())
    }
}
