//! The command line, with uv's names for what uv has too.
//!
//! Names of options and environment variables are the contract with people's fingers and scripts;
//! what they do is elsewhere.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A thin but real installer of Python wheels.
#[derive(Debug, Parser)]
#[command(name = "mini-uv", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
#[expect(clippy::struct_excessive_bools, reason = "switches on a command line are independent")]
pub(crate) struct Global {
    /// Print nothing but results and errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say what is done; twice for more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
    /// Show no progress bars.
    #[arg(long, global = true, env = "UV_NO_PROGRESS", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_progress: bool,
    /// Use what is in the cache and on this machine, never the network.
    #[arg(long, global = true, env = "UV_OFFLINE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) offline: bool,
    /// Where downloads and unpacked files are kept.
    #[arg(long, global = true, env = "UV_CACHE_DIR", value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Use a cache of this run's own, which is removed at its end.
    #[arg(short, long, global = true, env = "UV_NO_CACHE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_cache: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a virtual environment.
    Venv(Venv),
    /// Manage the packages of an environment.
    #[command(subcommand)]
    Pip(Pip),
    /// Manage the cache.
    #[command(subcommand)]
    Cache(Cache),
    /// Print a completion script for a shell.
    Completions {
        /// The shell to print it for.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Venv {
    /// The folder to create.
    #[arg(default_value = ".venv")]
    pub(crate) dir: PathBuf,
    /// The interpreter: a path, a version like `3.12`, or a command.
    #[arg(short, long, env = "UV_PYTHON", value_name = "PYTHON")]
    pub(crate) python: Option<String>,
    /// The name to show in the shell's prompt.
    #[arg(long)]
    pub(crate) prompt: Option<String>,
    /// Let the environment see the base interpreter's packages.
    #[arg(long)]
    pub(crate) system_site_packages: bool,
    /// Replace an environment that is already there.
    #[arg(short, long, conflicts_with = "allow_existing")]
    pub(crate) clear: bool,
    /// Keep what is already there.
    #[arg(long)]
    pub(crate) allow_existing: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pip {
    /// Install packages.
    Install(Box<Install>),
    /// Uninstall packages.
    Uninstall(Uninstall),
    /// List installed packages.
    List(List),
    /// List installed packages as requirements.
    Freeze(Where),
    /// Check that installed packages have the dependencies they need.
    Check(Check),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) location: Where,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// For whom a result is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print the result for people or for programs.
    #[arg(long, value_enum, default_value_t = Reader::Text)]
    format: Reader,
}

impl Output {
    pub(crate) fn is_json(self) -> bool {
        self.format == Reader::Json
    }
}

/// Who reads a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reader {
    Text,
    Json,
}

/// Which environment a command is about.
#[derive(Clone, Debug, Args)]
pub(crate) struct Where {
    /// The environment or interpreter; default: the active one, then `.venv`.
    #[arg(short, long, env = "UV_PYTHON", value_name = "PYTHON")]
    pub(crate) python: Option<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "switches on a command line are independent")]
pub(crate) struct Install {
    /// Requirements, wheel files or addresses of wheels.
    #[arg(required_unless_present_any = ["requirements", "editable"], value_name = "PACKAGE")]
    pub(crate) packages: Vec<String>,
    /// Known so that it can be refused with the way out.
    #[arg(short, long, hide = true, value_name = "PATH")]
    pub(crate) editable: Option<String>,
    /// Known so that it can be refused with the way out.
    #[arg(long, hide = true)]
    pub(crate) universal: bool,
    /// Install what a requirements file lists.
    #[arg(short, long = "requirements", alias = "requirement", value_name = "FILE")]
    pub(crate) requirements: Vec<PathBuf>,
    /// Limit the versions of what is installed anyway.
    #[arg(
        short,
        long = "constraints",
        alias = "constraint",
        env = "UV_CONSTRAINT",
        value_delimiter = ' ',
        value_name = "FILE"
    )]
    pub(crate) constraints: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) location: Where,
    /// Install into a folder instead of an environment.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) target: Option<PathBuf>,
    /// Change an environment that the system's package manager owns.
    #[arg(long, env = "UV_BREAK_SYSTEM_PACKAGES", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) break_system_packages: bool,
    /// Install for another platform, like `aarch64-manylinux_2_28`.
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) python_platform: Option<String>,
    /// Install for another version of Python, like `3.9` or `3.12.4`.
    #[arg(long, value_name = "VERSION")]
    pub(crate) python_version: Option<String>,
    /// Do not install what the packages depend on.
    #[arg(long)]
    pub(crate) no_deps: bool,
    /// Require a digest for every package.
    #[arg(long, env = "UV_REQUIRE_HASHES", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) require_hashes: bool,
    /// Take newer versions than those that are installed.
    #[arg(short = 'U', long)]
    pub(crate) upgrade: bool,
    /// Install again what is already installed.
    #[arg(long, alias = "force-reinstall")]
    pub(crate) reinstall: bool,
    /// Whether to take pre-releases.
    #[arg(long, value_enum, env = "UV_PRERELEASE", default_value_t = Prerelease::IfNecessaryOrExplicit)]
    pub(crate) prerelease: Prerelease,
    /// Take pre-releases; the same as `--prerelease allow`.
    #[arg(long)]
    pub(crate) pre: bool,
    /// Print what would change and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Keep each wheel's files in a folder of their own, to measure what sharing them costs.
    #[arg(long)]
    pub(crate) no_deduplication: bool,
    /// Compile what is installed to byte code.
    #[arg(long, env = "UV_COMPILE_BYTECODE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) compile_bytecode: bool,
    /// How to put files from the cache into the environment.
    #[arg(long, value_enum, env = "UV_LINK_MODE", default_value_t = LinkMode::Hardlink)]
    pub(crate) link_mode: LinkMode,
    #[command(flatten)]
    pub(crate) index: Index,
}

/// Where packages are looked for.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Index options")]
#[expect(clippy::struct_field_names, reason = "fields are named like their options")]
pub(crate) struct Index {
    /// The index to ask.
    #[arg(short = 'i', long = "index-url", alias = "default-index", value_name = "URL")]
    pub(crate) index_url: Option<String>,
    /// Further indexes, asked before the other one.
    #[arg(
        long = "extra-index-url",
        alias = "index",
        env = "UV_EXTRA_INDEX_URL",
        value_delimiter = ' ',
        value_name = "URL"
    )]
    pub(crate) extra_index_url: Vec<String>,
    /// A folder or page with wheels.
    #[arg(short, long, env = "UV_FIND_LINKS", value_delimiter = ' ', value_name = "DIR|URL")]
    pub(crate) find_links: Vec<String>,
    /// Ask no index; use `--find-links` and what is named directly.
    #[arg(long, env = "UV_NO_INDEX", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) no_index: bool,
    /// A file of certificates to trust instead of the system's.
    #[arg(long, env = "SSL_CERT_FILE", value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// The proxy to ask through, instead of the one in the usual variables.
    #[arg(long, env = "PIP_PROXY", value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Seconds that a server may be silent before a transfer is taken up again; at least 1.
    #[arg(long, env = "UV_HTTP_TIMEOUT", default_value_t = 30, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) http_timeout: u64,
    /// Ask the index again whether what the cache has is current.
    #[arg(long)]
    pub(crate) refresh: bool,
    /// How many downloads may run at once.
    #[arg(long, env = "UV_CONCURRENT_DOWNLOADS", default_value_t = 8, value_name = "N")]
    pub(crate) concurrent_downloads: usize,
}

/// Whether to take pre-releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Prerelease {
    /// Never.
    Disallow,
    /// Always.
    Allow,
    /// Where a package has no other release.
    IfNecessary,
    /// Where a requirement of the user names one.
    Explicit,
    /// Where a package has no other release, or a requirement of the user names one.
    IfNecessaryOrExplicit,
}

/// How files get from the cache into an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinkMode {
    /// One inode for the cache and every environment.
    Hardlink,
    /// Blocks are shared until one side changes; `reflink` on Linux.
    #[value(alias = "reflink")]
    Clone,
    /// Independent files.
    Copy,
}

#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// The packages to uninstall.
    #[arg(required_unless_present = "requirements", value_name = "PACKAGE")]
    pub(crate) packages: Vec<String>,
    /// Uninstall what a requirements file lists.
    #[arg(short, long = "requirements", alias = "requirement", value_name = "FILE")]
    pub(crate) requirements: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) location: Where,
    /// Uninstall from a folder that `--target` installed into.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) target: Option<PathBuf>,
    /// Print what would change and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change an environment that the system's package manager owns.
    #[arg(long, env = "UV_BREAK_SYSTEM_PACKAGES", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) break_system_packages: bool,
    /// Accepted because scripts pass it to pip; nothing is ever asked.
    #[arg(short, long, hide = true)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) location: Where,
    /// How to print the list.
    #[arg(long, value_enum, default_value_t = Format::Columns)]
    pub(crate) format: Format,
}

/// How to print a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Columns,
    Freeze,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Cache {
    /// Print where the cache is.
    Dir,
    /// Print how much space the cache takes.
    Size {
        /// Print a number of bytes.
        #[arg(long)]
        bytes: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Remove everything, or what belongs to the named packages.
    #[command(alias = "clear")]
    Clean {
        /// The packages whose entries are removed.
        packages: Vec<String>,
    },
    /// Remove what no package in the cache uses.
    Prune,
    /// Read everything and check it against its digests.
    Verify {
        /// Heal or remove what is damaged, so that it is fetched again.
        #[arg(long)]
        repair: bool,
        #[command(flatten)]
        output: Output,
    },
}
