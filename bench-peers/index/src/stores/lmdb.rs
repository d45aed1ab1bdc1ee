//! LMDB through heed: a blob per crate, or a row per version under `name NUL version`.

use super::{LMDB, Outcome, Reader, Store, missing, parse_as_cargo};
use crate::data::Crate;
use heed::types::{Bytes, Str};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, RoTxn, WithTls};
use std::path::Path;

pub enum Lmdb {
    Blobs,
    Versions,
}

type Table = Database<Str, Bytes>;

struct Open {
    /// Holds the environment too.
    transaction: RoTxn<'static, WithTls>,
    table: Table,
    has_versions: bool,
}

fn environment(folder: &Path, flags: EnvFlags, map_bytes: usize) -> Outcome<Env> {
    let mut options = EnvOpenOptions::new();
    options.map_size(map_bytes).max_dbs(1);
    // SAFETY: the folder is this benchmark's own and nobody else changes the file.
    unsafe {
        options.flags(flags | EnvFlags::NO_SUB_DIR | EnvFlags::NO_READ_AHEAD);
        Ok(options.open(folder.join("data.mdb"))?)
    }
}

impl Lmdb {
    fn put(&self, environment: &Env, crates: &[Crate]) -> Outcome<()> {
        let mut transaction = environment.write_txn()?;
        let table: Table = environment.create_database(&mut transaction, Some("index"))?;
        for one in crates {
            match self {
                Self::Blobs => table.put(&mut transaction, &one.name, &one.blob)?,
                Self::Versions => {
                    for (version, json) in parse_as_cargo(&one.blob) {
                        table.put(&mut transaction, &format!("{}\0{version}", one.name), json)?;
                    }
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

impl Store for Lmdb {
    fn name(&self) -> &'static str {
        match self {
            Self::Blobs => LMDB,
            Self::Versions => "LMDB, row per version",
        }
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.update(folder, crates, false)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        let len = std::fs::metadata(folder.join("data.mdb"))?.len();
        let map_bytes = usize::try_from(len.next_multiple_of(1 << 20))?;
        let environment = environment(folder, EnvFlags::READ_ONLY, map_bytes)?;
        let transaction = environment.clone().static_read_txn()?;
        let table = environment.open_database(&transaction, Some("index"))?.ok_or("no table")?;
        let has_versions = matches!(self, Self::Versions);
        Ok(Box::new(Open { transaction, table, has_versions }))
    }

    fn has_row_per_version(&self) -> bool {
        matches!(self, Self::Versions)
    }

    fn is_fast_to_find(&self) -> bool {
        matches!(self, Self::Blobs)
    }

    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()> {
        let flags = if durable { EnvFlags::empty() } else { EnvFlags::NO_SYNC };
        let bytes: usize = crates.iter().map(|one| one.blob.len() + 16_384).sum();
        let old = std::fs::metadata(folder.join("data.mdb")).map_or(0, |found| found.len());
        let map_bytes = usize::try_from(old)? + bytes * 3 + (64 << 20);
        self.put(&environment(folder, flags, map_bytes.next_multiple_of(1 << 20))?, crates)
    }
}

impl Reader for Open {
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        if !self.has_versions {
            use_bytes(self.table.get(&self.transaction, name)?.ok_or_else(|| missing(name))?);
            return Ok(());
        }
        for row in self.table.prefix_iter(&self.transaction, &format!("{name}\0"))? {
            use_bytes(row?.1);
        }
        Ok(())
    }

    fn version(
        &mut self,
        name: &str,
        version: &str,
        use_bytes: &mut dyn FnMut(&[u8]),
    ) -> Outcome<()> {
        if self.has_versions {
            let key = format!("{name}\0{version}");
            use_bytes(self.table.get(&self.transaction, &key)?.ok_or_else(|| missing(name))?);
            return Ok(());
        }
        let wanted = semver::Version::parse(version)?;
        let blob = self.table.get(&self.transaction, name)?.ok_or_else(|| missing(name))?;
        let line = parse_as_cargo(blob).into_iter().find(|(version, _)| *version == wanted);
        use_bytes(line.ok_or_else(|| missing(name))?.1);
        Ok(())
    }

    fn locate(&mut self, name: &str) -> Outcome<usize> {
        Ok(self.table.get(&self.transaction, name)?.ok_or_else(|| missing(name))?.len())
    }
}
