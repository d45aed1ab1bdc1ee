//! What is chosen so far, and how to take it back.
//!
//! Every change is pushed on a trail as its own inverse. A [`Mark`] is the trail's length with two
//! counters; undoing pops down to it. No other module changes the maps.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use semver::Version;

use super::{Edge, Resolved, Want};
use crate::catalog::{Package, PackageId};
use crate::name::Name;
use crate::summary::{Dep, Source, Summary};

/// Versions that one dependency graph may hold only one of: same left-most non-zero number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Range {
    Major(u64),
    Minor(u64),
    Patch(u64),
}

impl Range {
    fn of(version: &Version) -> Self {
        match (version.major, version.minor) {
            (0, 0) => Self::Patch(version.patch),
            (0, minor) => Self::Minor(minor),
            (major, _) => Self::Major(major),
        }
    }
}

type Slot = (Name, Range, Source);

/// The wants of one activated package, some of which are satisfied.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    parent: PackageId,
    wants: Rc<[Want]>,
    at: usize,
    doomed: bool,
}

impl Frame {
    pub(super) fn new(parent: PackageId, wants: Rc<[Want]>) -> Self {
        Self { parent, wants, at: 0, doomed: false }
    }

    /// Known to fail: goes before everything else, to fail soon.
    pub(super) fn doomed(self) -> Self {
        Self { doomed: true, ..self }
    }

    /// Wants are sorted, so the first one left has the fewest candidates.
    fn order(&self, arrival: u32) -> Order {
        let candidates = self.wants.get(self.at).map_or(0, |want| want.candidates.len());
        (!self.doomed, candidates, arrival)
    }
}

/// Doomed frames first, then fewest candidates, then first come.
type Order = (bool, usize, u32);

/// How to take back one change.
#[derive(Debug)]
enum Undo {
    Slot(Slot),
    Age(PackageId),
    Links(Name),
    Features(PackageId, Option<Rc<[Name]>>),
    Requirer(PackageId),
    Pushed(Order),
    Popped(Order, Frame),
}

/// A point in the search to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    trail: usize,
    age: u32,
    arrivals: u32,
}

impl Mark {
    pub(super) fn age(self) -> u32 {
        self.age
    }
}

/// The state of the search.
#[derive(Debug, Default)]
pub(super) struct Context {
    /// Counts decisions; a package is as old as the decision that activated it.
    age: u32,
    arrivals: u32,
    slots: HashMap<Slot, PackageId>,
    ages: HashMap<PackageId, u32>,
    links: HashMap<Name, PackageId>,
    features: HashMap<PackageId, Rc<[Name]>>,
    requirers: HashMap<PackageId, Vec<(PackageId, Rc<Dep>)>>,
    waiting: BTreeMap<Order, Frame>,
    trail: Vec<Undo>,
}

impl Context {
    pub(super) fn mark(&self) -> Mark {
        Mark { trail: self.trail.len(), age: self.age, arrivals: self.arrivals }
    }

    pub(super) fn undo_to(&mut self, mark: Mark) {
        while self.trail.len() > mark.trail {
            if let Some(undo) = self.trail.pop() {
                self.undo(undo);
            }
        }
        (self.age, self.arrivals) = (mark.age, mark.arrivals);
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Slot(slot) => drop(self.slots.remove(&slot)),
            Undo::Age(id) => drop(self.ages.remove(&id)),
            Undo::Links(name) => drop(self.links.remove(&name)),
            Undo::Features(id, None) => drop(self.features.remove(&id)),
            Undo::Features(id, Some(earlier)) => drop(self.features.insert(id, earlier)),
            Undo::Requirer(id) => drop(self.requirers.get_mut(&id).and_then(Vec::pop)),
            Undo::Pushed(order) => drop(self.waiting.remove(&order)),
            Undo::Popped(order, frame) => drop(self.waiting.insert(order, frame)),
        }
    }

    pub(super) fn tick(&mut self) {
        self.age += 1;
    }

    pub(super) fn age(&self, id: PackageId) -> Option<u32> {
        self.ages.get(&id).copied()
    }

    /// The active package of the same compatible range.
    pub(super) fn in_range(&self, package: &Package) -> Option<PackageId> {
        self.slots.get(&slot(package, package.source)).copied()
    }

    pub(super) fn linking(&self, links: Name) -> Option<PackageId> {
        self.links.get(&links).copied()
    }

    /// Makes a package active; false when it already is.
    ///
    /// # Errors
    /// A package on disk that patches the registry's takes the registry's place too; when that is
    /// taken, the package in it is returned.
    pub(super) fn activate(
        &mut self,
        id: PackageId,
        package: &Package,
        summary: &Summary,
        dep: Option<&Dep>,
    ) -> Result<bool, PackageId> {
        if self.ages.contains_key(&id) {
            return Ok(false);
        }
        if let Some(links) = summary.links {
            self.links.insert(links, id);
            self.trail.push(Undo::Links(links));
        }
        self.ages.insert(id, self.age);
        self.trail.push(Undo::Age(id));
        self.take(slot(package, package.source), id)?;
        if let Some(dep) = dep.filter(|dep| dep.source != package.source) {
            self.take(slot(package, dep.source), id)?;
        }
        Ok(true)
    }

    fn take(&mut self, slot: Slot, id: PackageId) -> Result<(), PackageId> {
        if let Some(other) = self.slots.get(&slot) {
            return Err(*other);
        }
        self.slots.insert(slot, id);
        self.trail.push(Undo::Slot(slot));
        Ok(())
    }

    /// Records that `parent` got `id` for `dep`.
    pub(super) fn link(&mut self, id: PackageId, parent: PackageId, dep: &Rc<Dep>) {
        self.requirers.entry(id).or_default().push((parent, Rc::clone(dep)));
        self.trail.push(Undo::Requirer(id));
    }

    /// Who requires `id`, and how.
    pub(super) fn requirers(&self, id: PackageId) -> Vec<(PackageId, Rc<Dep>)> {
        self.requirers.get(&id).cloned().unwrap_or_default()
    }

    /// Whether `id` is `ancestor` or required by it through others.
    pub(super) fn is_below(&self, id: PackageId, ancestor: PackageId) -> bool {
        let mut seen = HashSet::from([id]);
        let mut queue = VecDeque::from([id]);
        while let Some(id) = queue.pop_front() {
            if id == ancestor {
                return true;
            }
            let above = self.requirers.get(&id).into_iter().flatten().map(|(above, _)| *above);
            queue.extend(above.filter(|above| seen.insert(*above)));
        }
        false
    }

    pub(super) fn has_features(
        &self,
        id: PackageId,
        summary: &Summary,
        asked: &[Name],
        default: bool,
    ) -> bool {
        let on = self.features.get(&id).map_or(&[][..], |on| on);
        let default_name = Name::new("default");
        asked.iter().all(|name| on.binary_search(name).is_ok())
            && (!default
                || !summary.features.contains_key(&default_name)
                || on.binary_search(&default_name).is_ok())
    }

    pub(super) fn enable(&mut self, id: PackageId, features: &[Name]) {
        if features.is_empty() {
            return;
        }
        let earlier = self.features.get(&id).cloned();
        let mut all = earlier.as_deref().unwrap_or_default().to_vec();
        all.extend_from_slice(features);
        all.sort_unstable();
        all.dedup();
        self.features.insert(id, all.into());
        self.trail.push(Undo::Features(id, earlier));
    }

    pub(super) fn push(&mut self, frame: Frame) {
        let order = frame.order(self.arrivals);
        self.arrivals += 1;
        self.insert(order, frame);
    }

    fn insert(&mut self, order: Order, frame: Frame) {
        self.waiting.insert(order, frame);
        self.trail.push(Undo::Pushed(order));
    }

    /// The most constrained want, the package that has it, and whether it is known to fail.
    pub(super) fn pop(&mut self) -> Option<(PackageId, Want, bool)> {
        while let Some((order, frame)) = self.waiting.pop_first() {
            self.trail.push(Undo::Popped(order, frame.clone()));
            let Some(want) = frame.wants.get(frame.at).cloned() else { continue };
            let (parent, doomed) = (frame.parent, frame.doomed);
            let rest = Frame { at: frame.at + 1, ..frame };
            self.insert(rest.order(order.2), rest);
            return Some((parent, want, doomed));
        }
        None
    }

    /// Every want that is not satisfied yet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (PackageId, &Want)> {
        self.waiting
            .values()
            .flat_map(|frame| frame.wants[frame.at..].iter().map(|want| (frame.parent, want)))
    }

    pub(super) fn into_resolved(self) -> Resolved {
        let mut graph: BTreeMap<PackageId, Vec<Edge>> =
            self.ages.keys().map(|id| (*id, Vec::new())).collect();
        for (to, requirers) in self.requirers {
            for (parent, dep) in requirers {
                graph.entry(parent).or_default().push(Edge { dep, to });
            }
        }
        Resolved { graph }
    }
}

fn slot(package: &Package, source: Source) -> Slot {
    (package.name, Range::of(&package.version), source)
}
