//! The command line: names, flags and help as cargo has them.

use std::path::PathBuf;

use crate::shell::Verbosity;
use anstream::ColorChoice;
use clap::{ArgAction, Parser, Subcommand, ValueEnum};

/// Locks and vendors cargo projects with an index cache and a content-addressed store.
#[derive(Debug, Parser)]
#[command(name = "mini-cargo", version, propagate_version = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Flags of every command.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that cargo has")]
pub(crate) struct Common {
    /// Path to Cargo.toml
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// Assert that `Cargo.lock` will remain unchanged
    #[arg(long, global = true)]
    pub(crate) locked: bool,
    /// Run without accessing the network
    #[arg(long, global = true)]
    pub(crate) offline: bool,
    /// Equivalent to specifying both --locked and --offline
    #[arg(long, global = true)]
    pub(crate) frozen: bool,
    /// Do not print status lines
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Coloring
    #[arg(long, global = true, value_name = "WHEN", env = "CARGO_TERM_COLOR", hide_env = true)]
    pub(crate) color: Option<Color>,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Output {
    /// Write the result for people, or as one JSON document on standard output
    #[arg(long, value_name = "FMT", default_value = "human")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

impl Output {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }
}

impl Common {
    pub(crate) fn color(&self) -> ColorChoice {
        match self.color {
            Some(Color::Always) => ColorChoice::Always,
            Some(Color::Never) => ColorChoice::Never,
            Some(Color::Auto) | None => ColorChoice::Auto,
        }
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, _) => Verbosity::Verbose,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Generate the lockfile for a package
    GenerateLockfile,
    /// Update dependencies as recorded in the local lock file
    Update(Update),
    /// Fetch dependencies of a package from the network
    Fetch,
    /// Display a tree visualization of a dependency graph
    Tree(Output),
    /// Vendor all registry dependencies of a project
    Vendor(Vendor),
    /// Look after the caches
    #[command(subcommand)]
    Cache(Cache),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `update`
#[derive(Debug, clap::Args)]
pub(crate) struct Update {
    /// Package to update
    #[arg(value_name = "SPEC", group = "selection")]
    pub(crate) spec: Vec<String>,
    /// Package to update
    #[arg(short, long, value_name = "SPEC", group = "selection")]
    pub(crate) package: Vec<String>,
    /// Force updating all dependencies of SPEC as well
    #[arg(long, requires = "selection", conflicts_with = "precise")]
    pub(crate) recursive: bool,
    /// Update a single dependency to exactly PRECISE
    #[arg(long, value_name = "PRECISE", requires = "selection")]
    pub(crate) precise: Option<String>,
    /// Only update the workspace packages
    #[arg(short, long, conflicts_with = "selection")]
    pub(crate) workspace: bool,
    /// Don't actually write the lockfile
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Update {
    /// The packages named in either way.
    pub(crate) fn specs(&self) -> impl Iterator<Item = &String> {
        self.spec.iter().chain(&self.package)
    }
}

/// `vendor`
#[derive(Debug, clap::Args)]
pub(crate) struct Vendor {
    /// Where to vendor crates
    #[arg(default_value = "vendor", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Always include version in subdir name
    #[arg(long)]
    pub(crate) versioned_dirs: bool,
    /// Don't delete older crates in the vendor directory
    #[arg(long)]
    pub(crate) no_delete: bool,
}

/// `cache ...`
#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Import cargo's index cache (a file per crate) into one file
    Import,
    /// Print where the caches are
    Dir,
    /// Print how large they are
    Size(Output),
    /// Remove the caches
    Clean,
    /// Remove objects of the store that no crate uses, and free space in the index cache
    Prune {
        /// Only say what would be removed
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Check every byte of the caches
    Verify {
        /// Set damaged entries aside and make what can be made from cargo's own files
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        output: Output,
    },
}
