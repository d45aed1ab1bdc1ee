//! redb: one table, a blob per crate, in the mode that lets other processes read.

use super::{Outcome, Reader, Store, missing};
use crate::data::Crate;
use redb::{ConcurrencyMode, Database, ReadOnlyTable, ReadableDatabase, TableDefinition};
use std::path::Path;

pub struct Redb;

const TABLE: TableDefinition<&str, &[u8]> = TableDefinition::new("crates");

struct Open {
    table: ReadOnlyTable<&'static str, &'static [u8]>,
    _database: redb::ReadOnlyDatabase,
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_concurrency_mode(ConcurrencyMode::SingleWriter);
    builder
}

impl Store for Redb {
    fn name(&self) -> &'static str {
        "redb"
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        // Only the mode for one process lets the sync be left out.
        let mut builder = Database::builder();
        builder.set_concurrency_mode(ConcurrencyMode::default());
        store(builder.create(folder.join("index.redb"))?, crates, redb::Durability::None)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        let database = builder().open_read_only(folder.join("index.redb"))?;
        let table = database.begin_read()?.open_table(TABLE)?;
        Ok(Box::new(Open { table, _database: database }))
    }

    fn is_fast_to_find(&self) -> bool {
        true
    }

    fn update(&self, folder: &Path, crates: &[Crate], _durable: bool) -> Outcome<()> {
        store(builder().create(folder.join("index.redb"))?, crates, redb::Durability::Immediate)
    }

    fn note(&self) -> Option<&'static str> {
        Some(
            "redb beside other processes has no commit without a sync: its fast updates are durable ones.",
        )
    }
}

fn store(database: Database, crates: &[Crate], durability: redb::Durability) -> Outcome<()> {
    let mut transaction = database.begin_write()?;
    transaction.set_durability(durability)?;
    {
        let mut table = transaction.open_table(TABLE)?;
        for one in crates {
            table.insert(one.name.as_str(), one.blob.as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

impl Reader for Open {
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        use_bytes(self.table.get(name)?.ok_or_else(|| missing(name))?.value());
        Ok(())
    }

    fn locate(&mut self, name: &str) -> Outcome<usize> {
        Ok(self.table.get(name)?.ok_or_else(|| missing(name))?.value().len())
    }
}
