//! `tree`: who depends on whom, for the platform that this program was built for.
//!
//! All features of the members are on, as in the lock file; a package that was shown before is
//! marked with a star and not shown again. As JSON it is the whole graph for every platform, each
//! package once, with what an edge depends on. Absent: `--invert`, `--edges` and the other ways of
//! cargo's to cut the tree.

use std::collections::HashSet;
use std::str::FromStr as _;

use anyhow::Result;
use cargo_platform::{Cfg, Platform};
use serde_json::{Value, json};

use super::{Locking, Run, Solution};
use crate::catalog::PackageId;
use crate::cli::Output;
use crate::name::Name;
use crate::pins::Pins;
use crate::project;
use crate::resolve::Edge;
use crate::summary::{Kind, Source};
use crate::workspace::Workspace;

pub(super) fn tree(run: &Run, output: Output) -> Result<()> {
    let workspace = run.workspace()?;
    let lock = run.lock(&workspace)?;
    let locking = Locking::new(run, &workspace)?;
    // What was just locked, with the edges that a lock file does not keep.
    let pins = Pins::new(&lock, &workspace, &HashSet::new(), None);
    let solution = locking.resolve(&pins)?;
    if output.is_json() {
        return Ok(run.shell.result(graph(&solution, &workspace)?)?);
    }
    let host = Host::of_compiler()?;
    let mut printer = Printer { run, solution: &solution, host, shown: HashSet::new() };
    for (at, member) in workspace.members.iter().enumerate() {
        if at > 0 {
            run.shell.result("")?;
        }
        let id = solution.catalog.folder(*member)?;
        printer.package(id, "")?;
        printer.children(id, &mut Vec::new())?;
    }
    Ok(())
}

/// The graph for programs: packages by an id that is unique in it, and the members' ids.
fn graph(solution: &Solution<'_>, workspace: &Workspace) -> Result<Value> {
    let catalog = &solution.catalog;
    let id = |id: &PackageId| {
        let package = catalog.package(*id);
        let path = match package.source {
            Source::Registry => String::new(),
            Source::Path(at) => format!(" ({})", workspace.folders[at as usize].dir.display()),
        };
        format!("{} {}{path}", package.name, package.version)
    };
    let mut packages: Vec<_> = solution.resolved.graph.iter().collect();
    packages.sort_by_key(|(at, _)| id(at));
    let packages = packages.into_iter().map(|(at, edges)| {
        let package = catalog.package(*at);
        let edges = edges.iter().map(|edge| {
            let kind = match edge.dep.kind {
                Kind::Normal => "normal",
                Kind::Build => "build",
                Kind::Dev => "dev",
            };
            let target = edge.dep.target.map(Name::as_str);
            json!({"id": id(&edge.to), "kind": kind, "target": target})
        });
        json!({
            "id": id(at),
            "name": package.name.as_str(),
            "version": package.version.to_string(),
            "dependencies": edges.collect::<Value>(),
        })
    });
    let packages: Value = packages.collect();
    let members = workspace.members.iter().map(|at| Ok(id(&catalog.folder(*at)?)));
    Ok(json!({"members": members.collect::<Result<Vec<_>>>()?, "packages": packages}))
}

/// What `cfg(...)` is measured by.
struct Host {
    triple: String,
    cfg: Vec<Cfg>,
}

impl Host {
    fn of_compiler() -> Result<Self> {
        let verbose = project::ask_compiler(&["-vV"])?;
        let triple = verbose.lines().find_map(|line| line.strip_prefix("host: "));
        let cfg = project::ask_compiler(&["--print", "cfg"])?;
        let cfg = cfg.lines().filter_map(|line| Cfg::from_str(line).ok()).collect();
        Ok(Self { triple: triple.unwrap_or_default().to_owned(), cfg })
    }

    fn matches(&self, edge: &Edge) -> bool {
        let Some(target) = edge.dep.target else { return true };
        Platform::from_str(target.as_str())
            .is_ok_and(|platform| platform.matches(&self.triple, &self.cfg))
    }
}

struct Printer<'a, 'c> {
    run: &'a Run,
    solution: &'a Solution<'c>,
    host: Host,
    shown: HashSet<PackageId>,
}

impl Printer<'_, '_> {
    /// Prints a line; true when the package's own dependencies are still to be shown.
    fn package(&mut self, id: PackageId, lines: &str) -> Result<bool> {
        let package = self.solution.catalog.package(id);
        let folder = match package.source {
            Source::Registry => String::new(),
            Source::Path(at) => {
                let folder = &self.solution.catalog.workspace().folders[at as usize];
                format!(" ({})", folder.dir.display())
            }
        };
        let is_new = self.shown.insert(id);
        let leaf =
            self.edges(id, Kind::Normal).is_empty() && self.edges(id, Kind::Build).is_empty();
        let star = if is_new || leaf { "" } else { " (*)" };
        let (name, version) = (package.name, &package.version);
        self.run.shell.result(format_args!("{lines}{name} v{version}{folder}{star}"))?;
        Ok(is_new)
    }

    /// `open` says for each level above whether more follows there.
    fn children(&mut self, id: PackageId, open: &mut Vec<bool>) -> Result<()> {
        for kind in [Kind::Normal, Kind::Build, Kind::Dev] {
            let edges = self.edges(id, kind);
            if edges.is_empty() {
                continue;
            }
            let above: String =
                open.iter().map(|more| if *more { "│   " } else { "    " }).collect();
            let title = match kind {
                Kind::Normal => None,
                Kind::Build => Some("[build-dependencies]"),
                Kind::Dev => Some("[dev-dependencies]"),
            };
            if let Some(title) = title {
                self.run.shell.result(format_args!("{above}{title}"))?;
            }
            let last = edges.len() - 1;
            for (at, child) in edges.into_iter().enumerate() {
                let branch = if at == last { "└── " } else { "├── " };
                if self.package(child, &format!("{above}{branch}"))? {
                    open.push(at != last);
                    self.children(child, open)?;
                    open.pop();
                }
            }
        }
        Ok(())
    }

    /// The packages of one table that count on this host, by name.
    fn edges(&self, id: PackageId, kind: Kind) -> Vec<PackageId> {
        let edges = self.solution.resolved.graph.get(&id).into_iter().flatten();
        let of_kind = edges.filter(|edge| edge.dep.kind == kind && self.host.matches(edge));
        let mut found: Vec<_> = of_kind.map(|edge| edge.to).filter(|to| *to != id).collect();
        found.sort_by_key(|id| {
            let package = self.solution.catalog.package(*id);
            (package.name, package.version.clone())
        });
        found.dedup();
        found
    }
}
