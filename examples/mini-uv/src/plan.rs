//! Compares what was resolved with what is installed: what comes, what goes, what stays.

use std::collections::BTreeMap;

use pep440_rs::Version;
use pep508_rs::PackageName;

use crate::catalog::Catalog;
use crate::dist::{Chosen, Location};
use crate::environment::Roots;
use crate::installed::Installed;
use crate::request::Request;
use crate::select::Rules;

/// The changes that make an environment satisfy the requests.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) replaced: Vec<Installed>,
    /// How many packages are right already.
    pub(crate) satisfied: usize,
}

impl Plan {
    pub(crate) fn is_empty(&self) -> bool {
        self.chosen.is_empty() && self.replaced.is_empty()
    }
}

/// Decides what to do for each resolved package.
pub(crate) fn plan(
    versions: &BTreeMap<PackageName, Version>,
    requests: &[Request],
    rules: &Rules,
    catalog: &dyn Catalog,
    installed: &[Installed],
    reinstall: bool,
) -> anyhow::Result<Plan> {
    let mut plan = Plan::default();
    for (name, version) in versions {
        let request = requests.iter().find(|request| request.name == *name);
        let present: Vec<&Installed> =
            installed.iter().filter(|package| package.name == *name).collect();
        if !reinstall && is_satisfied(&present, version, request) {
            plan.satisfied += 1;
            continue;
        }
        plan.chosen.push(choose(name, version, request, rules, catalog)?);
        plan.replaced.extend(present.into_iter().cloned());
    }
    Ok(plan)
}

/// True when exactly this version is there, and from where it was asked for.
fn is_satisfied(present: &[&Installed], version: &Version, request: Option<&Request>) -> bool {
    let [package] = present else { return false };
    package.version == *version
        && match request.and_then(|request| request.direct.as_ref()) {
            None => true,
            Some(direct) => {
                package.direct_url().as_deref() == Some(&*direct.url)
                    && is_current(package, &direct.dist.location)
            }
        }
}

/// True unless the wheel file is newer than the installation of it.
fn is_current(package: &Installed, location: &Location) -> bool {
    let Location::File(path) = location else { return true };
    let modified =
        |path: &std::path::Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    match (modified(path), modified(&package.dist_info.join("RECORD"))) {
        (Some(wheel), Some(record)) => wheel < record,
        _ => false,
    }
}

fn choose(
    name: &PackageName,
    version: &Version,
    request: Option<&Request>,
    rules: &Rules,
    catalog: &dyn Catalog,
) -> anyhow::Result<Chosen> {
    let releases = catalog.releases(name)?;
    let release = releases.by_version.get(version);
    let best = release.and_then(|release| rules.best(name, version, release).ok());
    let dist = best.ok_or_else(|| anyhow::anyhow!("{name}=={version} is gone"))?;
    Ok(Chosen {
        allowed: rules.allowed(name, dist),
        dist: dist.clone(),
        requested: request.is_some(),
        direct_url: request
            .and_then(|request| request.direct.as_ref())
            .map(|direct| direct.url.clone()),
    })
}

/// Every installed package but those that may not stay.
pub(crate) fn may_stay(
    roots: &Roots,
    requests: &[Request],
    upgrade: bool,
    reinstall: bool,
) -> anyhow::Result<Vec<Installed>> {
    let mut installed = crate::installed::scan(roots)?;
    installed.retain(|package| {
        let direct =
            requests.iter().any(|request| request.name == package.name && request.direct.is_some());
        !reinstall && !direct && !upgrade
    });
    Ok(installed)
}
