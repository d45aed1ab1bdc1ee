//! sled 0.34: one tree. The newest release that is not an alpha; one process at a time.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;

use super::{Bytes, Source};

pub(crate) struct Sled(sled::Db);

fn open(folder: &Path) -> Result<sled::Db> {
    Ok(sled::Config::new().path(folder.join("sled")).open()?)
}

pub(crate) fn fill(to: &Path, source: &Source<'_>) -> Result<()> {
    let database = open(to)?;
    let mut batch = sled::Batch::default();
    source(&mut |key, bytes| {
        batch.insert(key.as_bytes(), bytes);
        Ok(())
    })?;
    database.apply_batch(batch)?;
    database.flush()?;
    Ok(())
}

impl Sled {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        Ok(Self(open(folder)?))
    }
}

impl Bytes for Sled {
    fn get(&self, key: &str) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.0.get(key)?.map(|bytes| Cow::Owned(bytes.to_vec())))
    }
}
