//! `pip uninstall`.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use pep508_rs::PackageName;

use super::Tool;
use crate::cli::Uninstall;
use crate::environment::Environment;
use crate::installed::{self, Installed};
use crate::lock::Lock;
use crate::requirements_txt::Requirements;
use crate::transaction::{self, Transaction};
use crate::ui::Change;
use crate::uninstall;

pub(super) fn run(tool: &Tool, options: &Uninstall) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let environment = tool.environment_or_target(&options.location, options.target.as_deref())?;
    environment.ensure_writable(options.break_system_packages)?;
    let _lock = Lock::acquire(&environment.lock, tool.ui, "this environment")?;
    transaction::recover(&environment.roots.purelib)?;
    let names = names(options)?;
    let packages = select(tool, &environment, &names)?;
    if packages.is_empty() {
        tool.ui.warn("no packages to uninstall");
        return Ok(ExitCode::SUCCESS);
    }
    if options.dry_run {
        tool.ui.status(format!("Would uninstall {}", crate::ui::packages(packages.len())));
    } else {
        remove(&environment, &packages)?;
        tool.ui.done("Uninstalled", packages.len(), started);
    }
    for package in &packages {
        tool.ui.change(Change::Removed, package.name.as_ref(), &package.version.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

/// The packages on the command line and those that the files list.
fn names(options: &Uninstall) -> anyhow::Result<Vec<PackageName>> {
    let paths_from = std::env::current_dir().context("failed to find the current folder")?;
    let mut listed = Requirements { paths_from, ..Requirements::default() };
    for file in &options.requirements {
        listed.read(file)?;
    }
    let typed = options.packages.iter().map(|text| name(text));
    typed.chain(listed.requests.into_iter().map(|request| Ok(request.name))).collect()
}

/// The name of a requirement; its version does not matter here.
fn name(text: &str) -> anyhow::Result<PackageName> {
    let requirement: pep508_rs::Requirement =
        text.parse().with_context(|| format!("`{text}` is not a package name"))?;
    Ok(requirement.name)
}

/// The named packages that are installed; a warning for each that is not.
fn select(
    tool: &Tool,
    environment: &Environment,
    names: &[PackageName],
) -> anyhow::Result<Vec<Installed>> {
    let mut installed = installed::scan(&environment.roots)?;
    for name in names.iter().filter(|name| !installed.iter().any(|package| package.name == **name))
    {
        tool.ui.warn(format!("skipping {name} as it is not installed"));
    }
    installed.retain(|package| names.contains(&package.name));
    Ok(installed)
}

fn remove(environment: &Environment, packages: &[Installed]) -> anyhow::Result<()> {
    let mut transaction = Transaction::begin(&environment.roots.purelib)?;
    for package in packages {
        uninstall::remove(package, &environment.roots, &mut transaction)?;
    }
    transaction.commit()
}
