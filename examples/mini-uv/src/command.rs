//! What each command does, in the order in which a person would see it happen.

mod caching;
mod check;
mod install;
mod list;
mod uninstall;
mod venv;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;
use tempfile::TempDir;

use crate::cache::{self, Cache};
use crate::cli::{Cli, Command, Global, LinkMode, Pip, Where};
use crate::environment::{self, Environment};
use crate::interpreter::Interpreter;
use crate::ui::Ui;

/// What every command has at hand.
pub(crate) struct Tool {
    pub(crate) ui: Ui,
    pub(crate) global: Global,
    link_mode: LinkMode,
    cache: OnceCell<Cache>,
    /// The cache's folder when this run has one of its own.
    temporary: OnceCell<TempDir>,
}

/// Runs the command and returns how it ended.
pub(crate) fn run(cli: Cli, ui: Ui) -> anyhow::Result<ExitCode> {
    let link_mode = match &cli.command {
        Command::Pip(Pip::Install(options)) => options.link_mode,
        _ => LinkMode::Hardlink,
    };
    let (cache, temporary) = (OnceCell::new(), OnceCell::new());
    let tool = Tool { ui, global: cli.global, link_mode, cache, temporary };
    match cli.command {
        Command::Venv(options) => venv::run(&tool, &options),
        Command::Pip(Pip::Install(options)) => install::run(&tool, &options),
        Command::Pip(Pip::Uninstall(options)) => uninstall::run(&tool, &options),
        Command::Pip(Pip::List(options)) => list::run(&tool, &options.location, options.format),
        Command::Pip(Pip::Freeze(location)) => list::freeze(&tool, &location),
        Command::Pip(Pip::Check(options)) => check::run(&tool, &options),
        Command::Cache(command) => caching::run(&tool, &command),
        Command::Completions { shell } => completions(shell),
    }
}

impl Tool {
    /// The environment that a command is about.
    fn environment(&self, location: &Where) -> anyhow::Result<Environment> {
        let executable = environment::discover(location.python.as_deref())?;
        Ok(Environment::of(self.interpreter(&executable)?))
    }

    /// The folder that `--target` names, or the environment.
    fn environment_or_target(
        &self,
        location: &Where,
        target: Option<&Path>,
    ) -> anyhow::Result<Environment> {
        let Some(dir) = target else { return self.environment(location) };
        let executable = match location.python.as_deref() {
            Some(request) => crate::interpreter::locate(request)?,
            None => environment::discover(None).or_else(|_| crate::interpreter::default())?,
        };
        Environment::target(dir, self.interpreter(&executable)?)
    }

    /// What an interpreter says. The cache only spares asking it, so none is needed.
    fn interpreter(&self, executable: &Path) -> anyhow::Result<Interpreter> {
        match self.cache() {
            Ok(cache) => cache.interpreter(executable),
            Err(error) => {
                tracing::debug!("asking `{}`: {error:#}", executable.display());
                Interpreter::ask(executable)
            }
        }
    }

    fn cache_dir(&self) -> anyhow::Result<PathBuf> {
        if self.global.no_cache {
            return self.temporary_dir();
        }
        self.global.cache_dir.clone().map_or_else(cache::default_dir, Ok)
    }

    /// A folder that is removed at the end of this run.
    fn temporary_dir(&self) -> anyhow::Result<PathBuf> {
        if let Some(dir) = self.temporary.get() {
            return Ok(dir.path().to_owned());
        }
        let dir = tempfile::tempdir().context("failed to make a temporary cache")?;
        Ok(self.temporary.get_or_init(|| dir).path().to_owned())
    }

    /// The cache that is there already; none, and the user is told, when there is none.
    fn existing_cache(&self) -> anyhow::Result<Option<&Cache>> {
        let dir = self.cache_dir()?;
        if cache::is_there(&dir) {
            return self.cache().map(Some);
        }
        self.ui.status(format!("No cache found at: {}", dir.display()));
        Ok(None)
    }

    /// The cache, opened when it is first needed.
    fn cache(&self) -> anyhow::Result<&Cache> {
        if self.cache.get().is_none() {
            let opened = Cache::open(&self.cache_dir()?, self.link_mode, self.ui)?;
            return Ok(self.cache.get_or_init(|| opened));
        }
        self.cache.get().context("the cache is open")
    }
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mini-uv", &mut script);
    crate::ui::result(String::from_utf8(script)?.trim_end());
    Ok(ExitCode::SUCCESS)
}
