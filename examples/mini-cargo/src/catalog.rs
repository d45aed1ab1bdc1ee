//! Every package that the resolver may choose from, and which of them a dependency means.
//!
//! The catalog joins the registry's records, the packages on disk, `[patch]` entries and what an
//! earlier lock file pins, and answers two questions: which packages satisfy this dependency, best
//! first, and what does this package need. Answers never change within one run. Nothing here
//! searches.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::{Result, anyhow};
use semver::{Version, VersionReq};

use crate::name::Name;
use crate::pins::Pins;
use crate::record::{self, Flags};
use crate::rust_version::RustVersion;
use crate::store::{Freshness, Listing, Lookup, Store};
use crate::summary::{Dep, Source, Summary};
use crate::workspace::Workspace;

/// A package by its number in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PackageId(u32);

impl PackageId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known about a package without reading its record.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: Name,
    pub(crate) version: Version,
    pub(crate) source: Source,
    pub(crate) flags: Flags,
    /// Its place in the crate's listing.
    at: usize,
    summary: OnceCell<Rc<Summary>>,
}

/// One crate of the registry.
struct Crate<'a> {
    listing: Box<dyn Listing + 'a>,
    packages: Vec<PackageId>,
}

/// A crate, or why there is none.
enum Found<'a> {
    Known(Rc<Crate<'a>>),
    Unknown,
    Pending,
}

impl<'a> Found<'a> {
    fn known(self) -> Option<Rc<Crate<'a>>> {
        match self {
            Self::Known(found) => Some(found),
            Self::Unknown | Self::Pending => None,
        }
    }
}

/// A crate as far as it was asked for, and how new that is.
type Listed<'a> = (Option<Rc<Crate<'a>>>, Freshness);
type QueryKey = (Name, Source, crate::summary::Req);

/// All packages, found and read when they are first asked for.
pub(crate) struct Catalog<'a> {
    store: &'a dyn Store,
    workspace: &'a Workspace,
    pins: &'a Pins,
    rust_versions: Vec<RustVersion>,
    packages: RefCell<Vec<Rc<Package>>>,
    crates: RefCell<HashMap<Name, Listed<'a>>>,
    folders: RefCell<HashMap<u32, PackageId>>,
    queries: RefCell<HashMap<QueryKey, Rc<[PackageId]>>>,
}

impl<'a> Catalog<'a> {
    pub(crate) fn new(
        store: &'a dyn Store,
        workspace: &'a Workspace,
        pins: &'a Pins,
        rust_versions: Vec<RustVersion>,
    ) -> Self {
        Self {
            store,
            workspace,
            pins,
            rust_versions,
            packages: RefCell::default(),
            crates: RefCell::default(),
            folders: RefCell::default(),
            queries: RefCell::default(),
        }
    }

    pub(crate) fn workspace(&self) -> &'a Workspace {
        self.workspace
    }

    pub(crate) fn package(&self, id: PackageId) -> Rc<Package> {
        Rc::clone(&self.packages.borrow()[id.index()])
    }

    /// Everything about a package, with its dependencies pinned as an earlier lock file wants it.
    pub(crate) fn summary(&self, id: PackageId) -> Result<Rc<Summary>> {
        let package = self.package(id);
        if let Some(known) = package.summary.get() {
            return Ok(Rc::clone(known));
        }
        let plain = match package.source {
            Source::Path(folder) => self.on_disk(folder)?.clone(),
            Source::Registry => self.registered(&package)?,
        };
        let pinned = Rc::new(self.pins.apply(plain, self.workspace));
        Ok(Rc::clone(package.summary.get_or_init(|| pinned)))
    }

    fn registered(&self, package: &Package) -> Result<Summary> {
        let found = self.find(package.name, Freshness::Any)?.known();
        let found = found.ok_or_else(|| anyhow!("`{}` is gone", package.name))?;
        let bytes = found.listing.record(package.at)?;
        record::decode(package.name, &package.version, &bytes)
    }

    fn on_disk(&self, folder: u32) -> Result<&'a Summary> {
        let folder = &self.workspace.folders[folder as usize];
        folder.summary.as_ref().map_err(|why| anyhow!("{why}"))
    }

    /// The package in a folder of the workspace.
    pub(crate) fn folder(&self, folder: u32) -> Result<PackageId> {
        if let Some(known) = self.folders.borrow().get(&folder) {
            return Ok(*known);
        }
        let summary = self.on_disk(folder)?;
        let id = self.add(Package {
            name: summary.name,
            version: summary.version.clone(),
            source: summary.source,
            flags: Flags::default(),
            at: 0,
            summary: OnceCell::new(),
        });
        self.folders.borrow_mut().insert(folder, id);
        Ok(id)
    }

    fn add(&self, package: Package) -> PackageId {
        let mut packages = self.packages.borrow_mut();
        let id = PackageId(u32::try_from(packages.len()).unwrap_or(u32::MAX));
        packages.push(Rc::new(package));
        id
    }

    /// The crate called `name`; `Pending` when the registry has to be asked first.
    fn find(&self, name: Name, freshness: Freshness) -> Result<Found<'a>> {
        let earlier = self.crates.borrow().get(&name).cloned();
        if let Some((found, of)) = &earlier
            && *of >= freshness
        {
            return Ok(found.clone().map_or(Found::Unknown, Found::Known));
        }
        let found = match self.store.find(&name.as_str().to_lowercase(), freshness)? {
            Lookup::Pending => return Ok(Found::Pending),
            // What was listed before is still right, and others know its packages already.
            Lookup::Known(listing) => match earlier.and_then(|(found, _)| found) {
                Some(listed) => Some(listed),
                None => Some(self.list(name, listing)?),
            },
            Lookup::Unknown => None,
        };
        self.crates.borrow_mut().insert(name, (found.clone(), freshness));
        Ok(found.map_or(Found::Unknown, Found::Known))
    }

    fn list(&self, name: Name, listing: Box<dyn Listing + 'a>) -> Result<Rc<Crate<'a>>> {
        let mut packages = Vec::new();
        if listing.spelling() == name.as_str() {
            for (at, (version, flags)) in listing.versions()?.into_iter().enumerate() {
                let (source, summary) = (Source::Registry, OnceCell::new());
                packages.push(self.add(Package { name, version, source, flags, at, summary }));
            }
        }
        Ok(Rc::new(Crate { listing, packages }))
    }

    /// The packages that satisfy `dep`, in the order in which to try them.
    ///
    /// `None` when the registry has to be asked first; the answer will be another in the next run.
    pub(crate) fn query(&self, dep: &Dep) -> Result<Option<Rc<[PackageId]>>> {
        let key = (dep.name, dep.source, dep.req.clone());
        if let Some(known) = self.queries.borrow().get(&key) {
            return Ok(Some(Rc::clone(known)));
        }
        let found = match dep.source {
            Source::Path(folder) => Some(self.query_folder(folder, dep)?),
            Source::Registry => self.query_registry(dep)?,
        };
        let Some(found) = found else { return Ok(None) };
        let found: Rc<[PackageId]> = found.into();
        self.queries.borrow_mut().insert(key, Rc::clone(&found));
        Ok(Some(found))
    }

    fn query_folder(&self, folder: u32, dep: &Dep) -> Result<Vec<PackageId>> {
        let id = self.folder(folder)?;
        let package = self.package(id);
        let accepted = dep.accepts(package.name, &package.version);
        Ok(if accepted { vec![id] } else { Vec::new() })
    }

    fn query_registry(&self, dep: &Dep) -> Result<Option<Vec<PackageId>>> {
        let patches = self.patches(dep)?;
        if dep.req.is_locked() {
            // A pinned version that a patch provides needs no look into the registry.
            if patches.len() == 1 {
                return Ok(Some(patches));
            }
            // One that is known needs no question to it.
            if let Found::Known(known) = self.find(dep.name, Freshness::Any)? {
                let found = self.select(dep, &known, patches.clone())?;
                if !found.is_empty() {
                    return Ok(Some(found));
                }
            }
        }
        match self.find(dep.name, Freshness::Latest)? {
            Found::Pending => Ok(None),
            Found::Unknown => Ok(Some(patches)),
            Found::Known(known) => self.select(dep, &known, patches).map(Some),
        }
    }

    fn select(
        &self,
        dep: &Dep,
        known: &Crate<'_>,
        patches: Vec<PackageId>,
    ) -> Result<Vec<PackageId>> {
        let replaced: Vec<_> = patches.iter().map(|id| self.package(*id).version.clone()).collect();
        let mut found = patches;
        for id in &known.packages {
            let package = self.package(*id);
            if !replaced.contains(&package.version) && self.is_candidate(dep, &package) {
                found.push(*id);
            }
        }
        self.sort(&mut found)?;
        Ok(found)
    }

    /// The packages on disk that `[patch]` puts in the place of registry ones.
    fn patches(&self, dep: &Dep) -> Result<Vec<PackageId>> {
        let mut found = Vec::new();
        for patch in &self.workspace.patches {
            let id = self.folder(patch.folder)?;
            let package = self.package(id);
            if dep.accepts(package.name, &package.version) {
                found.push(id);
            }
        }
        Ok(found)
    }

    fn is_candidate(&self, dep: &Dep, package: &Package) -> bool {
        if package.flags.unusable() || package.flags.other_name() {
            return false;
        }
        if !dep.req.matches(&package.version) {
            return false;
        }
        if let Some(wanted) = self.pins.precise(dep) {
            return *wanted == package.version;
        }
        !package.flags.yanked() || dep.req.is_locked() || self.pins.prefers(package)
    }

    /// Preferred ones, then those that more toolchains accept, then the newest.
    fn sort(&self, found: &mut [PackageId]) -> Result<()> {
        let mut keyed = Vec::with_capacity(found.len());
        for id in &*found {
            let package = self.package(*id);
            let preferred = self.pins.prefers(&package) || self.is_patch(&package);
            keyed.push((preferred, self.toolchains(*id, &package)?, package, *id));
        }
        keyed.sort_unstable_by(|(a_first, a_rust, a, _), (b_first, b_rust, b, _)| {
            b_first.cmp(a_first).then(b_rust.cmp(a_rust)).then_with(|| b.version.cmp(&a.version))
        });
        for (slot, (.., id)) in found.iter_mut().zip(keyed) {
            *slot = id;
        }
        Ok(())
    }

    fn is_patch(&self, package: &Package) -> bool {
        let Source::Path(folder) = package.source else { return false };
        self.workspace.patches.iter().any(|patch| patch.folder == folder)
    }

    /// How many of the wanted toolchains the package builds with.
    fn toolchains(&self, id: PackageId, package: &Package) -> Result<usize> {
        let mut count = 0;
        for toolchain in &self.rust_versions {
            let fits = match package.flags.builds_with(*toolchain) {
                Some(fits) if package.source == Source::Registry => fits,
                _ => self.summary(id)?.rust_version.is_none_or(|asked| asked.allows(*toolchain)),
            };
            count += usize::from(fits);
        }
        Ok(count)
    }

    /// The one version that the user asked for where `dep` is meant.
    pub(crate) fn precise(&self, dep: &Dep) -> Option<&Version> {
        self.pins.precise(dep)
    }

    /// Every version of crate `name` in the registry, usable or not.
    pub(crate) fn registry_packages(&self, name: Name) -> Result<Vec<PackageId>> {
        let found = self.find(name, Freshness::Any)?.known();
        Ok(found.map(|found| found.packages.clone()).unwrap_or_default())
    }

    /// The name of a crate that differs from `name` in case, `-` and `_` only.
    pub(crate) fn similar(&self, name: Name) -> Result<Option<String>> {
        let key = name.as_str().to_lowercase();
        for key in [key.clone(), key.replace('-', "_"), key.replace('_', "-")] {
            if let Lookup::Known(listing) = self.store.find(&key, Freshness::Any)?
                && listing.spelling() != name.as_str()
            {
                return Ok(Some(listing.spelling().to_owned()));
            }
        }
        Ok(None)
    }

    /// The version of a registry package that `range` and `name` mean, for messages.
    pub(crate) fn rejected(&self, name: Name, range: &VersionReq) -> Result<Vec<Rc<Package>>> {
        let mut packages: Vec<_> =
            self.registry_packages(name)?.into_iter().map(|id| self.package(id)).collect();
        packages.retain(|package| range.matches(&package.version));
        packages.sort_by(|a, b| a.version.cmp(&b.version));
        Ok(packages)
    }
}
