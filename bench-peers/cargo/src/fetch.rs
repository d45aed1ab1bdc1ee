//! The seed's `build` row: nothing to do, everything present.
//!
//! Measured with a home of its own, because archives in a home change what `--offline` does, and on
//! one small workspace, because a build has to be finished before it can have nothing to do.

use std::path::Path;
use std::process::Command;

use bench_util::{Comparison, Error, Paired, Settings, Workdir, output_of};

use crate::copy;
use crate::projects::Project;
use crate::tools::Tools;

/// Fetches and builds `project` once, over the network, then compares doing it again.
pub(crate) fn nothing_to_do(
    tools: &Tools,
    home: &Path,
    work: &Workdir,
    settings: &Settings,
    project: &Project,
) -> Result<Comparison, Error> {
    let (full, cache) = (work.fresh("full-home")?, work.fresh("full-cache")?);
    copy::tree(home, &full).map_err(|error| {
        Error::unavailable(format!("a copy of the cargo home ({error})"), "free some memory")
    })?;
    let cargo = |command: &str, flags: &[&str]| -> Command {
        let mut cargo = tools.cargo(&full, &project.path);
        cargo.arg(command).args(flags).env("CARGO_TARGET_DIR", full.join("target"));
        cargo
    };
    let fetch = || {
        let mut mini = tools.mini_cargo(&full, &cache, &project.path);
        mini.args(["fetch", "--locked", "--offline"]);
        mini
    };
    output_of(&mut cargo("fetch", &["--locked"]))?;
    output_of(&mut cargo("build", &["--locked", "--offline"]))?;
    output_of(tools.mini_cargo(&full, &cache, &project.path).args([
        "cache",
        "import",
        "--offline",
    ]))?;
    output_of(&mut fetch())?;
    let offline = ["--locked", "--offline"];
    Paired::new(format!("{}: nothing to fetch or build", project.name))
        .settings(settings)
        .reference_command("cargo fetch", |_| Ok(cargo("fetch", &offline)))
        .case_command("cargo build", |_| Ok(cargo("build", &offline)))
        .case_command("mini-cargo fetch", |_| Ok(fetch()))
        .run()
}
