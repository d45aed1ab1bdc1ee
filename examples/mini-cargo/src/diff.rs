//! What changed from one lock to the next, told as cargo tells it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use semver::{Comparator, Op, Version, VersionReq};
use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::lock::{Id, Lock};
use crate::name::Name;
use crate::rust_version::RustVersion;
use crate::shell::Shell;
use crate::summary::Source;

/// A package that is new, gone, or has another version.
#[derive(Debug, PartialEq, Eq)]
enum Change<'a> {
    Added(&'a Id),
    Removed(&'a Id),
    Updated { from: &'a Id, to: &'a Id },
    Unchanged(&'a Id),
}

/// What one name had and has.
type Sides<'a> = (BTreeSet<&'a Id>, BTreeSet<&'a Id>);

/// Pairs up what is gone and what is new of one name: one of each is an update.
fn compare<'a>(earlier: &'a Lock, later: &'a Lock) -> Vec<Change<'a>> {
    let mut by_name: BTreeMap<(Name, Source), Sides<'_>> = BTreeMap::new();
    for package in &earlier.packages {
        by_name.entry(group(&package.id)).or_default().0.insert(&package.id);
    }
    for package in &later.packages {
        by_name.entry(group(&package.id)).or_default().1.insert(&package.id);
    }
    let mut changes = Vec::new();
    for (old, new) in by_name.values() {
        let removed: Vec<_> = old.difference(new).copied().collect();
        let added: Vec<_> = new.difference(old).copied().collect();
        if let ([from], [to]) = (&removed[..], &added[..]) {
            changes.push(Change::Updated { from, to });
        } else {
            changes.extend(removed.into_iter().map(Change::Removed));
            changes.extend(added.into_iter().map(Change::Added));
        }
        changes.extend(old.intersection(new).copied().map(Change::Unchanged));
    }
    changes
}

/// Packages on disk keep their identity when their version changes.
fn group(id: &Id) -> (Name, Source) {
    (id.name, id.source)
}

/// Prints changes.
pub(crate) struct Report<'a, 'c> {
    shell: Shell,
    catalog: &'a Catalog<'c>,
    later: &'a Lock,
    members: HashSet<Source>,
    direct: HashSet<&'a Id>,
    /// What "latest" is measured by, when the resolver minds toolchains.
    rust: Option<RustVersion>,
}

impl<'a, 'c> Report<'a, 'c> {
    pub(crate) fn new(
        shell: Shell,
        catalog: &'a Catalog<'c>,
        later: &'a Lock,
        rust_versions: &[RustVersion],
    ) -> Self {
        let members: HashSet<_> =
            catalog.workspace().members.iter().map(|at| Source::Path(*at)).collect();
        let of_members = later.packages.iter().filter(|p| members.contains(&p.id.source));
        let direct = of_members.flat_map(|p| later.dependencies(p)).map(|dep| &dep.id).collect();
        let rust = rust_versions.iter().min().copied();
        Self { shell, catalog, later, members, direct, rust }
    }

    /// After `generate-lockfile`: only versions that are not the latest are listed.
    pub(crate) fn generated(&self) {
        let ids = self.later.packages.iter().map(|package| &package.id);
        let new: Vec<_> = ids.filter(|id| !self.members.contains(&id.source)).collect();
        if new.is_empty() {
            return;
        }
        self.locking(new.len());
        for id in new {
            if let Some(note) = self.latest(id) {
                self.shell.status("Adding", format_args!("{}{note}", display(id)));
            }
        }
    }

    /// After a change of manifests or `update`: everything that changed is listed.
    pub(crate) fn updated(&self, earlier: &'a Lock, precise: bool) {
        let changes = compare(earlier, self.later);
        if !precise {
            self.locking(changes.iter().filter(|change| is_new(change)).count());
        }
        let mut behind = 0;
        for change in &changes {
            behind += usize::from(self.tell(change));
        }
        if behind > 0 && !self.shell.is_verbose() {
            self.shell.note(format_args!(
                "pass `--verbose` to see {behind} unchanged dependencies behind latest"
            ));
        }
    }

    /// Every change, for programs.
    pub(crate) fn to_json(&self, earlier: &'a Lock) -> Value {
        let change = |kind: &str, from: Option<&Id>, to: Option<&Id>| {
            let name = from.or(to).map(|id| id.name.as_str());
            let version = |id: Option<&Id>| id.map(|id| id.version.to_string());
            json!({"change": kind, "name": name, "from": version(from), "to": version(to)})
        };
        let changes = compare(earlier, self.later).into_iter().filter_map(|one| match one {
            Change::Added(id) => Some(change("added", None, Some(id))),
            Change::Removed(id) => Some(change("removed", Some(id), None)),
            Change::Updated { from, to } => {
                let down = from.version.cmp_precedence(&to.version).is_gt();
                Some(change(if down { "downgraded" } else { "updated" }, Some(from), Some(to)))
            }
            Change::Unchanged(_) => None,
        });
        json!({"changes": changes.collect::<Value>()})
    }

    /// After a command that keeps the lock as far as it can; silent when nothing changed.
    pub(crate) fn synced(&self, earlier: &'a Lock) {
        let changes = compare(earlier, self.later);
        let new = changes.iter().filter(|change| is_new(change)).count();
        if new == 0 {
            return;
        }
        self.locking(new);
        for change in changes.iter().filter(|change| is_new(change)) {
            self.tell(change);
        }
    }

    /// Prints one change; true when it is a package that stays behind its latest version.
    fn tell(&self, change: &Change<'_>) -> bool {
        let note = |id| self.latest(id).unwrap_or_default();
        match change {
            Change::Added(id) => {
                self.shell.status("Adding", format_args!("{}{}", display(id), note(id)));
            }
            Change::Removed(id) => self.shell.status_removed("Removing", display(id)),
            Change::Updated { from, to } => {
                let line = format!("{} -> v{}{}", display(from), to.version, note(to));
                if from.version.cmp_precedence(&to.version).is_gt() {
                    self.shell.status_aside("Downgrading", line);
                } else {
                    self.shell.status("Updating", line);
                }
            }
            Change::Unchanged(id) => {
                let Some(note) = self.latest(id) else { return false };
                if self.shell.is_verbose() {
                    self.shell.status_aside("Unchanged", format_args!("{}{note}", display(id)));
                }
                return true;
            }
        }
        false
    }

    fn locking(&self, count: usize) {
        let s = if count == 1 { "" } else { "s" };
        let rust = self.rust.map(|rust| format!(" Rust {rust}")).unwrap_or_default();
        let line = format!("{count} package{s} to latest{rust} compatible version{s}");
        self.shell.status("Locking", line);
    }

    /// ` (available: v2.0.0)` when a later version could be had.
    fn latest(&self, id: &Id) -> Option<String> {
        if id.source != Source::Registry {
            return None;
        }
        let caret = caret(&id.version);
        let all = self.catalog.registry_packages(id.name).ok()?;
        let versions = all.into_iter().map(|at| self.catalog.package(at));
        let usable = versions.filter(|p| !p.flags.yanked() && !p.flags.unusable());
        let newest = usable
            .filter(|p| self.rust.is_none_or(|rust| p.flags.builds_with(rust).unwrap_or(false)))
            .map(|p| p.version.clone())
            .filter(|version| {
                let compatible = *version != id.version && caret.matches(version);
                compatible || self.direct.contains(id) && is_later(version, &id.version)
            })
            .max()?;
        Some(format!(" (available: v{newest})"))
    }
}

fn is_new(change: &Change<'_>) -> bool {
    matches!(change, Change::Added(_) | Change::Updated { .. })
}

fn is_later(candidate: &Version, current: &Version) -> bool {
    let release = |version: &Version| (version.major, version.minor, version.patch);
    current < candidate && (candidate.pre.is_empty() || release(candidate) == release(current))
}

fn caret(version: &Version) -> VersionReq {
    let comparator = Comparator {
        op: Op::Caret,
        major: version.major,
        minor: Some(version.minor),
        patch: Some(version.patch),
        pre: version.pre.clone(),
    };
    VersionReq { comparators: vec![comparator] }
}

fn display(id: &Id) -> String {
    format!("{} v{}", id.name, id.version)
}
