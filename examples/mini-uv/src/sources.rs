//! The catalog of one installation: what was named, what is installed, folders, indexes.
//!
//! A package that was named directly has that one wheel and no other. Otherwise everything that
//! `--find-links` holds is added to what the first index that knows the package says; asking only the
//! first is what keeps a public index from taking over a private name. Answers are kept for the run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pep508_rs::PackageName;

use crate::cache::Cache;
use crate::catalog::{Catalog, Likely, Releases};
use crate::dist::{Dist, Location};
use crate::find_links::Links;
use crate::http::Http;
use crate::index::{Freshness, Index};
use crate::installed::Installed;
use crate::metadata::Metadata;
use crate::wheel_metadata;
use crate::wheel_name::WheelName;

/// Where the wheels of one installation may come from.
pub(crate) struct Sources<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) http: &'a Http,
    pub(crate) direct: HashMap<PackageName, Dist>,
    /// Packages that may stay as they are.
    pub(crate) installed: HashMap<PackageName, Installed>,
    pub(crate) links: Links,
    pub(crate) indexes: Vec<Index>,
    pub(crate) freshness: Freshness,
    /// How many requests may run at once.
    pub(crate) requests_max: usize,
    pub(crate) known: Known,
}

/// Answers of this run.
#[derive(Default)]
pub(crate) struct Known {
    releases: Mutex<HashMap<PackageName, Arc<Releases>>>,
    metadata: Mutex<HashMap<String, Arc<Metadata>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sources<'_> {
    fn find(&self, name: &PackageName) -> anyhow::Result<Releases> {
        if let Some(dist) = self.direct.get(name) {
            let mut releases = Releases::default();
            releases.add(dist.clone());
            return Ok(releases);
        }
        let mut releases = self.links.get(name).cloned().unwrap_or_default();
        if let Some(found) = self.first_index(name)? {
            for (version, release) in found.by_version {
                let slot = releases.by_version.entry(version).or_default();
                slot.wheels.extend(release.wheels);
                slot.has_source |= release.has_source;
            }
        }
        releases.absence = Some(self.absence());
        self.add_installed(name, &mut releases);
        Ok(releases)
    }

    fn first_index(&self, name: &PackageName) -> anyhow::Result<Option<Releases>> {
        for index in &self.indexes {
            if let Some(found) = index.releases(name, self.http, self.cache, self.freshness)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn absence(&self) -> String {
        if self.indexes.is_empty() {
            "was not found in the folders and pages of `--find-links`, and there is no index"
                .to_owned()
        } else {
            let asked: Vec<String> =
                self.indexes.iter().map(|index| format!("`{}`", index.public())).collect();
            format!("was not found at {}", asked.join(" or "))
        }
    }

    /// An installed version is a release of its own, which needs no wheel.
    fn add_installed(&self, name: &PackageName, releases: &mut Releases) {
        let Some(package) = self.installed.get(name) else { return };
        let file = format!("{}-{}-py3-none-any.whl", name.as_dist_info_name(), package.version);
        if let Ok(wheel) = file.parse::<WheelName>() {
            let dist = Dist::direct(wheel, Location::Installed(package.dist_info.clone()));
            let slot = releases.by_version.entry(package.version.clone()).or_default();
            slot.wheels = vec![dist];
        }
    }
}

impl Catalog for Sources<'_> {
    fn releases(&self, name: &PackageName) -> anyhow::Result<Arc<Releases>> {
        if let Some(known) = lock(&self.known.releases).get(name) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(self.find(name)?);
        lock(&self.known.releases).insert(name.clone(), Arc::clone(&found));
        Ok(found)
    }

    fn metadata(&self, dist: &Dist) -> anyhow::Result<Arc<Metadata>> {
        let key = format!("{:?}", dist.location);
        if let Some(known) = lock(&self.known.metadata).get(&key) {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(wheel_metadata::read(dist, self.http, self.cache)?);
        lock(&self.known.metadata).insert(key, Arc::clone(&found));
        Ok(found)
    }

    /// Failures are not reported here: whoever needs the answer asks again and is told.
    fn prefetch(&self, names: &[PackageName], likely: &Likely<'_>) {
        if self.indexes.is_empty() {
            return;
        }
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.prefetch_one(name, likely) {
                    tracing::debug!("{name}: {error:#}");
                }
            }
        };
        std::thread::scope(|threads| {
            for _ in 1..self.requests_max.min(names.len()) {
                threads.spawn(work);
            }
            work();
        });
    }
}

impl Sources<'_> {
    fn prefetch_one(&self, name: &PackageName, likely: &Likely<'_>) -> anyhow::Result<()> {
        let releases = self.releases(name)?;
        if let Some(dist) = likely(name, &releases) {
            self.metadata(&dist)?;
        }
        Ok(())
    }
}
