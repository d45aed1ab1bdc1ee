//! Says in sentences why requirements have no solution.
//!
//! pubgrub proves it as a tree of facts. Here the tree loses what is true but tells nothing (that
//! there is no version between two versions), and each fact is worded as uv words it, with the reason
//! for which a version was passed over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pep440_rs::Version;
use pubgrub::{
    DefaultStringReporter, DerivationTree, Derived, External, Map, Ranges, ReportFormatter,
    Reporter, Term,
};

use crate::advice;
use crate::ranges;
use crate::resolve::{Package, Problem};

type Tree = DerivationTree<Package, Ranges<Version>, String>;
type Fact = External<Package, Ranges<Version>, String>;
type Terms = Map<Package, Term<Ranges<Version>>>;

/// At most so many versions are listed with their reason.
const LISTED_MAX: usize = 5;

/// Why there is no solution, and what may help.
pub(crate) struct Explanation {
    /// One or more sentences.
    pub(crate) text: String,
    pub(crate) hints: BTreeSet<String>,
}

pub(crate) fn explain(problem: &Problem<'_>, tree: &Tree) -> Explanation {
    let words = Words { problem };
    let tree = words.without_gaps(tree);
    Explanation { text: words.tell(&tree), hints: advice::hints(problem, &tree) }
}

impl Words<'_> {
    fn tell(&self, tree: &Tree) -> String {
        match tree {
            DerivationTree::External(fact) => {
                format!(
                    "Because {}, your requirements are unsatisfiable.",
                    self.format_external(fact)
                )
            }
            DerivationTree::Derived(_) => DefaultStringReporter::report_with_formatter(tree, self),
        }
    }
}

struct Words<'a> {
    problem: &'a Problem<'a>,
}

impl Words<'_> {
    /// The tree without the facts that only say that nothing lies between two versions.
    fn without_gaps(&self, tree: &Tree) -> Tree {
        let DerivationTree::Derived(derived) = tree else { return tree.clone() };
        let (one, two) = (self.without_gaps(&derived.cause1), self.without_gaps(&derived.cause2));
        if let Some(merged) = self.absorbed(&one, &two).or_else(|| self.absorbed(&two, &one)) {
            return merged;
        }
        DerivationTree::Derived(Derived {
            terms: derived.terms.clone(),
            shared_id: derived.shared_id,
            cause1: Arc::new(one),
            cause2: Arc::new(two),
        })
    }

    /// `other` with a gap added to the versions it is about; none if `gap` is worth telling.
    fn absorbed(&self, gap: &Tree, other: &Tree) -> Option<Tree> {
        let DerivationTree::External(External::NoVersions(package, range)) = gap else {
            return None;
        };
        if !self.is_gap(package, range) {
            return None;
        }
        match other {
            DerivationTree::External(External::FromDependencyOf(from, versions, to, needed))
                if from == package =>
            {
                let versions = versions.union(range);
                Some(Tree::External(External::FromDependencyOf(
                    from.clone(),
                    versions,
                    to.clone(),
                    needed.clone(),
                )))
            }
            DerivationTree::External(External::Custom(about, versions, reason))
                if about == package =>
            {
                Some(Tree::External(External::Custom(
                    about.clone(),
                    versions.union(range),
                    reason.clone(),
                )))
            }
            DerivationTree::Derived(_) => Some(other.clone()),
            DerivationTree::External(_) => None,
        }
    }

    /// True when no version of the package is in `range`, though there are versions.
    fn is_gap(&self, package: &Package, range: &Ranges<Version>) -> bool {
        let Some(name) = package.name() else { return false };
        self.problem.catalog.releases(name).is_ok_and(|releases| {
            !releases.by_version.is_empty()
                && !releases.by_version.keys().any(|version| range.contains(version))
        })
    }

    /// Why no version in `range` can be used.
    fn nothing_in(&self, package: &Package, range: &Ranges<Version>) -> String {
        let shown = ranges::show(&package.to_string(), range);
        let Some(name) = package.name() else { return format!("{shown} is impossible") };
        let Ok(releases) = self.problem.catalog.releases(name) else {
            return format!("{shown} is not known");
        };
        if releases.by_version.is_empty() {
            let where_ = releases.absence.as_deref().unwrap_or("was not found");
            return format!("{name} {where_}");
        }
        let excluded = self.problem.rules.excluded(name, &releases, range);
        if excluded.is_empty() {
            format!("there is no version of {shown}")
        } else {
            list(&package.to_string(), excluded)
        }
    }
}

/// `a==1.0 and a==2.0 require Python >=3.13`, each reason once.
fn list(name: &str, excluded: Vec<(Version, String)>) -> String {
    let mut by_reason: BTreeMap<String, Vec<Version>> = BTreeMap::new();
    for (version, reason) in excluded {
        by_reason.entry(reason).or_default().push(version);
    }
    let sentences: Vec<String> =
        by_reason.iter().map(|(reason, versions)| one_reason(name, reason, versions)).collect();
    sentences.join(" and ")
}

fn one_reason(name: &str, reason: &str, versions: &[Version]) -> String {
    match versions {
        [one] => format!("{name}=={one} {reason}"),
        [first, .., last] if versions.len() > LISTED_MAX => {
            format!("each of the {} versions {name}>={first},<={last} {reason}", versions.len())
        }
        _ => {
            let listed: Vec<String> =
                versions.iter().map(|version| format!("{name}=={version}")).collect();
            format!("each of {} {reason}", listed.join(", "))
        }
    }
}

impl ReportFormatter<Package, Ranges<Version>, String> for Words<'_> {
    type Output = String;

    fn format_external(&self, fact: &Fact) -> String {
        match fact {
            External::NotRoot(..) => "you require something".to_owned(),
            External::NoVersions(package, range) => self.nothing_in(package, range),
            External::Custom(package, range, reason) => {
                format!("{} {reason}", ranges::show(&package.to_string(), range))
            }
            External::FromDependencyOf(from, versions, to, needed) => {
                depends(from, versions, to, needed)
            }
        }
    }

    fn format_terms(&self, terms: &Terms) -> String {
        let terms: Vec<_> = terms
            .iter()
            .filter(|(package, _)| **package != Package::Root || terms.len() == 1)
            .collect();
        match terms.as_slice() {
            [] | [(Package::Root, _)] => "your requirements are unsatisfiable".to_owned(),
            [(package, Term::Positive(range))] => {
                format!("{} cannot be used", ranges::show(&package.to_string(), range))
            }
            [(package, Term::Negative(range))] => {
                format!("{} must be used", ranges::show(&package.to_string(), range))
            }
            [(from, Term::Positive(versions)), (to, Term::Negative(needed))]
            | [(to, Term::Negative(needed)), (from, Term::Positive(versions))] => {
                depends(from, versions, to, needed)
            }
            several => {
                let shown: Vec<String> =
                    several.iter().map(|(package, term)| show_term(package, term)).collect();
                format!("{} are incompatible", shown.join(" and "))
            }
        }
    }

    fn explain_both_external(&self, one: &Fact, two: &Fact, terms: &Terms) -> String {
        self.because(&[self.format_external(one), self.format_external(two)], terms)
    }

    fn explain_both_ref(
        &self,
        id1: usize,
        one: &Derived<Package, Ranges<Version>, String>,
        id2: usize,
        two: &Derived<Package, Ranges<Version>, String>,
        terms: &Terms,
    ) -> String {
        let facts = [self.reference(id1, one), self.reference(id2, two)];
        self.because(&facts, terms)
    }

    fn explain_ref_and_external(
        &self,
        id: usize,
        derived: &Derived<Package, Ranges<Version>, String>,
        fact: &Fact,
        terms: &Terms,
    ) -> String {
        self.because(&[self.reference(id, derived), self.format_external(fact)], terms)
    }

    fn and_explain_external(&self, fact: &Fact, terms: &Terms) -> String {
        self.and_because(&[self.format_external(fact)], terms)
    }

    fn and_explain_ref(
        &self,
        id: usize,
        derived: &Derived<Package, Ranges<Version>, String>,
        terms: &Terms,
    ) -> String {
        self.and_because(&[self.reference(id, derived)], terms)
    }

    fn and_explain_prior_and_external(&self, prior: &Fact, fact: &Fact, terms: &Terms) -> String {
        self.and_because(&[self.format_external(prior), self.format_external(fact)], terms)
    }
}

impl Words<'_> {
    fn because(&self, facts: &[String], terms: &Terms) -> String {
        format!(
            "Because {}, we can conclude that {}.",
            facts.join(" and "),
            self.format_terms(terms)
        )
    }

    fn and_because(&self, facts: &[String], terms: &Terms) -> String {
        format!(
            "And because {}, we can conclude that {}.",
            facts.join(" and "),
            self.format_terms(terms)
        )
    }

    fn reference(&self, id: usize, derived: &Derived<Package, Ranges<Version>, String>) -> String {
        format!("{} ({id})", self.format_terms(&derived.terms))
    }
}

fn show_term(package: &Package, term: &Term<Ranges<Version>>) -> String {
    match term {
        Term::Positive(range) => ranges::show(&package.to_string(), range),
        Term::Negative(range) => ranges::show(&package.to_string(), &range.complement()),
    }
}

fn depends(
    from: &Package,
    versions: &Ranges<Version>,
    to: &Package,
    needed: &Ranges<Version>,
) -> String {
    let to = ranges::show(&to.to_string(), needed);
    if *from == Package::Root {
        return format!("you require {to}");
    }
    let all = versions == &Ranges::full();
    let from = ranges::show(&from.to_string(), versions);
    if all {
        format!("all versions of {from} depend on {to}")
    } else {
        format!("{from} depends on {to}")
    }
}
