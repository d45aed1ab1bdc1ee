//! Finds one version of every package that is needed, so that all requirements hold.
//!
//! The search is pubgrub's; this file says what a package is to it. `name[extra]` is a package of its
//! own that depends on the same version of `name`, so that an extra can be asked for by one package
//! and not by another. Markers are decided for the environment at hand before the search sees them.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

use anyhow::Context;
use pep440_rs::Version;
use pep508_rs::{ExtraName, MarkerEnvironment, PackageName, Requirement, VersionOrUrl};
use pubgrub::{
    Dependencies, DependencyProvider, PackageResolutionStatistics, PubGrubError, Ranges,
};

use crate::catalog::Catalog;
use crate::explain::{self, Explanation};
use crate::fault::Advise;
use crate::ranges;
use crate::request::Request;
use crate::select::Rules;

/// What the search decides about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Package {
    /// The user's requirements.
    Root,
    Base(PackageName),
    Extra(PackageName, ExtraName),
}

impl Package {
    pub(crate) fn name(&self) -> Option<&PackageName> {
        match self {
            Self::Root => None,
            Self::Base(name) | Self::Extra(name, _) => Some(name),
        }
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => write!(f, "you"),
            Self::Base(name) => write!(f, "{name}"),
            Self::Extra(name, extra) => write!(f, "{name}[{extra}]"),
        }
    }
}

/// What is to be solved.
pub(crate) struct Problem<'a> {
    pub(crate) requests: &'a [Request],
    pub(crate) constraints: &'a [Request],
    pub(crate) markers: &'a MarkerEnvironment,
    pub(crate) rules: &'a Rules,
    pub(crate) catalog: &'a dyn Catalog,
    /// Install the requests only.
    pub(crate) no_deps: bool,
}

/// A version of each package, and the extras that were asked for and do not exist.
#[derive(Debug, Default)]
pub(crate) struct Resolution {
    pub(crate) versions: BTreeMap<PackageName, Version>,
    pub(crate) missing_extras: Vec<String>,
}

impl Problem<'_> {
    /// Solves it, or explains why it has no solution.
    pub(crate) fn solve(&self) -> anyhow::Result<Resolution> {
        let provider = Provider {
            problem: self,
            limits: self.limits(),
            seen: RefCell::default(),
            counter: Cell::new(0),
            missing_extras: RefCell::default(),
        };
        match pubgrub::resolve(&provider, Package::Root, root_version()) {
            Ok(solution) => Ok(provider.into_resolution(solution)),
            Err(PubGrubError::NoSolution(tree)) => unsolved(explain::explain(self, &tree)),
            Err(
                PubGrubError::ErrorChoosingVersion { source, .. }
                | PubGrubError::ErrorRetrievingDependencies { source, .. }
                | PubGrubError::ErrorInShouldCancel(source),
            ) => Err(source.0),
        }
    }

    /// What constraints say about each package.
    fn limits(&self) -> HashMap<&PackageName, Ranges<Version>> {
        let mut limits: HashMap<&PackageName, Ranges<Version>> = HashMap::new();
        for constraint in self
            .constraints
            .iter()
            .filter(|constraint| constraint.marker.evaluate(self.markers, &[]))
        {
            let range = request_range(constraint);
            let limit = limits.entry(&constraint.name).or_insert_with(Ranges::full);
            *limit = limit.intersection(&range);
        }
        limits
    }
}

fn unsolved(explanation: Explanation) -> anyhow::Result<Resolution> {
    let result = Err(anyhow::anyhow!(explanation.text))
        .context("no solution found when resolving dependencies")
        .unsatisfied();
    explanation.hints.into_iter().rev().fold(result, Advise::hint)
}

pub(crate) fn root_version() -> Version {
    Version::new([0])
}

fn request_range(request: &Request) -> Ranges<Version> {
    match &request.direct {
        Some(direct) => Ranges::singleton(direct.dist.wheel.version.clone()),
        None => ranges::of(&request.specifiers),
    }
}

/// Carries any error through the search.
#[derive(Debug)]
struct Stop(anyhow::Error);

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stop {}

struct Provider<'a> {
    problem: &'a Problem<'a>,
    limits: HashMap<&'a PackageName, Ranges<Version>>,
    /// The order in which packages were first met.
    seen: RefCell<HashMap<Package, usize>>,
    counter: Cell<usize>,
    missing_extras: RefCell<Vec<String>>,
}

type Edges = Vec<(Package, Ranges<Version>)>;

impl Provider<'_> {
    fn into_resolution(self, solution: impl IntoIterator<Item = (Package, Version)>) -> Resolution {
        let versions = solution
            .into_iter()
            .filter_map(|(package, version)| match package {
                Package::Base(name) => Some((name, version)),
                _ => None,
            })
            .collect();
        let mut missing_extras = self.missing_extras.into_inner();
        missing_extras.sort();
        missing_extras.dedup();
        Resolution { versions, missing_extras }
    }

    fn requested(&self) -> Edges {
        let mut edges = Edges::new();
        for request in self
            .problem
            .requests
            .iter()
            .filter(|request| request.marker.evaluate(self.problem.markers, &[]))
        {
            self.push(&mut edges, &request.name, &request.extras, &request_range(request));
        }
        edges
    }

    /// Adds a dependency on a package and each of the extras that are asked for.
    fn push(
        &self,
        edges: &mut Edges,
        name: &PackageName,
        extras: &[ExtraName],
        range: &Ranges<Version>,
    ) {
        let range = match self.limits.get(name) {
            Some(limit) => range.intersection(limit),
            None => range.clone(),
        };
        edges.push((Package::Base(name.clone()), range.clone()));
        if !self.problem.no_deps {
            edges.extend(
                extras
                    .iter()
                    .map(|extra| (Package::Extra(name.clone(), extra.clone()), range.clone())),
            );
        }
    }

    /// What one version of a package, or of its extra, depends on.
    fn dependencies(
        &self,
        name: &PackageName,
        extra: Option<&ExtraName>,
        version: &Version,
    ) -> anyhow::Result<Result<Edges, String>> {
        let problem = self.problem;
        let releases = problem.catalog.releases(name)?;
        let release = releases
            .by_version
            .get(version)
            .with_context(|| format!("{name}=={version} is gone"))?;
        let dist = match problem.rules.best(name, version, release) {
            Ok(dist) => dist,
            Err(unusable) => return Ok(Err(unusable.to_string())),
        };
        let metadata = problem.catalog.metadata(dist)?;
        if let Some(wanted) = metadata
            .requires_python
            .as_ref()
            .filter(|wanted| !wanted.contains(&problem.rules.python))
        {
            return Ok(Err(format!("requires Python {wanted}")));
        }
        let mut edges = Edges::new();
        if let Some(extra) = extra {
            edges.push((Package::Base(name.clone()), Ranges::singleton(version.clone())));
            if !metadata.extras.contains(extra) {
                self.missing_extras
                    .borrow_mut()
                    .push(format!("{name}=={version} has no extra named `{extra}`"));
            }
        }
        for requirement in metadata
            .requires
            .iter()
            .filter(|requirement| applies(requirement, extra, problem.markers))
        {
            match self.edge(requirement) {
                Ok(range) => self.push(&mut edges, &requirement.name, &requirement.extras, &range),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(edges))
    }

    /// The versions that a package's requirement admits; an address counts if the user named it too.
    fn edge(&self, requirement: &Requirement) -> Result<Ranges<Version>, String> {
        match &requirement.version_or_url {
            None => Ok(Ranges::full()),
            Some(VersionOrUrl::VersionSpecifier(specifiers)) => Ok(ranges::of(specifiers)),
            Some(VersionOrUrl::Url(url)) => {
                let named =
                    self.problem.requests.iter().any(|request| {
                        request.direct.is_some() && request.name == requirement.name
                    });
                if named {
                    Ok(Ranges::full())
                } else {
                    Err(format!("depends on `{url}`, which you did not name"))
                }
            }
        }
    }

    fn order(&self, package: &Package) -> usize {
        *self.seen.borrow_mut().entry(package.clone()).or_insert_with(|| {
            self.counter.set(self.counter.get() + 1);
            self.counter.get()
        })
    }

    /// Meets packages in the order of their requirements, and fetches what is not known yet at once.
    fn announce(&self, edges: &Edges) {
        let mut wanted: BTreeMap<PackageName, &Ranges<Version>> = BTreeMap::new();
        for (package, range) in edges {
            self.order(package);
            wanted.extend(package.name().map(|name| (name.clone(), range)));
        }
        let names: Vec<PackageName> = wanted.keys().cloned().collect();
        let (rules, no_deps) = (self.problem.rules, self.problem.no_deps);
        self.problem.catalog.prefetch(&names, &|name, releases| {
            let range = wanted.get(name).filter(|_| !no_deps)?;
            let version = rules.choose(name, releases, range)?;
            let release = releases.by_version.get(&version)?;
            rules.best(name, &version, release).ok().cloned()
        });
    }

    fn is_direct(&self, package: &Package) -> bool {
        self.problem
            .requests
            .iter()
            .any(|request| request.direct.is_some() && Some(&request.name) == package.name())
    }
}

/// Whether a requirement belongs to the package itself, or to its extra only.
fn applies(
    requirement: &Requirement,
    extra: Option<&ExtraName>,
    markers: &MarkerEnvironment,
) -> bool {
    let always = requirement.marker.evaluate(markers, &[]);
    match extra {
        None => always,
        Some(extra) => !always && requirement.marker.evaluate(markers, std::slice::from_ref(extra)),
    }
}

impl DependencyProvider for Provider<'_> {
    type P = Package;
    type V = Version;
    type VS = Ranges<Version>;
    type M = String;
    type Err = Stop;
    /// Certain ones first, then those that caused conflicts, then in the order of requirements.
    type Priority = (u8, u32, Reverse<usize>);

    fn prioritize(
        &self,
        package: &Package,
        range: &Ranges<Version>,
        statistics: &PackageResolutionStatistics,
    ) -> Self::Priority {
        let certainty = match package {
            Package::Root => 3,
            _ if self.is_direct(package) => 2,
            _ if range.as_singleton().is_some() || is_one_version(range) => 1,
            _ => 0,
        };
        (certainty, statistics.conflict_count(), Reverse(self.order(package)))
    }

    fn choose_version(
        &self,
        package: &Package,
        range: &Ranges<Version>,
    ) -> Result<Option<Version>, Stop> {
        let Some(name) = package.name() else { return Ok(Some(root_version())) };
        let releases = self.problem.catalog.releases(name).map_err(Stop)?;
        Ok(self.problem.rules.choose(name, &releases, range))
    }

    fn get_dependencies(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Dependencies<Package, Ranges<Version>, String>, Stop> {
        let edges = match package {
            Package::Root => Ok(self.requested()),
            Package::Base(_) if self.problem.no_deps => Ok(Edges::new()),
            Package::Base(name) => self.dependencies(name, None, version).map_err(Stop)?,
            Package::Extra(name, extra) => {
                self.dependencies(name, Some(extra), version).map_err(Stop)?
            }
        };
        Ok(match edges {
            Ok(edges) => {
                self.announce(&edges);
                Dependencies::Available(edges.into_iter().collect())
            }
            Err(reason) => Dependencies::Unavailable(reason),
        })
    }
}

/// True for `==1.0`, which is a small range because of local versions.
fn is_one_version(range: &Ranges<Version>) -> bool {
    ranges::show("", range).starts_with("==")
}
