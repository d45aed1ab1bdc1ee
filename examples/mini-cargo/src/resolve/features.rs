//! Which features and dependencies a request for features turns on.
//!
//! `dep?/feature` turns the dependency on here, as in cargo's resolver: the lock file covers every
//! way to build, so a weak feature counts as a strong one.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::conflict::Reason;
use crate::name::Name;
use crate::summary::{Dep, FeatureValue, Kind, Summary};

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Request<'a> {
    /// A member of the workspace: all features and dev-dependencies.
    Everything,
    /// Another package.
    Dependency { features: &'a [Name], default: bool },
}

/// What is turned on.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) features: Rc<[Name]>,
    /// Dependencies in the manifest's order, each with the features wanted of it.
    pub(super) deps: Vec<(Rc<Dep>, Rc<[Name]>)>,
}

/// Why a request makes no sense.
#[derive(Clone, Copy, Debug)]
pub(super) enum Problem {
    Missing(Name),
    Cycle(Name),
}

pub(super) fn request(summary: &Summary, request: Request<'_>) -> Result<Asked, Problem> {
    let mut walk = Walk { summary, on: BTreeSet::new(), deps: HashMap::new() };
    match request {
        Request::Everything => {
            for feature in summary.features.keys() {
                walk.feature(*feature)?;
            }
        }
        Request::Dependency { features, default } => {
            for feature in features {
                walk.feature(*feature)?;
            }
            let default_name = Name::new("default");
            if default && summary.features.contains_key(&default_name) {
                walk.feature(default_name)?;
            }
        }
    }
    Ok(walk.finish(matches!(request, Request::Everything)))
}

struct Walk<'a> {
    summary: &'a Summary,
    on: BTreeSet<Name>,
    deps: HashMap<Name, BTreeSet<Name>>,
}

impl Walk<'_> {
    fn feature(&mut self, feature: Name) -> Result<(), Problem> {
        if !self.on.insert(feature) {
            return Ok(());
        }
        let values = self.summary.features.get(&feature).ok_or(Problem::Missing(feature))?;
        for value in values {
            if *value == FeatureValue::Feature(feature) {
                return Err(Problem::Cycle(feature));
            }
            self.value(value)?;
        }
        Ok(())
    }

    fn value(&mut self, value: &FeatureValue) -> Result<(), Problem> {
        match *value {
            FeatureValue::Feature(feature) => return self.feature(feature),
            FeatureValue::Dep(dep) => drop(self.deps.entry(dep).or_default()),
            FeatureValue::DepFeature { dep, feature, weak } => {
                if !weak && self.is_optional(dep) && self.summary.features.contains_key(&dep) {
                    self.feature(dep)?;
                }
                self.deps.entry(dep).or_default().insert(feature);
            }
        }
        Ok(())
    }

    fn is_optional(&self, key: Name) -> bool {
        self.summary.deps.iter().any(|dep| dep.key == key && dep.optional)
    }

    fn finish(mut self, dev: bool) -> Asked {
        let mut deps = Vec::new();
        for dep in self.summary.deps.iter().filter(|dep| dev || dep.kind != Kind::Dev) {
            let asked = self.deps.get_mut(&dep.key);
            if dep.optional && asked.is_none() {
                continue;
            }
            let mut features = asked.cloned().unwrap_or_default();
            features.extend(&dep.features);
            deps.push((Rc::clone(dep), features.into_iter().collect()));
        }
        Asked { features: self.on.into_iter().collect(), deps }
    }
}

/// Why the requirer of a package without `feature` cannot use it.
pub(super) fn conflict(summary: &Summary, feature: Name) -> Reason {
    let mut same = summary.deps.iter().filter(|dep| dep.key == feature).peekable();
    if same.peek().is_none() {
        return Reason::MissingFeature(feature);
    }
    if same.any(|dep| dep.optional) {
        Reason::HiddenDependency(feature)
    } else {
        Reason::RequiredDependency(feature)
    }
}

/// A request that no choice of versions can satisfy.
pub(super) fn fatal(summary: &Summary, problem: Problem) -> anyhow::Error {
    match problem {
        Problem::Cycle(feature) => {
            anyhow::anyhow!("cyclic feature dependency: feature `{feature}` depends on itself")
        }
        Problem::Missing(feature) => anyhow::anyhow!(
            "package `{} v{}` does not have the feature `{feature}`",
            summary.name,
            summary.version
        ),
    }
}
