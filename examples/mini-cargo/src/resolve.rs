//! Chooses one version of everything, in the order in which cargo searches.
//!
//! A lock file is only equal to cargo's if the first solution found is the same, so the order is
//! given: the dependency with the fewest candidates goes first (of equal ones the one that was met
//! first), its candidates are tried best first, one package per compatible range and one per
//! `links`. What is ours is how to take a step back. Cargo clones persistent maps at each choice;
//! here every change of [`Context`] is on a trail and going back undoes it, which costs nothing
//! while the search goes forward, as almost all of it does.
//!
//! A failure names the activations it depends on. Going back skips every choice that none of them
//! depends on, and the failure is kept: the same dependency under the same activations is not
//! tried again. Both only prune branches without a solution, so they cannot change the result.
//!
//! Nothing here reads a file, knows a registry or writes a lock; questions go to the [`Catalog`].

mod conflict;
mod context;
mod explain;
mod features;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use anyhow::Result;

use crate::catalog::{Catalog, PackageId};
use crate::name::Name;
use crate::summary::{Dep, Summary};
use conflict::{Conflicts, DepKey, Past, Reason};
use context::{Context, Frame, Mark};
use features::Request;

/// A complete choice of packages.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// Every chosen package with those it depends on.
    pub(crate) graph: BTreeMap<PackageId, Vec<Edge>>,
}

/// One dependency and the package chosen for it.
#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) dep: Rc<Dep>,
    pub(crate) to: PackageId,
}

/// Chooses versions for all members with all their features.
///
/// # Errors
/// When there is no solution, with what stands in the way in cargo's words.
pub(crate) fn resolve(catalog: &Catalog<'_>) -> Result<Resolved> {
    let mut search = Search::new(catalog);
    for member in &catalog.workspace().members {
        let id = catalog.folder(*member)?;
        search.activate_root(id)?;
    }
    search.run()?;
    let resolved = search.context.into_resolved();
    explain::refuse_cycles(catalog, &resolved)?;
    Ok(resolved)
}

/// A dependency of an activated package that has to be satisfied.
#[derive(Clone, Debug)]
struct Want {
    dep: Rc<Dep>,
    key: DepKey,
    candidates: Rc<[PackageId]>,
    features: Rc<[Name]>,
}

/// The work on one [`Want`]: which candidates are left and why the others failed.
#[derive(Clone, Debug)]
struct Job {
    parent: PackageId,
    want: Want,
    at: usize,
    /// The next candidate that is possible, found one step ahead.
    ahead: Option<PackageId>,
    conflicts: Conflicts,
    /// Taken up again after a step back: its conflicts no longer tell the whole story.
    resumed: bool,
    /// Known to fail; carried on only to find the best error message.
    doomed: bool,
}

/// A choice that can be changed.
#[derive(Debug)]
struct Choice {
    mark: Mark,
    job: Job,
}

/// What a package needs under some features.
#[derive(Clone, Debug)]
struct Needs {
    features: Rc<[Name]>,
    wants: Rc<[Want]>,
}

struct Search<'a, 'c> {
    catalog: &'a Catalog<'c>,
    context: Context,
    past: Past,
    choices: Vec<Choice>,
    needs: HashMap<(PackageId, Rc<[Name]>, bool), Needs>,
}

impl<'a, 'c> Search<'a, 'c> {
    fn new(catalog: &'a Catalog<'c>) -> Self {
        let (context, past) = (Context::default(), Past::default());
        Self { catalog, context, past, choices: Vec::new(), needs: HashMap::new() }
    }

    fn activate_root(&mut self, id: PackageId) -> Result<()> {
        let summary = self.catalog.summary(id)?;
        self.context.tick();
        let activated = self.context.activate(id, &self.catalog.package(id), &summary, None);
        activated.map_err(|other| explain::collision(self.catalog, id, other))?;
        let asked = features::request(&summary, Request::Everything);
        let asked = asked.map_err(|reason| features::fatal(&summary, reason))?;
        let needs = self.look_up(&summary, asked)?;
        self.context.enable(id, &needs.features);
        self.context.push(Frame::new(id, needs.wants));
        Ok(())
    }

    fn run(&mut self) -> Result<()> {
        while let Some((parent, want, doomed)) = self.context.pop() {
            let doomed =
                doomed && self.past.find(want.key, &|id| self.context.age(id), None).is_some();
            self.satisfy(Job::new(parent, want, doomed))?;
        }
        Ok(())
    }

    /// Tries candidates, going back as far as needed, until one is activated.
    fn satisfy(&mut self, mut job: Job) -> Result<()> {
        loop {
            let (candidate, last) = match self.next(&mut job)? {
                Some(next) => next,
                None => self.step_back(&mut job)?,
            };
            if job.doomed && !job.resumed && !last {
                continue;
            }
            let mark = self.context.mark();
            let saved = (!last).then(|| Choice { mark, job: job.clone() });
            if self.attempt(&mut job, candidate, last)? {
                self.choices.extend(saved);
                return Ok(());
            }
            self.context.undo_to(mark);
        }
    }

    /// The next possible candidate and whether it is the last one.
    fn next(&self, job: &mut Job) -> Result<Option<(PackageId, bool)>> {
        while let Some(candidate) = job.want.candidates.get(job.at).copied() {
            job.at += 1;
            match self.obstacle(candidate)? {
                Some((other, reason)) => job.conflicts.add_if_new(other, reason),
                None => {
                    if let Some(found) = job.ahead.replace(candidate) {
                        return Ok(Some((found, false)));
                    }
                }
            }
        }
        Ok(job.ahead.take().map(|found| (found, true)))
    }

    /// The activated package that excludes `candidate`.
    fn obstacle(&self, candidate: PackageId) -> Result<Option<(PackageId, Reason)>> {
        let package = self.catalog.package(candidate);
        if let Some(other) = self.context.in_range(&package).filter(|other| *other != candidate) {
            return Ok(Some((other, Reason::Range)));
        }
        let may_link = package.flags.links() || package.source != crate::summary::Source::Registry;
        let links = if may_link { self.catalog.summary(candidate)?.links } else { None };
        let other = links.and_then(|links| self.context.linking(links).zip(Some(links)));
        Ok(other
            .filter(|(other, _)| *other != candidate)
            .map(|(other, links)| (other, Reason::Links(links))))
    }

    /// Activates `candidate` and queues what it needs; false when that is known not to work.
    fn attempt(&mut self, job: &mut Job, candidate: PackageId, last: bool) -> Result<bool> {
        let summary = self.catalog.summary(candidate)?;
        let package = self.catalog.package(candidate);
        let Want { dep, features, .. } = &job.want;
        self.context.tick();
        self.context.link(candidate, job.parent, dep);
        let fresh = match self.context.activate(candidate, &package, &summary, Some(dep)) {
            Ok(fresh) => fresh,
            Err(other) => {
                job.conflicts.add(other, Reason::Range);
                return Ok(false);
            }
        };
        if !fresh && self.context.has_features(candidate, &summary, features, dep.default_features)
        {
            return Ok(true);
        }
        let needs = match self.needs(candidate, &summary, job)? {
            Ok(needs) => needs,
            Err(reason) => {
                job.conflicts.add(job.parent, reason);
                return Ok(false);
            }
        };
        self.context.enable(candidate, &needs.features);
        Ok(self.queue(job, candidate, &needs, last))
    }

    fn queue(&mut self, job: &mut Job, candidate: PackageId, needs: &Needs, last: bool) -> bool {
        let fails = job.doomed || self.is_known_to_fail(job, candidate, needs);
        let for_message = fails && last && (job.doomed || !self.can_step_back(job));
        if for_message {
            self.choices.clear();
        }
        if !fails || for_message {
            let frame = Frame::new(candidate, Rc::clone(&needs.wants));
            self.context.push(if fails { frame.doomed() } else { frame });
        }
        !fails || for_message
    }

    /// Whether something already learned says that `candidate` cannot stay.
    fn is_known_to_fail(&self, job: &mut Job, candidate: PackageId, needs: &Needs) -> bool {
        let age = |id| self.context.age(id);
        let own = needs.wants.iter().find_map(|want| self.past.find(want.key, &age, None));
        if let Some(conflict) = own {
            job.conflicts.extend_without(conflict, candidate);
            return true;
        }
        let Some(suspects) = self.past.naming(candidate) else { return false };
        let waiting = self.context.waiting().filter(|(_, want)| suspects.contains(&want.key));
        let mut waiting = waiting.filter_map(|(parent, want)| {
            Some((parent, self.past.find(want.key, &age, Some(candidate))?))
        });
        let Some((parent, conflict)) = waiting.next() else { return false };
        let reason = conflict.reason(candidate);
        job.conflicts.extend_without(conflict, candidate);
        job.conflicts.add(parent, reason);
        true
    }

    /// Whether an earlier choice could be changed so that this failure goes away.
    fn can_step_back(&self, job: &Job) -> bool {
        let newest = self.newest(job, &job.conflicts);
        self.choices.iter().any(|choice| newest.is_none_or(|age| choice.mark.age() < age))
    }

    /// The age of the newest activation that the failure of `job` depends on.
    fn newest(&self, job: &Job, conflicts: &Conflicts) -> Option<u32> {
        if job.resumed {
            return None;
        }
        let parent = self.context.age(job.parent)?;
        conflicts.newest(&|id| self.context.age(id)).map(|age| age.max(parent))
    }

    /// Undoes everything up to a choice that may help and takes its next candidate.
    fn step_back(&mut self, job: &mut Job) -> Result<(PackageId, bool)> {
        let mut wider = None;
        if !job.doomed && !job.resumed {
            self.past.insert(job.want.key, &job.conflicts);
            wider = self.generalize(job)?;
        }
        let newest = self.newest(job, wider.as_ref().unwrap_or(&job.conflicts));
        while let Some(Choice { mark, job: earlier }) = self.choices.pop() {
            if newest.is_some_and(|age| mark.age() >= age) {
                continue;
            }
            self.context.undo_to(mark);
            *job = Job { resumed: true, ..earlier };
            if let Some(next) = self.next(job)? {
                return Ok(next);
            }
        }
        Err(explain::failure(self.catalog, &self.context, job)?)
    }

    /// Looks for an older reason for the same failure.
    ///
    /// The newest culprit was activated for some dependency of an older package. When every other
    /// candidate of that dependency is known to fail here as well, the older package is to blame.
    fn generalize(&mut self, job: &Job) -> Result<Option<Conflicts>> {
        let age = |id| self.context.age(id);
        let Some((newest, culprit)) = job.conflicts.newest_with(&age) else { return Ok(None) };
        if self.context.is_below(job.parent, culprit) {
            return Ok(None);
        }
        for (older, dep) in self.context.requirers(culprit) {
            if age(older).is_none_or(|age| age >= newest) {
                continue;
            }
            let Some(others) = self.catalog.query(&dep)? else { continue };
            if let Some(wider) = self.blame(job, older, culprit, newest, &others) {
                self.past.insert(job.want.key, &wider);
                return Ok(Some(wider));
            }
        }
        Ok(None)
    }

    fn blame(
        &self,
        job: &Job,
        older: PackageId,
        culprit: PackageId,
        newest: u32,
        others: &[PackageId],
    ) -> Option<Conflicts> {
        let mut wider = job.conflicts.clone();
        for other in others.iter().rev() {
            // Imagine that the other candidate had been activated in place of the culprit.
            let age = |id| if id == *other { Some(newest) } else { self.context.age(id) };
            let found = self.past.find_older(job.want.key, &age, *other, newest)?;
            wider.extend(found);
        }
        for other in others {
            wider.remove(*other);
        }
        wider.add(older, job.conflicts.reason(culprit));
        let known_age = wider.newest(&|id| self.context.age(id));
        known_age.is_some_and(|age| age < newest).then_some(wider)
    }

    fn needs(
        &mut self,
        id: PackageId,
        summary: &Rc<Summary>,
        job: &Job,
    ) -> Result<Result<Needs, Reason>> {
        let Want { dep, features, .. } = &job.want;
        let key = (id, Rc::clone(features), dep.default_features);
        if let Some(known) = self.needs.get(&key) {
            return Ok(Ok(known.clone()));
        }
        let request = Request::Dependency { features, default: dep.default_features };
        match features::request(summary, request) {
            Ok(asked) => {
                let needs = self.look_up(summary, asked)?;
                self.needs.insert(key, needs.clone());
                Ok(Ok(needs))
            }
            Err(features::Problem::Cycle(feature)) => {
                Err(features::fatal(summary, features::Problem::Cycle(feature)))
            }
            Err(features::Problem::Missing(feature)) => {
                Ok(Err(features::conflict(summary, feature)))
            }
        }
    }

    /// Finds candidates for each needed dependency, those with the fewest first.
    fn look_up(&mut self, summary: &Rc<Summary>, asked: features::Asked) -> Result<Needs> {
        let mut wants = Vec::with_capacity(asked.deps.len());
        for (dep, features) in asked.deps {
            let candidates = self.catalog.query(&dep).map_err(|error| {
                let (dep, parent) = (dep.name, explain::display(self.catalog, summary));
                error.context(format!("failed to get `{dep}` as a dependency of {parent}"))
            })?;
            // A dependency whose crate is still to be asked for is left out of this search.
            let Some(candidates) = candidates else { continue };
            let key = self.past.key(&dep);
            wants.push(Want { dep, key, candidates, features });
        }
        wants.sort_by_key(|want| want.candidates.len());
        Ok(Needs { features: asked.features, wants: wants.into() })
    }
}

impl Job {
    fn new(parent: PackageId, want: Want, doomed: bool) -> Self {
        let conflicts = Conflicts::default();
        Self { parent, want, at: 0, ahead: None, conflicts, resumed: false, doomed }
    }
}
