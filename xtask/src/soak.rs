//! `cargo xtask soak --minutes N`: stores and installers where they are not comfortable.
//!
//! On one small file system that is full every few seconds, with few file descriptors, many
//! processes use the same two stores and the same environments, and are killed at random moments.
//! While they run, every answer of a store is compared with what that answer must be. At the end
//! the disk has room again, and what is there must be whole: stores verify, environments hold what
//! their `RECORD` says, locks equal the lock of an undisturbed run, and all of it works once more.
//!
//! `--seed S` repeats the dice of a run, not the moments at which the kernel schedules. Root is
//! needed, for the loop mount. Absent: power cuts (the crates' own tests have them).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{Result, shell};

mod chaos;
mod content;
mod dice;
mod disk;
mod index;
mod mini_cargo;
mod mini_uv;
mod objects;

use chaos::{Actor, Chaos};
use dice::Dice;
use disk::SmallDisk;

/// What `--minutes` and `--seed` say.
struct Plan {
    minutes: f64,
    seed: u64,
}

/// The installers, built with debug assertions, so that a broken assumption is a panic.
struct Programs {
    mini_uv: PathBuf,
    mini_cargo: PathBuf,
}

/// Runs the soak; an error is a finding.
#[expect(clippy::print_stdout, reason = "the report is this chore's product")]
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let [worker, kind, folder, seed] = arguments
        && worker == "worker"
    {
        return work(kind, Path::new(folder), seed.parse()?);
    }
    let plan = Plan::read(arguments)?;
    println!("soak: {} minutes, seed {}", plan.minutes, plan.seed);
    let programs = Programs::build()?;
    let disk = SmallDisk::mount()?;
    let uv = mini_uv::Ground::prepare(disk.path(), &programs.mini_uv)?;
    let cargo = mini_cargo::Ground::prepare(disk.path(), &programs.mini_cargo)?;
    let mut chaos = Chaos::new(plan.seed, actors(disk.path(), &uv, &cargo)?);
    chaos.run_until(Instant::now() + Duration::from_secs_f64(plan.minutes * 60.0), &disk)?;
    disk.make_room()?;
    println!("{}", chaos.summary());
    chaos.check()?;
    index::check(disk.path())?;
    objects::check(disk.path())?;
    uv.check()?;
    cargo.check()?;
    println!("soak: every invariant holds");
    Ok(())
}

/// Everything that runs at the same time.
fn actors(disk: &Path, uv: &mini_uv::Ground, cargo: &mini_cargo::Ground) -> Result<Vec<Actor>> {
    let mut actors = Vec::new();
    for kind in ["index-writer", "index-reader", "objects", "objects"] {
        actors.push(worker(kind, disk)?);
    }
    actors.push(worker("objects", disk)?.with_few_descriptors());
    actors.push(worker("index-writer", disk)?.with_few_descriptors());
    actors.extend(uv.actors());
    actors.extend(cargo.actors());
    Ok(actors)
}

/// This program again, as one user of a store.
fn worker(kind: &'static str, disk: &Path) -> Result<Actor> {
    let program = std::env::current_exe()?;
    let folder = disk.to_path_buf();
    Ok(Actor::new(kind, move |dice: &mut Dice| {
        let mut command = Command::new(&program);
        command.args(["soak", "worker", kind]).arg(&folder).arg(dice.next().to_string());
        command
    }))
}

/// Uses a store until somebody kills this process; an answer that is wrong ends it.
fn work(kind: &str, folder: &Path, seed: u64) -> Result<()> {
    let mut dice = Dice::new(seed);
    loop {
        match kind {
            "index-writer" => index::write(folder, &mut dice)?,
            "index-reader" => index::read(folder, &mut dice)?,
            "objects" => objects::install(folder, &mut dice)?,
            other => return Err(format!("no worker is called `{other}`").into()),
        }
    }
}

impl Plan {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut plan = Self { minutes: 2.0, seed: u64::from(std::process::id()) };
        for pair in arguments.chunks(2) {
            match pair {
                [name, value] if name == "--minutes" => plan.minutes = value.parse()?,
                [name, value] if name == "--seed" => plan.seed = value.parse()?,
                _ => return Err("usage: cargo xtask soak [--minutes N] [--seed S]".into()),
            }
        }
        Ok(plan)
    }
}

impl Programs {
    fn build() -> Result<Self> {
        let packages = ["--package", "mini-uv", "--package", "mini-cargo"];
        shell::output(shell::cargo().args(["build", "--locked"]).args(packages))?;
        let folder = shell::target_folder().join("debug");
        Ok(Self { mini_uv: folder.join("mini-uv"), mini_cargo: folder.join("mini-cargo") })
    }
}
