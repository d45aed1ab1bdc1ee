//! Where cargo keeps things, found from cargo's own home and configuration.
//!
//! No registry's address is written in this program: the default registry, its folder names and
//! what replaces it come from the environment and from `tame-index`.

use std::env;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use cargo_config2::Config;
use tame_index::index::IndexUrl;

use crate::shell::Shell;

/// Cargo named a registry's folders differently before this version.
const NAMES_SINCE: &str = "1.85.0";

/// Cargo's home and the registry that `crates-io` stands for in it.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) cargo: PathBuf,
    pub(crate) registry: Registry,
    /// Where mini-cargo keeps its index cache and its objects.
    pub(crate) cache: PathBuf,
}

/// What serves the packages of the default registry.
#[derive(Debug)]
pub(crate) enum Registry {
    /// Over HTTP, or a git index that cargo has cached.
    Remote {
        /// `sparse+...`, or the address of a git repository.
        url: String,
        /// Cargo's name for the registry's folders.
        folder: String,
    },
    /// A folder with archives and an index.
    Local(PathBuf),
    /// A folder with unpacked packages.
    Directory(PathBuf),
}

impl Home {
    /// Looks for configuration from `dir` upwards and in cargo's home.
    ///
    /// With `past_directory` a directory source does not count: what it has comes from the registry
    /// that it replaces.
    pub(crate) fn find(dir: &Path, config: &Config, past_directory: bool) -> Result<Self> {
        let cargo = cargo_home()?;
        let registry = match directory(config).filter(|_| !past_directory) {
            Some(root) => Registry::Directory(root.to_owned()),
            None => registry(dir, &cargo)?,
        };
        let cache = match env::var_os("MINI_CARGO_CACHE_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => cargo.join("mini-cargo"),
        };
        Ok(Self { cargo, registry, cache })
    }

    /// Cargo's folder for the registry's index: `config.json` and `.cache`.
    pub(crate) fn index_dir(&self) -> PathBuf {
        match &self.registry {
            Registry::Remote { folder, .. } => self.registry_dir("index", folder),
            Registry::Local(root) | Registry::Directory(root) => root.join("index"),
        }
    }

    /// Where archives are: `name-version.crate`.
    pub(crate) fn archive_dir(&self) -> PathBuf {
        match &self.registry {
            Registry::Remote { folder, .. } => self.registry_dir("cache", folder),
            Registry::Local(root) | Registry::Directory(root) => root.clone(),
        }
    }

    /// Where cargo unpacks archives; `None` when it is a local registry's business.
    pub(crate) fn source_dir(&self) -> Option<PathBuf> {
        match &self.registry {
            Registry::Remote { folder, .. } => Some(self.registry_dir("src", folder)),
            Registry::Local(_) | Registry::Directory(_) => None,
        }
    }

    fn registry_dir(&self, kind: &str, folder: &str) -> PathBuf {
        self.cargo.join("registry").join(kind).join(folder)
    }

    /// The index cache for the registry.
    pub(crate) fn index_file(&self) -> PathBuf {
        let name = match &self.registry {
            Registry::Remote { folder, .. } => folder.as_str(),
            Registry::Local(_) | Registry::Directory(_) => "local",
        };
        self.cache.join("index").join(format!("{name}-v1.ixc"))
    }

    /// Takes the lock under which cargo reads and writes its own files, or waits for it.
    ///
    /// Without it, a file that another cargo is just rewriting could be read half. A home that
    /// cannot be written is changed by nobody, so it is read without.
    pub(crate) fn lock_package_cache(&self, shell: Shell) -> Result<Option<File>> {
        let path = self.cargo.join(".package-cache");
        let open = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let Ok(file) = open else { return Ok(None) };
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(_)) => return Ok(None),
        }
        shell.status_aside("Blocking", "waiting for file lock on package cache");
        file.lock().with_context(|| format!("failed to lock `{}`", path.display()))?;
        Ok(Some(file))
    }
}

fn cargo_home() -> Result<PathBuf> {
    let home = match env::var_os("CARGO_HOME").filter(|home| !home.is_empty()) {
        Some(home) => PathBuf::from(home),
        None => env::home_dir()
            .ok_or_else(|| {
                anyhow!("cannot find a home folder\nhelp: set CARGO_HOME to cargo's home")
            })?
            .join(".cargo"),
    };
    std::path::absolute(&home).with_context(|| format!("failed to read `{}`", home.display()))
}

/// The directory source that replaces the default registry, however many names later.
fn directory(config: &Config) -> Option<&Path> {
    let mut name = "crates-io";
    // A chain that is longer goes in a circle, which cargo refuses.
    for _ in 0..=config.source.len() {
        let source = config.source.get(name)?;
        match (&source.replace_with, &source.directory) {
            (Some(next), _) => name = next,
            (None, directory) => return directory.as_deref(),
        }
    }
    None
}

fn registry(dir: &Path, cargo_home: &Path) -> Result<Registry> {
    let utf8 = |path: &Path| {
        tame_index::PathBuf::from_path_buf(path.to_owned())
            .map_err(|path| anyhow!("`{}` is not UTF-8, which is not supported", path.display()))
    };
    let (dir, home) = (utf8(dir)?, utf8(cargo_home)?);
    let url = IndexUrl::crates_io(Some(dir), Some(&home), Some(NAMES_SINCE))
        .context("failed to read cargo's configuration")?;
    if let IndexUrl::Local(root) = &url {
        return Ok(Registry::Local(root.as_std_path().to_owned()));
    }
    let folder = tame_index::utils::url_to_local_dir(url.as_str(), true)
        .context("failed to name the registry's folder")?;
    Ok(Registry::Remote { url: url.as_str().to_owned(), folder: folder.dir_name })
}
