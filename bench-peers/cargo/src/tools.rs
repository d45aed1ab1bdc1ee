//! The two programs, and the environment in which both run.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{Error, Settings, output_of};

pub(crate) struct Tools {
    cargo: PathBuf,
    mini_cargo: PathBuf,
}

impl Tools {
    /// The real cargo is the toolchain's own binary: rustup's proxy in front of it takes time too.
    pub(crate) fn find(settings: &Settings) -> Result<Self, Error> {
        let mini_cargo = settings.rest.first().map(PathBuf::from).ok_or_else(|| {
            Error::unavailable("mini-cargo", "run this through `cargo xtask bench cargo`")
        })?;
        let sysroot = output_of(Command::new("rustc").args(["--print", "sysroot"]))?;
        Ok(Self { cargo: Path::new(sysroot.trim()).join("bin").join("cargo"), mini_cargo })
    }

    /// Cargo in `project`; unstable flags are allowed, as the seed's `-Zno-index-update` is one.
    pub(crate) fn cargo(&self, home: &Path, project: &Path) -> Command {
        let mut command = clean(&self.cargo, home, project);
        command.env("RUSTC_BOOTSTRAP", "1");
        command
    }

    /// mini-cargo in `project`, with its own files in `cache`.
    pub(crate) fn mini_cargo(&self, home: &Path, cache: &Path, project: &Path) -> Command {
        Self::child(&self.mini_cargo, home, cache, project)
    }

    /// A program that behaves as mini-cargo.
    pub(crate) fn child(program: &Path, home: &Path, cache: &Path, project: &Path) -> Command {
        let mut command = clean(program, home, project);
        command.env("MINI_CARGO_CACHE_DIR", cache);
        command
    }
}

/// Nothing of the caller's cargo settings reaches the measured programs.
fn clean(program: &Path, home: &Path, project: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let shown = name.to_string_lossy();
        if shown.starts_with("CARGO") || shown.starts_with("RUST") {
            command.env_remove(&name);
        }
    }
    command.env("CARGO_HOME", home).current_dir(project);
    command
}
