//! Other homes for the registry's records, behind mini-cargo's own storage trait.
//!
//! Each database maps a crate's name to bytes, in two forms: the bytes of cargo's file, parsed at
//! each use as cargo does (what rust-lang/cargo#6908 tried), and mini-cargo's records, of which
//! only those that are looked at are decoded. So one can see what the database gives and what the
//! form gives. None of them asks a registry or stores anything while it is measured.

mod files;
mod packed;
mod redb;
mod sled;
mod sqlite;

use std::borrow::Cow;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use mini_cargo::store::{Freshness, Lookup, Store, each_cargo_file, parse_cargo_file};

use packed::Packed;

/// A database of one kind, filled once and then opened by each measured process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    database: Database,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Database {
    Files,
    Sqlite,
    Sled,
    Redb,
}

/// What the bytes of a crate are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Cargo's file.
    Json,
    /// mini-cargo's records of all versions, one after the other.
    Records,
}

/// Bytes by name.
pub(crate) trait Bytes {
    fn get(&self, key: &str) -> Result<Option<Cow<'_, [u8]>>>;
}

/// Puts the bytes of a crate into a database that is being filled.
type Put<'a> = dyn FnMut(&str, &[u8]) -> Result<()> + 'a;
/// Hands every crate of cargo's index to [`Put`], in the wanted form.
type Source<'a> = dyn Fn(&mut Put<'_>) -> Result<()> + 'a;

/// The first one is the reference: what cargo has.
pub(crate) const KINDS: [Kind; 8] = [
    Kind { database: Database::Files, form: Form::Json },
    Kind { database: Database::Sqlite, form: Form::Json },
    Kind { database: Database::Sled, form: Form::Json },
    Kind { database: Database::Redb, form: Form::Json },
    Kind { database: Database::Files, form: Form::Records },
    Kind { database: Database::Sqlite, form: Form::Records },
    Kind { database: Database::Sled, form: Form::Records },
    Kind { database: Database::Redb, form: Form::Records },
];

impl Kind {
    /// For the command line of the measured process, and for folders.
    pub(crate) fn id(self) -> &'static str {
        match (self.database, self.form) {
            (Database::Files, Form::Json) => "files-json",
            (Database::Sqlite, Form::Json) => "sqlite-json",
            (Database::Sled, Form::Json) => "sled-json",
            (Database::Redb, Form::Json) => "redb-json",
            (Database::Files, Form::Records) => "files-records",
            (Database::Sqlite, Form::Records) => "sqlite-records",
            (Database::Sled, Form::Records) => "sled-records",
            (Database::Redb, Form::Records) => "redb-records",
        }
    }

    /// For the table.
    pub(crate) fn title(self) -> String {
        let database = match self.database {
            Database::Files => "file per crate",
            Database::Sqlite => "SQLite",
            Database::Sled => "sled",
            Database::Redb => "redb",
        };
        let form = match self.form {
            Form::Json => "cargo's JSON",
            Form::Records => "records",
        };
        format!("{database}, {form}")
    }

    pub(crate) fn named(id: &str) -> Result<Self> {
        KINDS.into_iter().find(|kind| kind.id() == id).with_context(|| format!("no store `{id}`"))
    }

    /// Fills the new folder `to` from cargo's index.
    pub(crate) fn fill(self, index: &Path, to: &Path) -> Result<()> {
        let source = |put: &mut Put<'_>| {
            each_cargo_file(index, |key, bytes, listing| match self.form {
                Form::Json => put(key, bytes),
                Form::Records => put(key, &packed::pack(listing)?),
            })
        };
        match self.database {
            Database::Files => files::fill(to, &source),
            Database::Sqlite => sqlite::fill(to, &source),
            Database::Sled => sled::fill(to, &source),
            Database::Redb => redb::fill(to, &source),
        }
    }

    pub(crate) fn open(self, folder: &Path) -> Result<Opened> {
        let bytes: Box<dyn Bytes> = match self.database {
            Database::Files => Box::new(files::Files::open(folder)),
            Database::Sqlite => Box::new(sqlite::Sqlite::open(folder)?),
            Database::Sled => Box::new(sled::Sled::open(folder)?),
            Database::Redb => Box::new(redb::Redb::open(folder)?),
        };
        Ok(Opened { bytes, form: self.form })
    }
}

/// An open database as mini-cargo uses it.
pub(crate) struct Opened {
    bytes: Box<dyn Bytes>,
    form: Form,
}

impl Store for Opened {
    fn find(&self, key: &str, _: Freshness) -> Result<Lookup<'_>> {
        let Some(bytes) = self.bytes.get(key)? else { return Ok(Lookup::Unknown) };
        Ok(Lookup::Known(match self.form {
            Form::Json => parse_cargo_file(&bytes)?,
            Form::Records => Box::new(Packed::new(bytes)?),
        }))
    }
}

/// The one folder of a home's registry index.
pub(crate) fn index_of(home: &Path) -> Result<std::path::PathBuf> {
    let root = home.join("registry").join("index");
    for entry in std::fs::read_dir(&root)? {
        let path = entry?.path();
        if path.join(".cache").is_dir() {
            return Ok(path);
        }
    }
    bail!("there is no sparse index in the cargo home")
}
