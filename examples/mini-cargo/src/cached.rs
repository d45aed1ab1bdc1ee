//! The registry's records in one `index-cache` file, filled from cargo's own files as needed.
//!
//! An entry is one crate: its body is the name as the author spells it, its slices are the
//! versions (name: the version, flags: [`Flags`], bytes: the record). Its token tells from what it
//! was made: size and time of cargo's file, if there was one, and the registry's revision. When
//! cargo's file changes, cargo has asked the registry since, and the file is imported again.
//!
//! A damaged entry is never used: it is read again from cargo's file, and where there is none the
//! error names the byte and what to do.
//!
//! When the registry can be asked, a crate that nobody pinned is pending until it was: the caller
//! collects what is pending, [`Cached::ask`] asks for all of it at once, and the search starts over.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::fs::Metadata;
use std::path::Path;
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use anyhow::{Context as _, Result};
use index_cache::{Committed, Durability, Entry, IndexCache, Options, Put};
use semver::Version;

use crate::cargo_files::{CargoFiles, CrateFile};
use crate::record::{Flags, SCHEMA};
use crate::shell::Shell;
use crate::sparse::{self, Answer, Sparse};
use crate::store::{Freshness, Listing, Lookup, Store};

/// The index cache above cargo's files.
#[derive(Debug)]
pub(crate) struct Cached {
    cache: IndexCache,
    files: CargoFiles,
    shell: Shell,
    sparse: Option<Sparse>,
    /// What the registry said in this run.
    answers: RefCell<HashMap<String, Known>>,
    /// What it is to be asked.
    pending: RefCell<BTreeSet<String>>,
    /// What is to be stored.
    fresh: RefCell<Vec<Fresh>>,
}

/// What the registry said about a crate in this run.
#[derive(Debug)]
enum Known {
    /// The entry, or cargo's file, is right.
    Unchanged,
    Document(Rc<CrateFile>),
    Missing,
}

/// Something to store; without a file, that there is no such crate.
#[derive(Debug)]
struct Fresh {
    key: String,
    token: String,
    file: Option<Rc<CrateFile>>,
}

impl Cached {
    /// Opens the cache at `path`, which need not exist, above cargo's `files`.
    ///
    /// Without a `sparse` index, what is known has to do.
    pub(crate) fn open(
        path: &Path,
        files: CargoFiles,
        sparse: Option<Sparse>,
        shell: Shell,
    ) -> Result<Self> {
        let cache = open(path)?;
        let (answers, pending, fresh) = Default::default();
        Ok(Self { cache, files, shell, sparse, answers, pending, fresh })
    }

    /// The revision of what is known about a crate.
    fn revision(&self, key: &str) -> Result<Option<String>> {
        Ok(match self.load(key)? {
            Loaded::Entry(entry) if !entry.is_negative() => {
                let token = String::from_utf8_lossy(entry.token()).into_owned();
                token.split_once('\n').map(|(_, revision)| revision.to_owned())
            }
            Loaded::File(file) => Some(file.revision.clone()),
            Loaded::Entry(_) | Loaded::Unknown => None,
        })
    }

    fn learn(&self, key: &str, known: &Known) -> Result<()> {
        let file = match known {
            Known::Unchanged => return Ok(()),
            Known::Document(file) => Some(Rc::clone(file)),
            Known::Missing => None,
        };
        self.remember(key, self.files.stat(key)?.as_ref(), file);
        Ok(())
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

    fn commit(&self) -> Result<()> {
        let fresh = self.fresh.take();
        if fresh.is_empty() {
            return Ok(());
        }
        let folder = self.cache.path().parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder)
            .with_context(|| format!("failed to create `{}`", folder.display()))?;
        let mut batch = self.cache.batch();
        for Fresh { key, token, file } in &fresh {
            match file {
                Some(file) => batch.put(key, &file_to_put(token, file))?,
                None => batch.put_negative(key, token.as_bytes())?,
            }
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
            Ok(Some(entry)) => return Ok(Loaded::Entry(Box::new(entry))),
            Ok(None) => {}
            Err(error) => return self.reread(key, error).map(Loaded::File),
        }
        Ok(self.files.read(key)?.map_or(Loaded::Unknown, |file| {
            let file = Rc::new(file);
            self.remember(key, stat.as_ref(), Some(Rc::clone(&file)));
            Loaded::File(file)
        }))
    }

    /// The entry of `key` when it is sound and cargo's file, if there is one, is still the one it
    /// was made from.
    fn intact(
        &self,
        key: &str,
        stat: Option<&Metadata>,
    ) -> index_cache::Result<Option<Entry<'static>>> {
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
    fn reread(&self, key: &str, damage: index_cache::Error) -> Result<Rc<CrateFile>> {
        let stat = self.files.stat(key)?;
        let Some(file) = self.files.read(key)? else {
            return Err(damage).with_context(|| rebuild_hint(self.cache.path()));
        };
        self.shell.warn(format_args!("{damage}; `{key}` is read again from cargo's own cache"));
        let file = Rc::new(file);
        self.remember(key, stat.as_ref(), Some(Rc::clone(&file)));
        Ok(file)
    }

    fn remember(&self, key: &str, stat: Option<&Metadata>, file: Option<Rc<CrateFile>>) {
        let revision = file.as_ref().map_or("", |file| file.revision.as_str());
        let token = format!("{}\n{revision}", origin(stat));
        let mut fresh = self.fresh.borrow_mut();
        fresh.retain(|earlier| earlier.key != key);
        fresh.push(Fresh { key: key.to_owned(), token, file });
    }

    /// Notes that the registry has to be asked about a crate.
    fn defer(&self, key: &str) -> Lookup<'_> {
        self.pending.borrow_mut().insert(key.to_owned());
        Lookup::Pending
    }

    fn known(&self, key: &str) -> Result<Lookup<'_>> {
        Ok(match self.load(key)? {
            Loaded::Unknown => Lookup::Unknown,
            Loaded::Entry(entry) if entry.is_negative() => Lookup::Unknown,
            Loaded::Entry(entry) => Lookup::Known(Box::new(CachedCrate::new(self, key, *entry)?)),
            Loaded::File(file) => Lookup::Known(Box::new(file)),
        })
    }
}

/// What is known of a crate.
enum Loaded {
    Unknown,
    Entry(Box<Entry<'static>>),
    File(Rc<CrateFile>),
}

/// Opens the file alone.
pub(crate) fn open(path: &Path) -> Result<IndexCache> {
    let options = Options::new().schema(schema_tag());
    IndexCache::open(path, options).with_context(|| rebuild_hint(path))
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
    fn find(&self, key: &str, freshness: Freshness) -> Result<Lookup<'_>> {
        match self.answers.borrow().get(key) {
            Some(Known::Document(file)) => return Ok(Lookup::Known(Box::new(Rc::clone(file)))),
            Some(Known::Missing) => return Ok(Lookup::Unknown),
            Some(Known::Unchanged) => return self.known(key),
            None => {}
        }
        let online = self.sparse.is_some();
        if online && freshness == Freshness::Latest {
            return Ok(self.defer(key));
        }
        match self.known(key)? {
            Lookup::Unknown if online => Ok(self.defer(key)),
            known => Ok(known),
        }
    }

    fn ask(&self) -> Result<bool> {
        let pending = self.pending.take();
        if pending.is_empty() {
            return Ok(false);
        }
        let sparse = sparse::require(self.sparse.as_ref())?;
        let asked = pending.into_iter().map(|key| Ok((key.clone(), self.revision(&key)?)));
        for (key, answer) in sparse.ask_all(&asked.collect::<Result<Vec<_>>>()?)? {
            let known = match answer {
                Answer::NotModified => Known::Unchanged,
                Answer::Document(file) => Known::Document(Rc::new(file)),
                Answer::Missing => Known::Missing,
            };
            self.learn(&key, &known)?;
            self.answers.borrow_mut().insert(key, known);
        }
        Ok(true)
    }

    fn save(&self) {
        if let Err(error) = self.commit() {
            self.shell.warn(format_args!("the index cache was not updated: {error:#}"));
        }
    }
}

/// One entry of the index cache.
struct CachedCrate<'a> {
    cached: &'a Cached,
    key: String,
    entry: Entry<'static>,
    spelling: String,
    /// Cargo's file, read when a slice turned out to be damaged.
    healed: OnceCell<Rc<CrateFile>>,
}

impl<'a> CachedCrate<'a> {
    fn new(cached: &'a Cached, key: &str, entry: Entry<'static>) -> Result<Self> {
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
