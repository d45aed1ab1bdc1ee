//! What an earlier lock file still decides.
//!
//! Updates are conservative: a package that was locked stays where it was unless it is to be
//! updated or its manifest no longer agrees. Two strengths: a *preferred* version is tried first, a
//! *pinned* dependency accepts nothing else. What is updated unpins everything below it, because
//! its new version may need newer dependencies.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use semver::Version;

use crate::catalog::Package;
use crate::lock::{Id, Lock, Locked};
use crate::name::Name;
use crate::summary::{Dep, Req, Source, Summary};
use crate::workspace::Workspace;

/// The influence of an earlier lock on one resolution.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    preferred: HashMap<Name, HashSet<(Version, Source)>>,
    pinned: HashMap<(Name, Source), Vec<Pinned>>,
    precise: Option<Precise>,
}

/// A package that stays, with those of its dependencies that stay.
#[derive(Debug)]
struct Pinned {
    id: Id,
    dependencies: Vec<Id>,
}

/// `update -p name --precise wanted`
#[derive(Clone, Debug)]
pub(crate) struct Precise {
    pub(crate) name: Name,
    pub(crate) current: Version,
    pub(crate) wanted: Version,
}

impl Pins {
    /// Keeps what `earlier` locked, except the packages in `updated`.
    pub(crate) fn new(
        earlier: &Lock,
        workspace: &Workspace,
        updated: &HashSet<Id>,
        precise: Option<Precise>,
    ) -> Self {
        let mut pins = Self { precise, ..Self::default() };
        for package in earlier.packages.iter().filter(|package| !updated.contains(&package.id)) {
            let Id { name, version, source } = package.id.clone();
            pins.preferred.entry(name).or_default().insert((version, source));
        }
        let loose = Loose::new(earlier, workspace, updated);
        for package in earlier.packages.iter().filter(|package| !loose.0.contains(&package.id)) {
            let stays = |dep: &&Locked| !loose.0.contains(&dep.id);
            let dependencies = earlier.dependencies(package).filter(stays);
            let dependencies = dependencies.map(|dep| dep.id.clone()).collect();
            let key = (package.id.name, package.id.source);
            let pinned = Pinned { id: package.id.clone(), dependencies };
            pins.pinned.entry(key).or_default().push(pinned);
        }
        pins
    }

    /// Whether the earlier lock file has this very package.
    pub(crate) fn prefers(&self, package: &Package) -> bool {
        self.preferred
            .get(&package.name)
            .is_some_and(|known| known.contains(&(package.version.clone(), package.source)))
    }

    /// The one version that `dep` may use, when the user asked for it.
    pub(crate) fn precise(&self, dep: &Dep) -> Option<&Version> {
        let precise = self.precise.as_ref()?;
        (dep.name == precise.name && dep.req.matches(&precise.current)).then_some(&precise.wanted)
    }

    /// Pins the dependencies of `summary`.
    pub(crate) fn apply(&self, mut summary: Summary, workspace: &Workspace) -> Summary {
        if self.pinned.is_empty() {
            return summary;
        }
        let own = self.pinned.get(&(summary.name, summary.source));
        let own = own.and_then(|all| all.iter().find(|one| one.id.version == summary.version));
        for dep in &mut summary.deps {
            let of_own =
                own.and_then(|own| own.dependencies.iter().find(|id| is_meant(dep, id, workspace)));
            if let Some(id) = of_own.or_else(|| self.pinned_anywhere(dep)) {
                *dep = Rc::new(pin(dep, &id.version));
            }
        }
        summary
    }

    fn pinned_anywhere(&self, dep: &Dep) -> Option<&Id> {
        let all = self.pinned.get(&(dep.name, dep.source))?;
        all.iter().map(|one| &one.id).find(|id| dep.accepts(id.name, &id.version))
    }
}

fn pin(dep: &Dep, version: &Version) -> Dep {
    let req = Req::Locked(version.clone(), dep.req.range());
    Dep { req, ..dep.clone() }
}

/// Whether `id` is from the source that `dep` names, or patches it.
fn is_meant(dep: &Dep, id: &Id, workspace: &Workspace) -> bool {
    let patches = |folder| workspace.patches.iter().any(|patch| patch.folder == folder);
    let from = match id.source {
        Source::Path(folder) if dep.source == Source::Registry => patches(folder),
        source => source == dep.source,
    };
    from && dep.accepts(id.name, &id.version)
}

/// The packages that are not pinned.
struct Loose(HashSet<Id>);

impl Loose {
    fn new(earlier: &Lock, workspace: &Workspace, updated: &HashSet<Id>) -> Self {
        let mut loose = Self(HashSet::new());
        for package in earlier.packages.iter().filter(|package| updated.contains(&package.id)) {
            loose.add(earlier, package);
        }
        for dep in changed_dependencies(earlier, workspace) {
            for package in earlier.packages.iter().filter(|p| p.id.source == dep.source) {
                loose.add(earlier, package);
            }
        }
        for package in &earlier.packages {
            if is_other_version(package, workspace) {
                loose.0.insert(package.id.clone());
            }
        }
        loose
    }

    /// Loosens a package and everything below it.
    fn add(&mut self, earlier: &Lock, package: &Locked) {
        if self.0.insert(package.id.clone()) {
            for dep in earlier.dependencies(package) {
                self.add(earlier, dep);
            }
        }
    }
}

/// A package on disk whose manifest has another version by now.
fn is_other_version(package: &Locked, workspace: &Workspace) -> bool {
    let Source::Path(folder) = package.id.source else { return false };
    workspace.summary(folder).is_some_and(|now| now.version != package.id.version)
}

/// Dependencies in manifests on disk that nothing in the lock file satisfies.
fn changed_dependencies(earlier: &Lock, workspace: &Workspace) -> Vec<Rc<Dep>> {
    let mut changed = Vec::new();
    let mut seen = HashSet::new();
    let mut folders: Vec<u32> = workspace.members.clone();
    while let Some(folder) = folders.pop() {
        let Some(summary) = workspace.summary(folder).filter(|_| seen.insert(folder)) else {
            continue;
        };
        let member = workspace.members.contains(&folder);
        for dep in summary.deps.iter().filter(|dep| member || !dep.optional) {
            if let Source::Path(below) = dep.source {
                folders.push(below);
            } else if !earlier.packages.iter().any(|p| dep.accepts(p.id.name, &p.id.version)) {
                changed.push(Rc::clone(dep));
            }
        }
    }
    changed
}
