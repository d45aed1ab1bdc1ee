//! The Rust half: a copy of this workspace is locked and vendored by mini-cargo, then built by
//! the real cargo without a network and without a home.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::table::{Table, bytes, seconds};
use super::{Tools, folder, status};
use crate::tree::Census;
use crate::{Result, shell};

/// The member of the copy that the real cargo builds and tests from the vendored sources.
const BUILT: &str = "stream-extract";

pub(super) fn lock_and_build(work: &Path, tools: &Tools, table: &mut Table) -> Result<()> {
    let copy = folder(work, "workspace")?;
    copy_sources(&shell::workspace(), &copy)?;
    let demo = Demo { work, tools, copy };
    let expected = demo.cargo_lock()?;
    demo.mini_lock(&expected, table)?;
    demo.vendor(table)?;
    demo.build(table)
}

struct Demo<'a> {
    work: &'a Path,
    tools: &'a Tools,
    copy: PathBuf,
}

impl Demo<'_> {
    /// Lets the real cargo lock the copy; this also fills cargo's index cache.
    fn cargo_lock(&self) -> Result<String> {
        status("Locking", "a copy of this workspace with the real cargo (downloads the index)");
        shell::output(self.cargo().arg("generate-lockfile"))?;
        let lock = fs::read_to_string(self.lock_path())?;
        fs::remove_file(self.lock_path())?;
        Ok(lock)
    }

    fn mini_lock(&self, expected: &str, table: &mut Table) -> Result<()> {
        let (_, import) = shell::timed(&mut self.mini_cargo(["cache", "import"]))?;
        let (_, lock) = shell::timed(&mut self.mini_cargo(["generate-lockfile", "--offline"]))?;
        let written = fs::read_to_string(self.lock_path())?;
        if written != expected {
            return Err("mini-cargo's Cargo.lock differs from the real cargo's".into());
        }
        let packages = written.matches("[[package]]").count();
        status("Locked", &format!("{packages} packages in {}", seconds(lock)));
        let times = format!("import {}, lock {}", seconds(import), seconds(lock));
        table.row("Cargo.lock", format!("{packages} packages, equal to cargo's; {times}"));
        Ok(())
    }

    fn vendor(&self, table: &mut Table) -> Result<()> {
        status("Fetching", "the locked .crate files with the real cargo");
        shell::output(self.cargo().args(["fetch", "--locked"]))?;
        let vendored = self.work.join("vendor");
        let mut vendor = self.mini_cargo(["vendor", "--offline"]);
        let (configuration, took) = shell::timed(vendor.arg(&vendored))?;
        self.configure(&configuration)?;
        let census = Census::of(&vendored)?;
        let (files, size) = (census.names, bytes(census.name_bytes));
        status("Vendored", &format!("{files} files in {}", seconds(took)));
        table.row("vendored by mini-cargo", format!("{files} files, {size}, {}", seconds(took)));
        Ok(())
    }

    /// Appends what `vendor` printed, as its user would.
    fn configure(&self, configuration: &str) -> Result<()> {
        let path = self.copy.join(".cargo").join("config.toml");
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::create_dir_all(self.copy.join(".cargo"))?;
        Ok(fs::write(&path, format!("{before}\n{configuration}"))?)
    }

    fn build(&self, table: &mut Table) -> Result<()> {
        let home = folder(self.work, "empty-cargo-home")?;
        let mut build = self.cargo();
        build.args(["build", "--frozen", "--offline", "-p", BUILT]).env("CARGO_HOME", home);
        let (_, took) = shell::timed(&mut build)?;
        status("Built", &format!("{BUILT} offline in {}", seconds(took)));
        table.row("cargo build --frozen --offline", built_row(took));
        Ok(())
    }

    fn lock_path(&self) -> PathBuf {
        self.copy.join("Cargo.lock")
    }

    fn cargo(&self) -> Command {
        let mut command = shell::cargo();
        command.current_dir(&self.copy).env("CARGO_TARGET_DIR", self.work.join("build"));
        command
    }

    fn mini_cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.tools.mini_cargo);
        command.current_dir(&self.copy).args(arguments);
        command.env("MINI_CARGO_CACHE_DIR", self.work.join("cargo-cache"));
        command
    }
}

fn built_row(took: Duration) -> String {
    format!("{BUILT} with an empty CARGO_HOME, {}", seconds(took))
}

/// Copies what a build needs: not what it made, and not the history.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if !entry.file_type()?.is_dir() {
            fs::copy(source, target)?;
        } else if !["target", ".git"].contains(&&*entry.file_name().to_string_lossy()) {
            fs::create_dir(&target)?;
            copy_sources(&source, &target)?;
        }
    }
    Ok(())
}
