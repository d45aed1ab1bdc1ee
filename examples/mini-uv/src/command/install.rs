//! `pip install`: what is wanted, what is there, what has to change.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};

use super::Tool;
use crate::cli::Install;
use crate::dist::{Chosen, Dist, Location};
use crate::environment::Environment;
use crate::fault::Advise;
use crate::install::Installation;
use crate::installed::{self, Installed};
use crate::lock::Lock;
use crate::platform::Platform;
use crate::tags::{self, Tags};
use crate::transaction;
use crate::ui::Change;
use crate::wheel_name::WheelName;

pub(super) fn run(tool: &Tool, options: &Install) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let environment = tool.environment_or_target(&options.location, options.target.as_deref())?;
    environment.ensure_writable(options.break_system_packages)?;
    fs_err::create_dir_all(&environment.roots.purelib)?;
    let _lock = Lock::acquire(&environment.lock, tool.ui, "this environment")?;
    transaction::recover(&environment.roots.purelib)?;
    let chosen = choose(&environment, options)?;
    tool.ui.done("Resolved", chosen.len(), started);
    let installed = installed::scan(&environment.roots)?;
    let replaced: Vec<Installed> = installed
        .into_iter()
        .filter(|package| chosen.iter().any(|chosen| chosen.dist.wheel.name == package.name))
        .collect();
    let installation = Installation {
        environment: &environment,
        cache: tool.cache()?,
        ui: tool.ui,
        chosen: &chosen,
        replaced: &replaced,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
    };
    installation.run()?;
    print_changes(tool, &chosen, &replaced);
    Ok(ExitCode::SUCCESS)
}

fn print_changes(tool: &Tool, chosen: &[Chosen], replaced: &[Installed]) {
    let mut changes: Vec<(String, Change, String)> = Vec::new();
    for package in replaced {
        changes.push((package.name.to_string(), Change::Removed, package.version.to_string()));
    }
    for chosen in chosen {
        let wheel = &chosen.dist.wheel;
        changes.push((wheel.name.to_string(), Change::Added, wheel.version.to_string()));
    }
    changes.sort();
    for (name, change, version) in changes {
        tool.ui.change(change, &name, &version);
    }
}

fn choose(environment: &Environment, options: &Install) -> anyhow::Result<Vec<Chosen>> {
    let platform = options.python_platform.as_deref().map(Platform::parse).transpose()?;
    let interpreter = &environment.interpreter;
    let platforms =
        platform.map_or_else(|| tags::own_platforms(interpreter), |platform| platform.tags);
    let tags = Tags::of(interpreter, &platforms);
    options.packages.iter().map(|text| choose_one(text, &tags)).collect()
}

fn choose_one(text: &str, tags: &Tags) -> anyhow::Result<Chosen> {
    let path = PathBuf::from(text);
    if path.extension().is_none_or(|extension| extension != "whl") {
        bail!("`{text}` is not a wheel file");
    }
    let wheel = named(&path)?;
    ensure_fits(&wheel, &path, tags)?;
    let url = url::Url::from_file_path(std::path::absolute(&path)?).ok();
    Ok(Chosen {
        dist: Dist::direct(wheel, Location::File(path)),
        requested: true,
        direct_url: url.map(String::from),
        allowed: Vec::new(),
    })
}

fn named(path: &Path) -> anyhow::Result<WheelName> {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    file.parse().with_context(|| format!("`{}` is not a wheel", path.display()))
}

fn ensure_fits(wheel: &WheelName, path: &Path, tags: &Tags) -> anyhow::Result<()> {
    if tags.rank(wheel).is_some() {
        return Ok(());
    }
    Err(anyhow::anyhow!("the wheel `{}` does not fit this interpreter", path.display())).hint(
        format!(
            "the wheel is compatible with {}, you're on {}; see `--python-platform`",
            wheel.tag_text(),
            tags.best()
        ),
    )
}
