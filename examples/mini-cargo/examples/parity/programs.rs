//! The two programs, run with the same cargo home and nothing else of the caller's settings.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

/// The argument that makes this program mini-cargo.
pub(crate) const AS_MINI_CARGO: &str = "--as-mini-cargo";

/// A cargo home that both programs read.
#[derive(Clone)]
pub(crate) struct Programs {
    pub(crate) home: PathBuf,
    cargo: PathBuf,
}

impl Programs {
    pub(crate) fn new(home: PathBuf) -> Result<Self> {
        fs::create_dir_all(&home)
            .with_context(|| format!("failed to create {}", home.display()))?;
        let output = Command::new("rustc").args(["--print", "sysroot"]).output();
        let sysroot = output.context("failed to run rustc")?.stdout;
        let sysroot = String::from_utf8(sysroot).context("rustc's sysroot")?;
        Ok(Self { home, cargo: Path::new(sysroot.trim()).join("bin/cargo") })
    }

    /// Real cargo over the index as it is.
    pub(crate) fn cargo(&self, dir: &Path, arguments: &[&str]) -> Result<Output> {
        let mut command = self.command(&self.cargo, dir);
        command.env("RUSTC_BOOTSTRAP", "1").arg("-Zno-index-update").args(arguments);
        command.output().context("failed to run cargo")
    }

    /// Real cargo, which may ask the registry.
    pub(crate) fn cargo_online(&self, dir: &Path, arguments: &[&str]) -> Result<()> {
        let output = self.command(&self.cargo, dir).args(arguments).output();
        let output = output.context("failed to run cargo")?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            bail!("`cargo {}` failed\n{}", arguments.join(" "), text.trim());
        }
        Ok(())
    }

    pub(crate) fn mini(&self, dir: &Path, arguments: &[&str]) -> Result<Output> {
        let mut command = self.command(&env::current_exe().context("this program's path")?, dir);
        command.arg(AS_MINI_CARGO).args(arguments).arg("--offline");
        command.output().context("failed to run mini-cargo")
    }

    fn command(&self, program: &Path, dir: &Path) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if ["CARGO", "RUST", "MINI_CARGO"].iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.env("CARGO_HOME", &self.home).current_dir(dir);
        command
    }

    /// The versions of a crate that cargo's cache lists: header, revision, then pairs.
    pub(crate) fn versions(&self, name: &str) -> Result<Vec<semver::Version>> {
        let name = name.to_lowercase();
        let folder = match name.len() {
            1 | 2 => name.len().to_string(),
            3 => format!("3/{}", &name[..1]),
            _ => format!("{}/{}", &name[..2], &name[2..4]),
        };
        let relative = Path::new(".cache").join(folder).join(&name);
        let indexes = self.home.join("registry").join("index");
        let mut found = Vec::new();
        for index in fs::read_dir(&indexes).context("failed to list the index")? {
            let bytes = fs::read(index?.path().join(&relative)).unwrap_or_default();
            let fields = bytes.split(|byte| *byte == 0).skip(4).step_by(2);
            found.extend(
                fields.filter_map(|text| {
                    semver::Version::parse(std::str::from_utf8(text).ok()?).ok()
                }),
            );
        }
        found.sort();
        Ok(found)
    }
}
