//! mini-cargo with one cache: import, lock, prune; every lock that is written is the right one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::chaos::Actor;
use crate::{Result, shell};

const MANIFEST: &str = "[workspace]\n\n[package]\nname = \"soaked\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
    [dependencies]\nproptest = \"1\"\ntempfile = \"3\"\n";

/// Two projects with the same dependencies, and the lock that both must get.
#[derive(Clone)]
pub(super) struct Ground {
    program: PathBuf,
    folder: PathBuf,
    lock: String,
}

impl Ground {
    /// The real cargo locks first: this fills its own index cache, from which mini-cargo imports.
    pub(super) fn prepare(disk: &Path, program: &Path) -> Result<Self> {
        let folder = disk.join("cargo");
        let mut ground = Self { program: program.to_path_buf(), folder, lock: String::new() };
        for number in 0..2 {
            fs::create_dir_all(ground.project(number).join("src"))?;
            fs::write(ground.project(number).join("Cargo.toml"), MANIFEST)?;
            fs::write(ground.project(number).join("src/lib.rs"), "")?;
        }
        let mut real = shell::cargo();
        shell::output(real.current_dir(ground.project(0)).arg("generate-lockfile"))?;
        ground.lock = ground.written(0)?;
        Ok(ground)
    }

    /// One of them with few descriptors.
    pub(super) fn actors(&self) -> Vec<Actor> {
        vec![self.clone().actor(), self.clone().actor().with_few_descriptors()]
    }

    fn actor(self) -> Actor {
        Actor::new("mini-cargo", move |dice| match dice.below(8) {
            0 => self.command(0, &["cache", "prune"]),
            1 | 2 => self.command(0, &["cache", "import"]),
            _ => self.command(dice.below(2), &["generate-lockfile", "--offline"]),
        })
    }

    fn command(&self, project: u64, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.project(project)).args(arguments);
        command.env("MINI_CARGO_CACHE_DIR", self.folder.join("cache"));
        command
    }

    fn project(&self, number: u64) -> PathBuf {
        self.folder.join(format!("project-{number}"))
    }

    fn written(&self, number: u64) -> Result<String> {
        Ok(fs::read_to_string(self.project(number).join("Cargo.lock"))?)
    }

    /// No half lock is left, the cache verifies, and locking again gives the right lock.
    pub(super) fn check(&self) -> Result<()> {
        shell::output(&mut self.command(0, &["cache", "verify"]))?;
        shell::output(&mut self.command(0, &["cache", "import"]))?;
        for number in 0..2 {
            let left = self.written(number).unwrap_or_else(|_| self.lock.clone());
            self.compare(&left)?;
            shell::output(&mut self.command(number, &["generate-lockfile", "--offline"]))?;
            self.compare(&self.written(number)?)?;
        }
        Ok(())
    }

    fn compare(&self, lock: &str) -> Result<()> {
        if lock == self.lock {
            return Ok(());
        }
        Err(format!("WRONG DATA: a Cargo.lock differs from the real cargo's:\n{lock}").into())
    }
}
