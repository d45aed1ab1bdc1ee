//! The cache folder: one file of what was said, one store of what was unpacked.
//!
//! `index-cache` keeps what can be asked again: what an interpreter answered, what an index or a
//! wheel's metadata says, and which unpacked tree a wheel became. `cas-store` keeps the files and,
//! as the roots of its sweep, the trees. Nothing here is needed: a damaged or missing entry is a
//! miss, said once as a warning that names the file and what to run.
//!
//! Keys of the index file:
//!
//! ```text
//! python/PATH      what the interpreter at PATH answered
//! path/PATH        tree of the wheel file at PATH        token: the file's identity
//! sha256/HEX       tree of the wheel with that digest
//! url/URL          tree of the wheel at that address     token: what the server calls its version
//! metadata/...     METADATA of a wheel that is not unpacked
//! simple/URL       what an index says about a package    token: the server's policy
//! environment/DIR  a folder that has links of the cache's files
//! wheel/TREE       METADATA, WHEEL, RECORD, entry_points.txt of an unpacked wheel
//! ```

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Context;
use cas_store::{Access, Protection, Store, Tree};
use index_cache::{Batch, Durability, IndexCache, Put};
use pep508_rs::PackageName;

use crate::cli::LinkMode;
use crate::fault::Advise;
use crate::interpreter::{self, Interpreter};
use crate::separate;
use crate::ui::Ui;
use crate::wheel::Texts;

const STORE: &str = "store";

/// The prefix of keys that name the folders of environments.
const ENVIRONMENT: &str = "environment/";

/// The slices of a `wheel/` entry.
pub(crate) const TEXTS: [&str; 4] = ["METADATA", "WHEEL", "RECORD", "entry_points.txt"];

/// The slice of a `path/` entry that has the digest of the archive.
const SHA256: &str = "SHA-256";

/// Changes when the meaning of an entry changes; older entries are misses then.
const SCHEMA: [u8; 32] = *b"mini-uv entries, version 1      ";

/// An open cache.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(crate) dir: PathBuf,
    pub(crate) store: Store,
    pub(crate) index: IndexCache,
    access: Access,
    ui: Ui,
}

/// A wheel that was unpacked before.
#[derive(Clone, Debug)]
pub(crate) struct Unpacked {
    /// `NAME/VERSION/DIGEST`.
    pub(crate) key: String,
    pub(crate) tree: Tree,
    pub(crate) texts: Texts,
}

impl Cache {
    /// Opens the cache in `dir`, making it if need be.
    pub(crate) fn open(dir: &Path, mode: LinkMode, ui: Ui) -> anyhow::Result<Self> {
        Self::open_in(std::path::absolute(dir)?, mode, ui)
            .context("failed to open the cache")
            .hint("choose another folder with `--cache-dir`, or do without it: `--no-cache`")
    }

    fn open_in(dir: PathBuf, mode: LinkMode, ui: Ui) -> anyhow::Result<Self> {
        let access = prepare(&dir)?;
        let protection = match mode {
            LinkMode::Hardlink => Protection::Detect,
            LinkMode::Clone | LinkMode::Copy => Protection::Cow,
        };
        let options = cas_store::Options::default().protection(protection).access(access);
        let store = Store::open(dir.join(STORE), options)?;
        let options = index_cache::Options::new().schema(SCHEMA);
        let index = IndexCache::open(dir.join(index_cache::FILE_NAME), options)?;
        Ok(Self { dir, store, index, access, ui })
    }

    /// True when this process may not write it: what it has is used, nothing is added.
    pub(crate) fn is_read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    /// Refuses a cache that this process may not write.
    pub(crate) fn ensure_writable(&self) -> anyhow::Result<()> {
        if !self.is_read_only() {
            return Ok(());
        }
        Err(anyhow::anyhow!("the cache at `{}` cannot be written", self.dir.display()))
            .hint("run this as the user who owns the cache, or name another one with `--cache-dir`")
    }

    /// What the interpreter at `executable` answers, from the cache if it is unchanged.
    pub(crate) fn interpreter(&self, executable: &Path) -> anyhow::Result<Interpreter> {
        let key = format!("python/{}", executable.display());
        let token = interpreter::token(executable)
            .with_context(|| format!("no interpreter at `{}`", executable.display()))?;
        if let Some(answer) = self.body(&key, &token)
            && let Ok(interpreter) = serde_json::from_slice(&answer)
        {
            return Ok(interpreter);
        }
        let interpreter = Interpreter::ask(executable)?;
        self.put(&key, &Put::new().token(&token).body(&serde_json::to_vec(&interpreter)?));
        Ok(interpreter)
    }

    /// The tree that the wheel called `source` became, if `token` still holds and nothing is lost.
    pub(crate) fn unpacked(&self, source: &str, token: &[u8]) -> Option<Unpacked> {
        let key = String::from_utf8(self.body(source, token)?).ok()?;
        let texts = self.texts(&key)?;
        let tree = self.heard(self.store.tree(&key))??;
        Some(Unpacked { key, tree, texts })
    }

    /// The metadata of an unpacked wheel.
    fn texts(&self, key: &str) -> Option<Texts> {
        let entry = self.heard(self.index.get(&format!("wheel/{key}")))??;
        let text = |name: &str| {
            let bytes = self.heard(entry.slice(name))??;
            String::from_utf8(bytes.into_owned()).ok()
        };
        Some(Texts {
            metadata: text("METADATA")?,
            wheel: text("WHEEL")?,
            record: text("RECORD")?,
            entry_points: text("entry_points.txt")?,
        })
    }

    /// The SHA-256 of the archive called `source`, if it was verified and `token` still holds.
    pub(crate) fn archive_digest(&self, source: &str, token: &[u8]) -> Option<[u8; 32]> {
        let entry = self.heard(self.index.get(source))?.filter(|entry| entry.token() == token)?;
        self.heard(entry.slice(SHA256))??.into_owned().try_into().ok()
    }

    /// Keeps what a wheel became, and the digest of its archive if that was verified.
    ///
    /// The tree comes first: what the index names, the store has.
    pub(crate) fn keep(
        &self,
        source: &str,
        token: &[u8],
        sha256: Option<[u8; 32]>,
        unpacked: &Unpacked,
    ) -> anyhow::Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        self.store.write_tree(&unpacked.key, &unpacked.tree)?;
        let Texts { metadata, wheel, record, entry_points } = &unpacked.texts;
        let texts = Put::new()
            .slice("METADATA", 0, metadata.as_bytes())
            .slice("WHEEL", 0, wheel.as_bytes())
            .slice("RECORD", 0, record.as_bytes())
            .slice("entry_points.txt", 0, entry_points.as_bytes());
        let mut batch = self.index.batch();
        batch.put(&format!("wheel/{}", unpacked.key), &texts)?;
        let mut archive = Put::new().token(token).body(unpacked.key.as_bytes());
        if let Some(digest) = &sha256 {
            archive = archive.slice(SHA256, 0, digest);
        }
        batch.put(source, &archive)?;
        self.commit(batch);
        Ok(())
    }

    /// The body under `key`, if its token is `token`.
    pub(crate) fn body(&self, key: &str, token: &[u8]) -> Option<Vec<u8>> {
        let entry = self.heard(self.index.get(key))??;
        if entry.token() != token || entry.is_negative() {
            return None;
        }
        self.heard(entry.body()).map(<[u8]>::to_vec)
    }

    /// The token under `key`.
    pub(crate) fn token(&self, key: &str) -> Option<Vec<u8>> {
        Some(self.heard(self.index.get(key))??.token().to_vec())
    }

    /// Stores one entry; a cache that cannot be written is slower, not wrong.
    pub(crate) fn put(&self, key: &str, put: &Put<'_>) {
        let mut batch = self.index.batch();
        match batch.put(key, put) {
            Ok(()) => self.commit(batch),
            Err(error) => self.ui.warn(format!("`{key}` was not kept: {error}")),
        }
    }

    /// A file without a name, on the cache's file system where it may be written.
    pub(crate) fn temporary_file(&self) -> io::Result<std::fs::File> {
        if self.is_read_only() { tempfile::tempfile() } else { tempfile::tempfile_in(&self.dir) }
    }

    /// Remembers that `site` has links of the cache's files, to name it when one is damaged.
    pub(crate) fn know_environment(&self, site: &Path) {
        let key = format!("{ENVIRONMENT}{}", site.display());
        if !matches!(self.index.get(&key), Ok(Some(_))) {
            self.put(&key, &Put::new());
        }
    }

    /// The environments that are still there.
    pub(crate) fn environments(&self) -> Vec<PathBuf> {
        let snapshot = self.index.snapshot();
        let entries = snapshot.entries().filter_map(Result::ok);
        let known =
            entries.filter_map(|entry| entry.key().strip_prefix(ENVIRONMENT).map(PathBuf::from));
        known.filter(|site| site.is_dir()).collect()
    }

    /// Trees that nothing leads to: their process was killed before the index named them, or the index
    /// was lost.
    pub(crate) fn unfinished(&self) -> anyhow::Result<HashSet<String>> {
        let snapshot = self.index.snapshot();
        let is_named = |key: &String| !matches!(snapshot.get(&format!("wheel/{key}")), Ok(None));
        Ok(self.store.trees()?.into_iter().filter(|key| !is_named(key)).collect())
    }

    /// Forgets every unpacked wheel of the named packages and returns how many there were.
    pub(crate) fn forget(&self, names: &[PackageName]) -> anyhow::Result<usize> {
        let mut batch = self.index.batch();
        let mut forgotten = 0;
        for key in self.store.trees()? {
            let name = key.split('/').next().unwrap_or_default();
            if names.iter().any(|wanted| wanted.as_ref() == name) {
                batch.remove(&format!("wheel/{key}"))?;
                forgotten += usize::from(self.store.remove_tree(&key)?);
            }
        }
        self.commit(batch);
        Ok(forgotten)
    }

    /// Writes a batch, unsynced: after a power failure an entry is old, new or missing.
    pub(crate) fn commit(&self, mut batch: Batch<'_>) {
        match batch.commit(Durability::Fast) {
            Ok(committed) => {
                if let Some(reason) = committed.skipped() {
                    tracing::debug!("the index file was not written: {reason:?}");
                }
            }
            Err(error) => self.ui.warn(format!("the cache was not updated: {}", chain(&error))),
        }
    }

    /// The value, or a warning and a miss.
    pub(crate) fn heard<T, E: std::error::Error>(&self, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.ui.warn(format!(
                    "ignoring a cache entry: {}; run `mini-uv cache verify --repair`",
                    chain(&error)
                ));
                None
            }
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Makes the folder if need be and finds out whether it may be written.
fn prepare(dir: &Path) -> anyhow::Result<Access> {
    let made = fs_err::create_dir_all(dir).and_then(|()| mark(dir)).and_then(|()| probe(dir));
    match made {
        Ok(()) => Ok(Access::ReadWrite),
        Err(error) if is_refusal(&error) && is_there(dir) => Ok(Access::ReadOnly),
        Err(error) => Err(error.into()),
    }
}

/// Fails where no file can be made. Modes alone do not tell: a file system may be read-only.
fn probe(dir: &Path) -> io::Result<()> {
    let store = dir.join(STORE);
    tempfile::tempfile_in(if store.is_dir() { &store } else { dir }).map(drop)
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// True when the folder holds a cache.
pub(crate) fn is_there(dir: &Path) -> bool {
    dir.join(STORE).is_dir()
}

/// Says to people and backup programs what the folder is.
fn mark(dir: &Path) -> io::Result<()> {
    let tag = dir.join("CACHEDIR.TAG");
    if !tag.exists() {
        fs_err::write(tag, "Signature: 8a477f597d28d172789f06886806bc55\n")?;
        fs_err::write(dir.join(".gitignore"), "*")?;
    }
    Ok(())
}

/// What this tool has put into the cache folder. Other files there are not touched.
pub(crate) fn own_names(dir: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let index = name.starts_with(index_cache::FILE_NAME);
        if index
            || name == STORE
            || name == separate::FOLDER
            || name == "CACHEDIR.TAG"
            || name == ".gitignore"
        {
            names.push(name);
        }
    }
    Ok(names)
}

/// Where the cache is unless `--cache-dir` says otherwise.
pub(crate) fn default_dir() -> anyhow::Result<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else {
        variable("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")))
    };
    Ok(base
        .context("no home folder to put a cache in")
        .hint("name a folder with `--cache-dir` or UV_CACHE_DIR")?
        .join("mini-uv"))
}
