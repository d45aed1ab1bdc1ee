//! Why a dependency could not be satisfied, and the memory of all such failures.
//!
//! An entry says: while these packages are active, this dependency has no candidate. That holds
//! whatever else was chosen, so entries are never removed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use crate::catalog::PackageId;
use crate::name::Name;
use crate::summary::Dep;

/// A dependency as the memory's key: equal dependencies share a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DepKey(u32);

/// Why an active package excludes a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Another version of the same compatible range is active.
    Range,
    /// Another package with the same `links` is active.
    Links(Name),
    /// The package asks for a feature that the candidate lacks.
    MissingFeature(Name),
    /// The same, and a required dependency has that name.
    RequiredDependency(Name),
    /// The same, and an optional dependency hidden by `dep:` has that name.
    HiddenDependency(Name),
}

/// Active packages that together make a dependency fail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conflicts(BTreeMap<PackageId, Reason>);

impl Conflicts {
    pub(super) fn add(&mut self, id: PackageId, reason: Reason) {
        self.0.insert(id, reason);
    }

    pub(super) fn add_if_new(&mut self, id: PackageId, reason: Reason) {
        self.0.entry(id).or_insert(reason);
    }

    pub(super) fn remove(&mut self, id: PackageId) {
        self.0.remove(&id);
    }

    pub(super) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub(super) fn extend_without(&mut self, other: &Self, id: PackageId) {
        self.0.extend(other.0.iter().filter(|(known, _)| **known != id));
    }

    pub(super) fn reason(&self, id: PackageId) -> Reason {
        self.0.get(&id).copied().unwrap_or(Reason::Range)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (PackageId, Reason)> {
        self.0.iter().map(|(id, reason)| (*id, *reason))
    }

    /// The age of the newest member; `None` when one is not active, or there is none.
    pub(super) fn newest(&self, age: &impl Fn(PackageId) -> Option<u32>) -> Option<u32> {
        let mut newest = 0;
        for id in self.0.keys() {
            newest = newest.max(age(*id)?);
        }
        Some(newest)
    }

    /// The newest member with its age; `None` when one is not active, or there is none.
    pub(super) fn newest_with(
        &self,
        age: &impl Fn(PackageId) -> Option<u32>,
    ) -> Option<(u32, PackageId)> {
        let mut newest = None;
        for id in self.0.keys() {
            newest = newest.max(Some((age(*id)?, *id)));
        }
        newest
    }
}

/// Every failure so far.
#[derive(Debug, Default)]
pub(super) struct Past {
    keys: HashMap<Rc<Dep>, DepKey>,
    failures: HashMap<DepKey, Vec<Conflicts>>,
    naming: HashMap<PackageId, HashSet<DepKey>>,
}

impl Past {
    pub(super) fn key(&mut self, dep: &Rc<Dep>) -> DepKey {
        if let Some(known) = self.keys.get(dep) {
            return *known;
        }
        let key = DepKey(u32::try_from(self.keys.len()).unwrap_or(u32::MAX));
        self.keys.insert(Rc::clone(dep), key);
        key
    }

    pub(super) fn insert(&mut self, key: DepKey, conflicts: &Conflicts) {
        let known = self.failures.entry(key).or_default();
        if !known.contains(conflicts) {
            known.push(conflicts.clone());
        }
        for id in conflicts.0.keys() {
            self.naming.entry(*id).or_default().insert(key);
        }
    }

    /// The dependencies that failed because of `id`, among others.
    pub(super) fn naming(&self, id: PackageId) -> Option<&HashSet<DepKey>> {
        self.naming.get(&id)
    }

    /// A failure of `key` that applies now; the one that allows the longest step back.
    pub(super) fn find(
        &self,
        key: DepKey,
        age: &impl Fn(PackageId) -> Option<u32>,
        with: Option<PackageId>,
    ) -> Option<&Conflicts> {
        self.search(key, age, with, u32::MAX)
    }

    /// The same, all of whose members but `with` are older than `limit`.
    pub(super) fn find_older(
        &self,
        key: DepKey,
        age: &impl Fn(PackageId) -> Option<u32>,
        with: PackageId,
        limit: u32,
    ) -> Option<&Conflicts> {
        self.search(key, age, Some(with), limit)
    }

    fn search(
        &self,
        key: DepKey,
        age: &impl Fn(PackageId) -> Option<u32>,
        with: Option<PackageId>,
        limit: u32,
    ) -> Option<&Conflicts> {
        let (mut best, mut limit) = (None, limit);
        for conflicts in self.failures.get(&key)? {
            let newest = newest_but(conflicts, age, with);
            if newest.is_some_and(|newest| newest < limit) {
                (best, limit) = (Some(conflicts), newest.unwrap_or(limit));
            }
        }
        best
    }
}

/// The age of the newest member other than `with`, which has to be one.
fn newest_but(
    conflicts: &Conflicts,
    age: &impl Fn(PackageId) -> Option<u32>,
    with: Option<PackageId>,
) -> Option<u32> {
    if with.is_some_and(|with| !conflicts.0.contains_key(&with)) {
        return None;
    }
    let mut newest = 0;
    for id in conflicts.0.keys() {
        let age = age(*id)?;
        newest = if Some(*id) == with { newest } else { newest.max(age) };
    }
    Some(newest)
}
