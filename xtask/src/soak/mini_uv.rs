//! mini-uv on two environments and one cache: install, upgrade, downgrade, uninstall, prune.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::chaos::Actor;
use super::dice::Dice;
use crate::{Result, shell};

const REQUIREMENTS: [&str; 6] =
    ["soakone==1.0", "soakone==2.0", "soaktwo==1.0", "soaktwo==2.0", "soakone", "soaktwo"];

/// What must be there before the storm.
#[derive(Clone)]
pub(super) struct Ground {
    program: PathBuf,
    folder: PathBuf,
}

impl Ground {
    pub(super) fn prepare(disk: &Path, program: &Path) -> Result<Self> {
        let ground = Self { program: program.to_path_buf(), folder: disk.join("uv") };
        fs::create_dir(&ground.folder)?;
        shell::output(python(include_str!("make_wheels.py")).arg(ground.folder.join("wheels")))?;
        for number in 0..2 {
            let mut venv = ground.command(&["venv"]);
            shell::output(venv.arg(ground.environment(number)))?;
        }
        Ok(ground)
    }

    /// Three for two environments, so that some wait for each other; one with few descriptors.
    pub(super) fn actors(&self) -> Vec<Actor> {
        let actor = || self.clone().actor();
        vec![actor(), actor(), actor().with_few_descriptors()]
    }

    fn actor(self) -> Actor {
        Actor::new("mini-uv", move |dice| self.throw(dice))
    }

    fn throw(&self, dice: &mut Dice) -> Command {
        let environment = dice.below(2);
        let requirement = REQUIREMENTS[usize::try_from(dice.below(6)).unwrap_or_default()];
        match dice.below(10) {
            0 => self.command(&["cache", "prune"]),
            1 | 2 => self.in_environment(environment, &["pip", "uninstall", &requirement[..7]]),
            3 => self.install(environment, &["--reinstall", requirement]),
            _ => self.install(environment, &[requirement]),
        }
    }

    fn install(&self, environment: u64, arguments: &[&str]) -> Command {
        let mut command = self.in_environment(environment, &["pip", "install", "--no-index"]);
        command.arg("--find-links").arg(self.folder.join("wheels")).args(arguments);
        command
    }

    fn in_environment(&self, number: u64, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.arg("--python").arg(self.environment(number));
        command
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).arg("--cache-dir").arg(self.folder.join("cache"));
        command
    }

    fn environment(&self, number: u64) -> PathBuf {
        self.folder.join(format!("environment-{number}"))
    }

    /// What is installed is whole; then everything can be installed, and is whole again.
    pub(super) fn check(&self) -> Result<()> {
        shell::output(&mut self.command(&["cache", "verify"]))?;
        for number in 0..2 {
            self.installed(number)?;
            shell::output(&mut self.install(number, &["soakone==1.0", "soaktwo==2.0"]))?;
            let installed = self.installed(number)?;
            if installed != "2" {
                return Err(format!("{installed} packages where 2 were installed").into());
            }
            shell::output(&mut self.in_environment(number, &["pip", "check"]))?;
        }
        shell::output(&mut self.command(&["cache", "verify"])).map(drop)
    }

    fn installed(&self, number: u64) -> Result<String> {
        let mut check = python(include_str!("check_records.py"));
        Ok(shell::output(check.arg(self.environment(number)))?.trim().to_owned())
    }
}

fn python(program: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", program]);
    command
}
