//! redb: one table, opened for reading in the mode that lets other processes read too.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use redb::{ConcurrencyMode, Database, ReadOnlyTable, ReadableDatabase, TableDefinition};

use super::{Bytes, Source};

const TABLE: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("crates");

pub(crate) struct Redb {
    table: ReadOnlyTable<&'static str, &'static [u8]>,
    _database: redb::ReadOnlyDatabase,
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
    builder
}

pub(crate) fn fill(to: &Path, source: &Source<'_>) -> Result<()> {
    let database = builder().create(to.join("index.redb"))?;
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(TABLE)?;
        source(&mut |key, bytes| {
            table.insert(key, bytes)?;
            Ok(())
        })?;
    }
    Ok(transaction.commit()?)
}

impl Redb {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let database = builder().open_read_only(folder.join("index.redb"))?;
        let table = database.begin_read()?.open_table(TABLE)?;
        Ok(Self { table, _database: database })
    }
}

impl Bytes for Redb {
    fn get(&self, key: &str) -> Result<Option<Cow<'_, [u8]>>> {
        Ok(self.table.get(key)?.map(|found| Cow::Owned(found.value().to_vec())))
    }
}
