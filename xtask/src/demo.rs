//! The toolkit doing its main job on real input, from a fresh clone.
//!
//! Real wheels come through pip, this workspace's own dependency graph comes through cargo; then
//! mini-uv installs the wheels into two environments that a real interpreter imports from, and
//! mini-cargo locks and vendors a copy of this workspace that the real cargo builds offline with
//! an empty `CARGO_HOME`. Only the two downloads need a network.
//!
//! Nothing is written outside `target/demo-<process id>`, which is removed at the end unless
//! `--keep` is given.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Result, shell};

mod crates;
mod python;
mod table;
mod wheels;

use table::Table;

/// Runs the whole demo and prints one short table.
#[expect(clippy::print_stderr, reason = "a person following the demo sees where it is")]
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let keep = arguments.iter().any(|argument| argument == "--keep");
    let work = Work::create()?;
    let python = python::find()?;
    eprintln!("    Building mini-uv and mini-cargo (release)");
    let tools = Tools::build()?;
    let mut table = Table::default();
    wheels::install(&work.path, &python, &tools, &mut table)?;
    crates::lock_and_build(&work.path, &tools, &mut table)?;
    table.print();
    work.finish(keep)
}

/// One line of progress, in cargo's manner.
#[expect(clippy::print_stderr, reason = "a person following the demo sees where it is")]
fn status(verb: &str, what: &str) {
    eprintln!("{verb:>12} {what}");
}

/// The two installers, built from this tree.
struct Tools {
    mini_uv: PathBuf,
    mini_cargo: PathBuf,
}

impl Tools {
    fn build() -> Result<Self> {
        let mut build = shell::cargo();
        build.args(["build", "--release", "--locked", "-p", "mini-uv", "-p", "mini-cargo"]);
        shell::output(&mut build)?;
        let folder = shell::target_folder().join("release");
        let binary = |name: &str| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        Ok(Self { mini_uv: binary("mini-uv"), mini_cargo: binary("mini-cargo") })
    }
}

/// The demo's own folder: on the workspace's file system, so that hard links can be made.
struct Work {
    path: PathBuf,
}

impl Work {
    fn create() -> Result<Self> {
        let path = shell::target_folder().join(format!("demo-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self { path: fs::canonicalize(path)? })
    }

    fn finish(self, keep: bool) -> Result<()> {
        if keep {
            status("Kept", &self.path.display().to_string());
        } else {
            fs::remove_dir_all(&self.path)?;
        }
        Ok(())
    }
}

/// A folder below `parent`, made new.
fn folder(parent: &Path, name: &str) -> Result<PathBuf> {
    let path = parent.join(name);
    fs::create_dir(&path)?;
    Ok(path)
}
