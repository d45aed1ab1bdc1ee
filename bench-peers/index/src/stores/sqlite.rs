//! SQLite in both schemas: a blob per crate, and a row per version. WAL, prepared statements, mapped
//! reads; rowid tables, which are three times faster here than `WITHOUT ROWID`.

use super::{Outcome, Reader, Store, missing, parse_as_cargo};
use crate::data::Crate;
use rusqlite::{Connection, OpenFlags, params};
use std::path::Path;

pub enum Sqlite {
    Blobs,
    Versions,
}

struct Open {
    connection: Connection,
    has_versions: bool,
}

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS crates(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, blob BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS versions(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, json BLOB NOT NULL, UNIQUE(name, version));";

impl Sqlite {
    fn writable(folder: &Path, durable: bool) -> Outcome<Connection> {
        let connection = Connection::open(folder.join("index.db"))?;
        connection.pragma_update(None, "mmap_size", 8_i64 << 30)?;
        connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", if durable { "FULL" } else { "NORMAL" })?;
        connection.execute_batch(SCHEMA)?;
        Ok(connection)
    }

    fn insert(&self, connection: &Connection, one: &Crate) -> Outcome<()> {
        match self {
            Self::Blobs => {
                let sql = "INSERT INTO crates(name, blob) VALUES(?1, ?2)
                    ON CONFLICT(name) DO UPDATE SET blob = excluded.blob";
                connection.prepare_cached(sql)?.execute(params![one.name, one.blob])?;
            }
            Self::Versions => {
                let sql = "INSERT OR REPLACE INTO versions(name, version, json) VALUES(?1, ?2, ?3)";
                let mut statement = connection.prepare_cached(sql)?;
                for (version, json) in parse_as_cargo(&one.blob) {
                    statement.execute(params![one.name, version.to_string(), json])?;
                }
            }
        }
        Ok(())
    }
}

impl Store for Sqlite {
    fn name(&self) -> &'static str {
        match self {
            Self::Blobs => "SQLite, blob per crate",
            Self::Versions => "SQLite, row per version",
        }
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.update(folder, crates, false)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(folder.join("index.db"), flags)?;
        connection.pragma_update(None, "mmap_size", 8_i64 << 30)?;
        Ok(Box::new(Open { connection, has_versions: matches!(self, Self::Versions) }))
    }

    fn has_row_per_version(&self) -> bool {
        matches!(self, Self::Versions)
    }

    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()> {
        let mut connection = Self::writable(folder, durable)?;
        let transaction = connection.transaction()?;
        for one in crates {
            self.insert(&transaction, one)?;
        }
        transaction.commit()?;
        Ok(())
    }

    fn note(&self) -> Option<&'static str> {
        Some("SQLite without sync still syncs once, when the last connection closes the log.")
    }
}

impl Reader for Open {
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        let sql = if self.has_versions {
            "SELECT json FROM versions WHERE name = ?1"
        } else {
            "SELECT blob FROM crates WHERE name = ?1"
        };
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([name])?;
        let mut found = false;
        while let Some(row) = rows.next()? {
            found = true;
            use_bytes(row.get_ref(0)?.as_blob()?);
        }
        if found { Ok(()) } else { Err(missing(name)) }
    }

    fn version(
        &mut self,
        name: &str,
        version: &str,
        use_bytes: &mut dyn FnMut(&[u8]),
    ) -> Outcome<()> {
        if !self.has_versions {
            return parse_version(self, name, version, use_bytes);
        }
        let sql = "SELECT json FROM versions WHERE name = ?1 AND version = ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([name, version])?;
        let row = rows.next()?.ok_or_else(|| missing(name))?;
        use_bytes(row.get_ref(0)?.as_blob()?);
        Ok(())
    }
}

fn parse_version(
    open: &mut Open,
    name: &str,
    version: &str,
    use_bytes: &mut dyn FnMut(&[u8]),
) -> Outcome<()> {
    let wanted = semver::Version::parse(version)?;
    open.whole(name, &mut |blob| {
        let line = parse_as_cargo(blob).into_iter().find(|(version, _)| *version == wanted);
        if let Some((_, json)) = line {
            use_bytes(json);
        }
    })
}
