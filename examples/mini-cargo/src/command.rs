//! What the commands share: the project, cargo's home and the flags.

mod cache;
mod fetch;
mod generate;
mod tree;
mod vendor;

use std::collections::HashSet;
use std::env;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context as _, Result, bail};
use cargo_config2::Config;
use clap::CommandFactory as _;

use crate::cached::Cached;
use crate::cargo_files::CargoFiles;
use crate::catalog::Catalog;
use crate::cli::{Cli, Command, Common};
use crate::config_patch;
use crate::diff::Report;
use crate::directory::DirectorySource;
use crate::home::{Home, Registry};
use crate::lock::Lock;
use crate::net::Client;
use crate::pins::Pins;
use crate::project;
use crate::resolve::Resolved;
use crate::rust_version::RustVersion;
use crate::shell::Shell;
use crate::sparse::Sparse;
use crate::store::Store;
use crate::workspace::Workspace;

/// One run of the program.
pub(crate) struct Run {
    pub(crate) shell: Shell,
    pub(crate) home: Home,
    common: Common,
    config: Config,
    /// In place of the index cache.
    store: Option<Rc<dyn Store>>,
}

impl Run {
    fn new(
        common: Common,
        shell: Shell,
        store: Option<Rc<dyn Store>>,
        past_directory: bool,
    ) -> Result<Self> {
        let dir = env::current_dir().context("failed to find the current folder")?;
        let config = Config::load_with_cwd(&dir).context("failed to read cargo's configuration")?;
        let home = Home::find(&dir, &config, past_directory)?;
        Ok(Self { shell, home, common, config, store })
    }

    fn is_offline(&self) -> bool {
        let common = &self.common;
        common.offline || common.frozen || self.config.net.offline.unwrap_or(false)
    }

    /// The registry's index when it may be asked.
    pub(crate) fn sparse(&self) -> Result<Option<Sparse>> {
        let offline = self.is_offline();
        match &self.home.registry {
            Registry::Remote { url, .. } if !offline => {
                Ok(Sparse::new(Client::new(&self.config, self.shell)?, url))
            }
            Registry::Remote { .. } | Registry::Local(_) | Registry::Directory(_) => Ok(None),
        }
    }

    /// The index cache above cargo's files.
    pub(crate) fn cached(&self) -> Result<Cached> {
        let index = self.home.index_dir();
        let files = match &self.home.registry {
            Registry::Remote { .. } => CargoFiles::new(&index),
            Registry::Local(_) => CargoFiles::local(&index),
            Registry::Directory(root) => {
                bail!("the directory source `{}` has no index to keep in a cache", root.display())
            }
        };
        Cached::open(&self.home.index_file(), files, self.sparse()?, self.shell)
    }

    /// What versions are searched in.
    fn records(&self) -> Result<Rc<dyn Store>> {
        match (&self.store, &self.home.registry) {
            (Some(store), _) => Ok(Rc::clone(store)),
            (None, Registry::Directory(root)) => Ok(Rc::new(DirectorySource::read(root)?)),
            (None, _) => Ok(Rc::new(self.cached()?)),
        }
    }

    /// The flag that forbids changes of the lock file, if there is one.
    pub(crate) fn locked_flag(&self) -> Option<&'static str> {
        match (self.common.locked, self.common.frozen) {
            (true, _) => Some("--locked"),
            (_, true) => Some("--frozen"),
            _ => None,
        }
    }

    /// The project that the user is in or named.
    pub(crate) fn workspace(&self) -> Result<Workspace> {
        let dir = env::current_dir().context("failed to find the current folder")?;
        let patches = config_patch::find(&dir, &self.home.cargo)?;
        Workspace::load(&self.manifest_path()?, &self.home.cargo, &patches)
    }

    /// What is locked: the lock file as far as the manifests still agree with it.
    ///
    /// The lock file is brought up to date, unless `--locked` forbids it.
    pub(crate) fn lock(&self, workspace: &Workspace) -> Result<Lock> {
        let earlier = project::read_lock(workspace)?;
        let locking = Locking::new(self, workspace)?;
        let pins = match &earlier {
            Some(earlier) => Pins::new(&earlier.lock, workspace, &HashSet::new(), None),
            None => Pins::default(),
        };
        let solution = locking.resolve(&pins)?;
        let (report, lock) = (locking.report(&solution), &solution.lock);
        if let Some(earlier) = &earlier {
            project::check_archives(&earlier.lock, lock)?;
            project::rewrite_lock(workspace, earlier, lock, self.locked_flag())?;
            report.synced(&earlier.lock);
        } else {
            project::write_lock(workspace, None, lock, self.locked_flag())?;
            report.generated();
        }
        Ok(lock.clone())
    }

    fn manifest_path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.common.manifest_path {
            if !path.ends_with("Cargo.toml") {
                bail!("the manifest-path must be a path to a Cargo.toml file");
            }
            if !path.exists() {
                bail!("manifest path `{}` does not exist", path.display());
            }
            return Ok(path.clone());
        }
        let dir = env::current_dir().context("failed to find the current folder")?;
        let found = dir.ancestors().map(|dir| dir.join("Cargo.toml")).find(|path| path.exists());
        found.with_context(|| {
            format!("could not find `Cargo.toml` in `{}` or any parent directory", dir.display())
        })
    }
}

/// What resolving needs for as long as it takes: the registry's records under cargo's lock.
pub(crate) struct Locking<'a> {
    workspace: &'a Workspace,
    shell: Shell,
    store: Rc<dyn Store>,
    rust_versions: Vec<RustVersion>,
    /// Held until the records are read.
    _package_cache: Option<File>,
}

impl<'a> Locking<'a> {
    pub(crate) fn new(run: &Run, workspace: &'a Workspace) -> Result<Self> {
        let rust_versions = workspace.rust_versions(None, project::installed_rust)?;
        let package_cache = run.home.lock_package_cache(run.shell)?;
        let store = run.records()?;
        Ok(Self {
            workspace,
            shell: run.shell,
            store,
            rust_versions,
            _package_cache: package_cache,
        })
    }

    /// Searches until no question to the registry is left open.
    pub(crate) fn resolve<'c>(&'c self, pins: &'c Pins) -> Result<Solution<'c>> {
        loop {
            let rust_versions = self.rust_versions.clone();
            let catalog = Catalog::new(&*self.store, self.workspace, pins, rust_versions);
            let (lock, resolved) = project::resolve(&catalog)?;
            if !self.store.ask()? {
                self.store.save();
                return Ok(Solution { catalog, lock, resolved });
            }
        }
    }

    pub(crate) fn report<'r, 'c>(&self, solution: &'r Solution<'c>) -> Report<'r, 'c> {
        Report::new(self.shell, &solution.catalog, &solution.lock, &self.rust_versions)
    }
}

/// What a search ended with.
pub(crate) struct Solution<'c> {
    pub(crate) catalog: Catalog<'c>,
    pub(crate) lock: Lock,
    pub(crate) resolved: Resolved,
}

pub(crate) fn run(cli: Cli, shell: Shell, store: Option<Rc<dyn Store>>) -> Result<()> {
    // A folder is vendored anew from the registry, although it may stand in for it by now.
    let past_directory = matches!(cli.command, Command::Vendor(_));
    let run = Run::new(cli.common, shell, store, past_directory)?;
    match cli.command {
        Command::GenerateLockfile => generate::generate_lockfile(&run),
        Command::Update(options) => generate::update(&run, &options),
        Command::Cache(command) => cache::cache(&run, &command),
        Command::Fetch => fetch::fetch(&run),
        Command::Tree(output) => tree::tree(&run, output),
        Command::Completions { shell } => {
            let mut command = Cli::command();
            clap_complete::generate(shell, &mut command, "mini-cargo", &mut std::io::stdout());
            Ok(())
        }
        Command::Vendor(options) => vendor::vendor(&run, &options),
    }
}
