//! What to tell the user when there is no solution, in cargo's words.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write as _;
use std::rc::Rc;

use anyhow::{Result, anyhow, bail};

use super::conflict::Reason;
use super::context::Context;
use super::{Job, Resolved};
use crate::catalog::{Catalog, PackageId};
use crate::summary::{Dep, Kind, Source, Summary};

/// `name v1.2.3`, with the folder of a package on disk.
pub(super) fn display(catalog: &Catalog<'_>, summary: &Summary) -> String {
    let folder = match summary.source {
        Source::Registry => String::new(),
        Source::Path(folder) => {
            format!(" ({})", catalog.workspace().folders[folder as usize].dir.display())
        }
    };
    format!("package `{} v{}{folder}`", summary.name, summary.version)
}

fn display_id(catalog: &Catalog<'_>, id: PackageId) -> String {
    catalog.summary(id).map(|summary| display(catalog, &summary)).unwrap_or_default()
}

/// Two members cannot both be in one graph.
pub(super) fn collision(catalog: &Catalog<'_>, id: PackageId, other: PackageId) -> anyhow::Error {
    let (id, other) = (display_id(catalog, id), display_id(catalog, other));
    anyhow!(
        "package collision in the lockfile: {id} and {other} are different, \
         but only one can be written to lockfile unambiguously"
    )
}

/// The error for a dependency without a usable candidate.
pub(super) fn failure(
    catalog: &Catalog<'_>,
    context: &Context,
    job: &Job,
) -> Result<anyhow::Error> {
    let text = if job.want.candidates.is_empty() {
        no_candidate(catalog, context, job)?
    } else {
        all_excluded(catalog, context, job)?
    };
    Ok(anyhow!(text))
}

fn all_excluded(catalog: &Catalog<'_>, context: &Context, job: &Job) -> Result<String> {
    let dep = &job.want.dep;
    let versions: Vec<_> =
        job.want.candidates.iter().map(|id| catalog.package(*id).version.to_string()).collect();
    let mut text = format!(
        "failed to select a version for `{}`.\n    ... required by {}\n\
         versions that meet the requirements `{}` {}are: {}",
        dep.name,
        path_to_root(catalog, context, job.parent),
        dep.req,
        dep.req.locked_note(),
        versions.join(", ")
    );
    let mut conflicts: Vec<_> = job.conflicts.iter().collect();
    conflicts.sort_by_key(|(id, reason)| {
        let package = catalog.package(*id);
        (package.name, package.version.clone(), *reason)
    });
    conflicts.reverse();
    for (id, reason) in &conflicts {
        describe_conflict(catalog, context, job, (*id, *reason), &mut text)?;
    }
    let ranges: Vec<_> = conflicts.iter().filter(|(_, r)| *r == Reason::Range).collect();
    if !ranges.is_empty() {
        text.push_str("\n\nall possible versions conflict with previously selected packages");
        for (id, _) in ranges {
            write!(text, "\n\n  previously selected {}", path_to_root(catalog, context, *id))?;
        }
    }
    write!(
        text,
        "\n\nfailed to select a version for `{}` which could resolve this conflict",
        dep.name
    )?;
    Ok(text)
}

fn describe_conflict(
    catalog: &Catalog<'_>,
    context: &Context,
    job: &Job,
    (id, reason): (PackageId, Reason),
    text: &mut String,
) -> Result<()> {
    let dep = job.want.dep.name;
    match reason {
        Reason::Range => {}
        Reason::Links(links) => write!(
            text,
            "\n\npackage `{dep}` links to the native library `{links}`, but it conflicts with a \
             previous package which links to `{links}` as well:\n{}\n\
             note: only one package in the dependency graph may specify the same links value to \
             ensure that only one copy of a native library is linked in the final binary\n\
             help: try to adjust your dependencies so that only one package uses the \
             `links = \"{links}\"` value",
            path_to_root(catalog, context, id)
        )?,
        Reason::MissingFeature(feature)
        | Reason::RequiredDependency(feature)
        | Reason::HiddenDependency(feature) => {
            write!(
                text,
                "\n\npackage `{}` depends on `{dep}` with feature `{feature}` but `{dep}` does \
                 not have that feature.\n",
                catalog.package(id).name
            )?;
            text.push_str(&feature_hint(catalog, job, reason)?);
        }
    }
    Ok(())
}

fn feature_hint(catalog: &Catalog<'_>, job: &Job, reason: Reason) -> Result<String> {
    Ok(match reason {
        Reason::RequiredDependency(_) => "note: a required dependency with that name exists, but \
            only optional dependencies can be used as features.\n"
            .to_owned(),
        Reason::HiddenDependency(_) => "note: an optional dependency with that name exists, but \
            that dependency uses the \"dep:\" syntax in the features table, so it does not have an \
            implicit feature with that name.\n"
            .to_owned(),
        _ => match job.want.candidates.last() {
            None => String::new(),
            Some(id) => {
                let summary = catalog.summary(*id)?;
                let names: Vec<_> = summary.features.keys().map(|name| name.as_str()).collect();
                if names.is_empty() {
                    String::new()
                } else {
                    format!("help: available features: {}\n", names.join(", "))
                }
            }
        },
    })
}

fn no_candidate(catalog: &Catalog<'_>, context: &Context, job: &Job) -> Result<String> {
    let dep = &job.want.dep;
    let mut text = match rejected(catalog, dep)? {
        Some(text) => text,
        None => match alternatives(catalog, dep)? {
            Some(text) => text,
            None => format!("no matching package named `{}` found\n", dep.name),
        },
    };
    let location = match dep.source {
        Source::Registry => registry_name(),
        Source::Path(folder) => {
            catalog.workspace().folders[folder as usize].dir.display().to_string()
        }
    };
    write!(
        text,
        "location searched: {location}\nrequired by {}",
        path_to_root(catalog, context, job.parent)
    )?;
    if let Some(similar) = catalog.similar(dep.name)? {
        write!(text, "\nhelp: packages with similar names: {similar}")?;
    }
    Ok(text)
}

/// What cargo calls the default registry: the last part of its identity.
fn registry_name() -> String {
    let identity = tame_index::CRATES_IO_INDEX;
    identity.rsplit('/').next().unwrap_or(identity).replace('-', " ")
}

fn selection(dep: &Dep) -> String {
    let note = dep.req.locked_note();
    let note = note.trim_end();
    let space = if note.is_empty() { "" } else { " " };
    format!(
        "failed to select a version for the requirement `{} = \"{}\"`{space}{note}\n",
        dep.name, dep.req
    )
}

/// Versions that match but may not be used.
fn rejected(catalog: &Catalog<'_>, dep: &Dep) -> Result<Option<String>> {
    if dep.source != Source::Registry {
        return Ok(None);
    }
    let mut packages = catalog.rejected(dep.name, &dep.req.range())?;
    packages.retain(|package| dep.req.matches(&package.version));
    if packages.is_empty() {
        return Ok(None);
    }
    let mut text = selection(dep);
    for package in packages {
        let version = &package.version;
        let why = match (package.flags.unusable(), package.flags.yanked()) {
            (true, _) => "cannot be understood by this version of mini-cargo",
            (_, true) => "is yanked",
            _ => "is unavailable",
        };
        writeln!(text, "  version {version} {why}")?;
    }
    Ok(Some(text))
}

/// Versions that exist but do not match.
fn alternatives(catalog: &Catalog<'_>, dep: &Dep) -> Result<Option<String>> {
    let ids = match dep.source {
        Source::Registry => catalog.registry_packages(dep.name)?,
        Source::Path(folder) => catalog.folder(folder).into_iter().collect(),
    };
    let mut packages: Vec<_> = ids.into_iter().map(|id| catalog.package(id)).collect();
    packages.retain(|p| p.name == dep.name && !p.flags.yanked() && !p.flags.unusable());
    if let Some(wanted) = catalog.precise(dep) {
        packages.retain(|package| package.version == *wanted);
    }
    if packages.is_empty() {
        return Ok(None);
    }
    packages.sort_by(|a, b| b.version.cmp(&a.version));
    let mut shown: Vec<_> = packages.iter().take(3).map(|p| p.version.to_string()).collect();
    if packages.len() > 3 {
        shown.push("...".to_owned());
    }
    let shown = shown.join(", ");
    Ok(Some(format!("{}candidate versions found which didn't match: {shown}\n", selection(dep))))
}

/// The shortest chain of dependencies from `id` up to a member.
fn path_to_root(catalog: &Catalog<'_>, context: &Context, id: PackageId) -> String {
    let mut back: HashMap<PackageId, (PackageId, Rc<Dep>)> = HashMap::new();
    let mut queue = VecDeque::from([id]);
    let mut last = id;
    while let Some(at) = queue.pop_front() {
        last = at;
        let above = context.requirers(at);
        if above.is_empty() {
            break;
        }
        for (parent, dep) in above {
            if parent != id && !back.contains_key(&parent) {
                back.insert(parent, (at, dep));
                queue.push_back(parent);
            }
        }
    }
    let mut steps = Vec::new();
    while let Some((below, dep)) = back.get(&last) {
        steps.push((last, dep));
        last = *below;
    }
    let mut text = display_id(catalog, id);
    for (parent, dep) in steps.into_iter().rev() {
        text.push_str(&satisfies(catalog, dep, parent));
    }
    text
}

fn satisfies(catalog: &Catalog<'_>, dep: &Dep, parent: PackageId) -> String {
    let what = match dep.source {
        Source::Path(_) => format!("path dependency `{}`", dep.key),
        Source::Registry => format!("dependency `{} = \"{}\"`", dep.key, dep.req),
    };
    let locked = dep.req.locked_note();
    let parent = display_id(catalog, parent);
    format!("\n    ... which satisfies {what} {locked}of {parent}")
}

/// A package may depend on itself through dev-dependencies only.
pub(super) fn refuse_cycles(catalog: &Catalog<'_>, resolved: &Resolved) -> Result<()> {
    let mut walk = Cycles { resolved, done: HashSet::new(), path: Vec::new() };
    for id in resolved.graph.keys() {
        if let Some(cycle) = walk.visit(*id) {
            let start = catalog.package(*id);
            let chain: Vec<_> = cycle.iter().map(|id| display_id(catalog, *id)).collect();
            bail!(
                "cyclic package dependency: package `{} v{}` depends on itself. Cycle:\n{}",
                start.name,
                start.version,
                chain.join("\n    ... which is depended on by ")
            );
        }
    }
    Ok(())
}

struct Cycles<'a> {
    resolved: &'a Resolved,
    done: HashSet<PackageId>,
    path: Vec<PackageId>,
}

impl Cycles<'_> {
    fn visit(&mut self, id: PackageId) -> Option<Vec<PackageId>> {
        if let Some(start) = self.path.iter().position(|known| *known == id) {
            return Some(self.path[start..].to_vec());
        }
        if !self.done.insert(id) {
            return None;
        }
        self.path.push(id);
        for edge in self.resolved.graph.get(&id).into_iter().flatten() {
            if edge.dep.kind != Kind::Dev
                && let Some(cycle) = self.visit(edge.to)
            {
                return Some(cycle);
            }
        }
        self.path.pop();
        None
    }
}
