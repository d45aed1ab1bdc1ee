//! What to do about requirements that have no solution.
//!
//! The explanation (`explain.rs`) says why; what helps depends on the facts at the leaves of the proof:
//! a name that nobody knows is often misspelled, a version that does not exist has a neighbour that
//! does. Nothing is guessed here: no other package is named.

use std::collections::BTreeSet;

use pep440_rs::Version;
use pubgrub::{DerivationTree, External, Ranges};

use crate::catalog::Releases;
use crate::resolve::{Package, Problem};

/// One hint for each package whose absence is part of the proof, sorted.
pub(crate) fn hints(
    problem: &Problem<'_>,
    tree: &DerivationTree<Package, Ranges<Version>, String>,
) -> BTreeSet<String> {
    match tree {
        DerivationTree::Derived(derived) => {
            let mut all = hints(problem, &derived.cause1);
            all.extend(hints(problem, &derived.cause2));
            all
        }
        DerivationTree::External(External::NoVersions(package, range)) => {
            hint(problem, package, range).into_iter().collect()
        }
        DerivationTree::External(_) => BTreeSet::new(),
    }
}

/// What to do when no version of `package` in `range` can be used.
fn hint(problem: &Problem<'_>, package: &Package, range: &Ranges<Version>) -> Option<String> {
    let name = package.name()?;
    let releases = problem.catalog.releases(name).ok()?;
    let Some(newest) = newest(&releases) else {
        return Some(format!(
            "check how `{name}` is spelled, or say where else it is with `--extra-index-url` or `--find-links`"
        ));
    };
    let excluded = problem.rules.excluded(name, &releases, range);
    match excluded.iter().find(|(_, reason)| reason.contains("source distribution")) {
        Some((version, _)) => Some(format!(
            "build a wheel with `pip wheel --no-deps {name}=={version}` and name its folder with `--find-links`"
        )),
        None if excluded.is_empty() => Some(format!("the newest version of {name} is {newest}")),
        None => None,
    }
}

/// The newest release, if there is any; pre-releases count where there is nothing else.
fn newest(releases: &Releases) -> Option<&Version> {
    let mut versions = releases.by_version.keys();
    let final_one = versions.clone().rfind(|version| !version.any_prerelease());
    final_one.or_else(|| versions.next_back())
}
