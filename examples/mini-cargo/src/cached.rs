//! The registry's records in one `index-cache` file, filled from cargo's own files as needed.
//!
//! An entry is one crate: its body is the name as the author spells it, its slices are the
//! versions (name: the version, flags: [`Flags`], bytes: the record). Its token tells from what it
//! was made: size and time of cargo's file, if there was one, and the registry's revision. When
//! cargo's file changes, cargo has asked the registry since, and the file is imported again.
//!
//! A damaged entry is never used: it is read again from cargo's file, and where there is none the
//! error names the byte and what to do. Nothing here talks to a registry.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, Result};
use index_cache::{Committed, Durability, Entry, IndexCache, Options, Put};
use semver::Version;

use crate::cargo_files::{CargoFiles, CrateFile};
use crate::record::{Flags, SCHEMA};
use crate::shell::Shell;
use crate::store::{Listing, Store};

/// The index cache above cargo's files.
#[derive(Debug)]
pub(crate) struct Cached {
    cache: IndexCache,
    files: CargoFiles,
    shell: Shell,
    /// What was read from cargo's files and is to be stored.
    fresh: RefCell<Vec<(String, String, CrateFile)>>,
}

impl Cached {
    /// Opens the cache at `path`, which need not exist, above the files of `index`.
    pub(crate) fn open(path: &Path, index: &Path, shell: Shell) -> Result<Self> {
        let options = Options::new().schema(schema_tag());
        let cache = IndexCache::open(path, options).with_context(|| rebuild_hint(path))?;
        Ok(Self { cache, files: CargoFiles::new(index), shell, fresh: RefCell::default() })
    }

    /// Imports every file of cargo's that is new or changed; gives their number and that of all.
    pub(crate) fn import(&self) -> Result<(usize, usize)> {
        let keys = self.files.keys()?;
        for key in &keys {
            if let Err(error) = self.load(key) {
                self.shell.warn(format_args!("left out `{key}`: {error:#}"));
            }
        }
        let imported = self.fresh.borrow().len();
        self.commit()?;
        Ok((imported, keys.len()))
    }

    /// Stores what was read from cargo's files since the cache was opened.
    pub(crate) fn save(&self) {
        if let Err(error) = self.commit() {
            self.shell.warn(format_args!("the index cache was not updated: {error:#}"));
        }
    }

    fn commit(&self) -> Result<()> {
        let fresh = self.fresh.take();
        if fresh.is_empty() {
            return Ok(());
        }
        let folder = self.cache.path().parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("failed to create `{}`", folder.display()))?;
        let mut batch = self.cache.batch();
        for (key, token, file) in &fresh {
            batch.put(key, &file_to_put(token, file))?;
        }
        let committed = batch.commit(Durability::Fast).with_context(|| {
            let path = self.cache.path().display();
            format!(
                "failed to write `{path}`; it is as it was before\nhelp: make room and try again"
            )
        })?;
        if let Committed::Skipped(why) = committed {
            self.shell.verbose(format_args!("the index cache was not updated: {why:?}"));
        }
        Ok(())
    }

    /// The crate's entry, or what is read from cargo's file in its place.
    fn load(&self, key: &str) -> Result<Loaded> {
        let stat = self.files.stat(key)?;
        match self.intact(key, stat.as_ref()) {
            Ok(Some(entry)) => return Ok(Loaded::Entry(entry)),
            Ok(None) => {}
            Err(error) => return self.reread(key, error).map(Loaded::File),
        }
        Ok(self.files.read(key)?.map_or(Loaded::Unknown, |file| {
            self.remember(key, stat.as_ref(), &file);
            Loaded::File(file)
        }))
    }

    /// The entry of `key` when it is sound and cargo's file, if there is one, is still the one it
    /// was made from.
    fn intact(&self, key: &str, stat: Option<&Metadata>) -> index_cache::Result<Option<Entry>> {
        let Some(entry) = self.cache.get(key)? else { return Ok(None) };
        let rest = entry.token().strip_prefix(origin(stat).as_bytes());
        if stat.is_some() && !rest.is_some_and(|rest| rest.starts_with(b"\n")) {
            return Ok(None);
        }
        entry.body()?;
        drop(entry.slices()?);
        Ok(Some(entry))
    }

    /// Cargo's file in place of a damaged entry; without one the damage is the error.
    fn reread(&self, key: &str, damage: index_cache::Error) -> Result<CrateFile> {
        let stat = self.files.stat(key)?;
        let Some(file) = self.files.read(key)? else {
            return Err(damage).with_context(|| rebuild_hint(self.cache.path()));
        };
        self.shell.warn(format_args!("{damage}; `{key}` is read again from cargo's own cache"));
        self.remember(key, stat.as_ref(), &file);
        Ok(file)
    }

    fn remember(&self, key: &str, stat: Option<&Metadata>, file: &CrateFile) {
        let token = format!("{}\n{}", origin(stat), file.revision);
        self.fresh.borrow_mut().push((key.to_owned(), token, file.clone()));
    }
}

/// What is known of a crate.
enum Loaded {
    Unknown,
    Entry(Entry),
    File(CrateFile),
}

/// The size and time of cargo's file, or a dash when there is none.
fn origin(stat: Option<&Metadata>) -> String {
    let Some(stat) = stat else { return "-".to_owned() };
    let changed = stat.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {}", stat.len(), changed.map_or(0, |since| since.as_nanos()))
}

fn schema_tag() -> [u8; 32] {
    let mut tag = [b' '; 32];
    tag[..SCHEMA.len()].copy_from_slice(SCHEMA);
    tag
}

fn rebuild_hint(path: &Path) -> String {
    format!(
        "cannot use the index cache\nhelp: delete `{}`; `mini-cargo cache import` makes it anew",
        path.display()
    )
}

fn file_to_put<'a>(token: &'a str, file: &'a CrateFile) -> Put<'a> {
    let put = Put::new().token(token.as_bytes()).body(file.spelling.as_bytes());
    file.versions
        .iter()
        .fold(put, |put, stored| put.slice(&stored.version, stored.flags.bits(), &stored.record))
}

impl Store for Cached {
    fn find(&self, key: &str) -> Result<Option<Box<dyn Listing + '_>>> {
        Ok(match self.load(key)? {
            Loaded::Unknown => None,
            Loaded::Entry(entry) if entry.is_negative() => None,
            Loaded::Entry(entry) => Some(Box::new(CachedCrate::new(self, key, entry)?)),
            Loaded::File(file) => Some(Box::new(file)),
        })
    }
}

/// One entry of the index cache.
struct CachedCrate<'a> {
    cached: &'a Cached,
    key: String,
    entry: Entry,
    spelling: String,
    /// Cargo's file, read when a slice turned out to be damaged.
    healed: OnceCell<CrateFile>,
}

impl<'a> CachedCrate<'a> {
    fn new(cached: &'a Cached, key: &str, entry: Entry) -> Result<Self> {
        let spelling = String::from_utf8(entry.body()?.to_vec()).context("name is no text")?;
        Ok(Self { cached, key: key.to_owned(), entry, spelling, healed: OnceCell::new() })
    }

    fn stored(&self, at: usize) -> index_cache::Result<Option<Cow<'_, [u8]>>> {
        match self.entry.slices()?.nth(at) {
            Some(slice) => self.entry.slice(slice.name),
            None => Ok(None),
        }
    }
}

impl Listing for CachedCrate<'_> {
    fn spelling(&self) -> &str {
        &self.spelling
    }

    fn versions(&self) -> Result<Vec<(Version, Flags)>> {
        self.entry
            .slices()?
            .map(|slice| Ok((Version::parse(slice.name)?, Flags::from_bits(slice.flags))))
            .collect()
    }

    fn record(&self, at: usize) -> Result<Cow<'_, [u8]>> {
        if let Some(file) = self.healed.get() {
            return file.record(at);
        }
        match self.stored(at) {
            Ok(found) => found.context("no such version"),
            Err(damage) => {
                let file = self.cached.reread(&self.key, damage)?;
                self.healed.get_or_init(|| file).record(at)
            }
        }
    }
}
