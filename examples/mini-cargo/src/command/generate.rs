//! `generate-lockfile` and `update`

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail};
use semver::Version;

use super::{Locking, Run};
use crate::cli::Update;
use crate::lock::{Id, Lock};
use crate::pins::{Pins, Precise};
use crate::project;
use crate::summary::Source;
use crate::workspace::Workspace;

pub(super) fn generate_lockfile(run: &Run) -> Result<()> {
    let workspace = run.workspace()?;
    let locking = Locking::new(run, &workspace)?;
    let pins = Pins::default();
    let solution = locking.resolve(&pins)?;
    let earlier = std::fs::read_to_string(workspace.lock_path()).ok();
    project::write_lock(&workspace, earlier.as_deref(), &solution.lock, run.locked_flag())?;
    locking.report(&solution).generated();
    Ok(())
}

pub(super) fn update(run: &Run, options: &Update) -> Result<()> {
    let workspace = run.workspace()?;
    let Some(earlier) = project::read_lock(&workspace)? else {
        if options.precise.is_none() {
            return generate_lockfile(run);
        }
        bail!(
            "there is no lock file to update\n\
             help: run `mini-cargo generate-lockfile` first, then `update --precise`"
        );
    };
    let (updated, precise) = selection(&earlier.lock, options)?;
    let updated = without_members(updated, &workspace);
    let locking = Locking::new(run, &workspace)?;
    let pins = Pins::new(&earlier.lock, &workspace, &updated, precise);
    let solution = locking.resolve(&pins)?;
    project::check_archives(&earlier.lock, &solution.lock)?;
    let report = locking.report(&solution);
    if options.output.is_json() {
        run.shell.result(report.to_json(&earlier.lock))?;
    } else {
        report.updated(&earlier.lock, options.precise.is_some());
    }
    if options.dry_run {
        run.shell.warn("not updating lockfile due to dry run");
        return Ok(());
    }
    project::rewrite_lock(&workspace, &earlier, &solution.lock, run.locked_flag())
}

/// The packages that may change, and the version that one of them is to have.
fn selection(lock: &Lock, options: &Update) -> Result<(HashSet<Id>, Option<Precise>)> {
    let mut updated = HashSet::new();
    let mut precise = None;
    if options.specs().next().is_none() && !options.workspace {
        updated.extend(lock.packages.iter().map(|package| package.id.clone()));
    }
    for spec in options.specs() {
        let at = find(lock, spec)?;
        let id = &lock.packages[at].id;
        if options.recursive {
            below(lock, at, &mut updated);
        }
        updated.insert(id.clone());
        if let Some(wanted) = &options.precise {
            let wanted = Version::parse(wanted).with_context(|| {
                format!("invalid version format for precise version `{wanted}`")
            })?;
            precise = Some(Precise { name: id.name, current: id.version.clone(), wanted });
        }
    }
    Ok((updated, precise))
}

/// `name` or `name@version`, which may leave out parts of the version.
fn find(lock: &Lock, spec: &str) -> Result<usize> {
    let (name, version) = match spec.split_once(['@', ':']) {
        Some((name, version)) => (name, Some(version)),
        None => (spec, None),
    };
    let fits = |id: &Id| {
        id.name.as_str() == name
            && version.is_none_or(|wanted| {
                let text = id.version.to_string();
                text == wanted
                    || text.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
            })
    };
    let found: Vec<_> =
        (0..lock.packages.len()).filter(|at| fits(&lock.packages[*at].id)).collect();
    match &found[..] {
        [only] => Ok(*only),
        [] => bail!(
            "package ID specification `{spec}` did not match any packages{}",
            near(lock, name)
        ),
        several => {
            let specs: Vec<_> = several
                .iter()
                .map(|at| &lock.packages[*at].id)
                .map(|id| format!("  {}@{}", id.name, id.version))
                .collect();
            bail!(
                "There are multiple `{name}` packages in your project, and the specification \
                 `{spec}` is ambiguous.\nPlease re-run this command with one of the following \
                 specifications:\n{}",
                specs.join("\n")
            )
        }
    }
}

fn near(lock: &Lock, name: &str) -> String {
    let alike = lock
        .packages
        .iter()
        .map(|package| package.id.name.as_str())
        .filter(|known| known.contains(name) || name.contains(known) || edits(known, name) <= 2)
        .min_by_key(|known| edits(known, name));
    alike
        .map(|known| format!("\nhelp: a package with a similar name exists: `{known}`"))
        .unwrap_or_default()
}

/// How many letters differ.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

fn below(lock: &Lock, at: usize, updated: &mut HashSet<Id>) {
    let package = &lock.packages[at];
    if updated.insert(package.id.clone()) {
        for at in &package.dependencies {
            below(lock, *at, updated);
        }
    }
}

/// Members are what they are; only what they depend on is updated.
fn without_members(mut updated: HashSet<Id>, workspace: &Workspace) -> HashSet<Id> {
    updated.retain(|id| !workspace.members.iter().any(|at| id.source == Source::Path(*at)));
    updated
}
