//! SQLite: one table, write-ahead log, prepared statements, mapped reads.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Result;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use super::{Bytes, Source};

pub(crate) struct Sqlite(Connection);

pub(crate) fn fill(to: &Path, source: &Source<'_>) -> Result<()> {
    let mut connection = Connection::open(to.join("index.db"))?;
    connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
    let table = "CREATE TABLE crates(id INTEGER PRIMARY KEY, name TEXT UNIQUE, bytes BLOB)";
    connection.execute_batch(table)?;
    let transaction = connection.transaction()?;
    source(&mut |key, bytes| {
        let sql = "INSERT INTO crates(name, bytes) VALUES(?1, ?2)";
        transaction.prepare_cached(sql)?.execute(params![key, bytes])?;
        Ok(())
    })?;
    Ok(transaction.commit()?)
}

impl Sqlite {
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(folder.join("index.db"), flags)?;
        connection.pragma_update(None, "mmap_size", 8_i64 << 30)?;
        Ok(Self(connection))
    }
}

impl Bytes for Sqlite {
    fn get(&self, key: &str) -> Result<Option<Cow<'_, [u8]>>> {
        let mut statement = self.0.prepare_cached("SELECT bytes FROM crates WHERE name = ?1")?;
        let bytes = statement.query_row([key], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        Ok(bytes.map(Cow::Owned))
    }
}
