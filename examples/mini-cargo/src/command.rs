//! What the commands share: the project, cargo's home and the flags.

mod cache;
mod generate;
mod vendor;

use std::collections::HashSet;
use std::env;
use std::fs::File;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::cached::Cached;
use crate::catalog::Catalog;
use crate::cli::{Cache, Cli, Command, Common};
use crate::diff::Report;
use crate::home::Home;
use crate::lock::Lock;
use crate::pins::Pins;
use crate::project;
use crate::rust_version::RustVersion;
use crate::shell::Shell;
use crate::workspace::Workspace;

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) shell: Shell,
    pub(crate) home: Home,
    common: Common,
}

impl Run {
    pub(crate) fn new(common: Common, shell: Shell) -> Result<Self> {
        let dir = env::current_dir().context("failed to find the current folder")?;
        let home = Home::find(&dir)?;
        Ok(Self { shell, home, common })
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
        Workspace::load(&self.manifest_path()?, &self.home.cargo)
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
        let catalog = locking.catalog(&pins);
        let (lock, _) = project::resolve(&catalog)?;
        locking.finish();
        let report = locking.report(&catalog, &lock);
        if let Some(earlier) = &earlier {
            project::rewrite_lock(workspace, earlier, &lock, self.locked_flag())?;
            report.synced(&earlier.lock);
        } else {
            project::write_lock(workspace, None, &lock, self.locked_flag())?;
            report.generated();
        }
        Ok(lock)
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
    store: Cached,
    rust_versions: Vec<RustVersion>,
    /// Held until the records are read.
    _package_cache: Option<File>,
}

impl<'a> Locking<'a> {
    pub(crate) fn new(run: &Run, workspace: &'a Workspace) -> Result<Self> {
        let rust_versions = workspace.rust_versions(None, project::installed_rust)?;
        let package_cache = run.home.lock_package_cache(run.shell)?;
        let store = Cached::open(&run.home.index_file(), &run.home.index_dir(), run.shell)?;
        Ok(Self {
            workspace,
            shell: run.shell,
            store,
            rust_versions,
            _package_cache: package_cache,
        })
    }

    pub(crate) fn catalog<'c>(&'c self, pins: &'c Pins) -> Catalog<'c> {
        Catalog::new(&self.store, self.workspace, pins, self.rust_versions.clone())
    }

    /// Keeps what was learnt from cargo's files.
    pub(crate) fn finish(&self) {
        self.store.save();
    }

    pub(crate) fn report<'r, 'c>(
        &self,
        catalog: &'r Catalog<'c>,
        lock: &'r Lock,
    ) -> Report<'r, 'c> {
        Report::new(self.shell, catalog, lock, &self.rust_versions)
    }
}

pub(crate) fn run(cli: Cli, shell: Shell) -> Result<()> {
    let run = Run::new(cli.common, shell)?;
    match cli.command {
        Command::GenerateLockfile => generate::generate_lockfile(&run),
        Command::Update(options) => generate::update(&run, &options),
        Command::Cache(Cache::Import) => cache::import(&run),
        Command::Vendor(options) => vendor::vendor(&run, &options),
    }
}
