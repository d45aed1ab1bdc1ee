//! `pip install`: what is wanted, what is there, what has to change.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use pep440_rs::Operator;
use pep508_rs::{MarkerEnvironment, PackageName};

use super::Tool;
use crate::bytecode;
use crate::cli::{Install, Prerelease};
use crate::environment::Environment;
use crate::fault::Advise;
use crate::find_links::{self, Links};
use crate::http::Http;
use crate::index::{Freshness, Index};
use crate::index_url;
use crate::install::{self, Installation};
use crate::installed;
use crate::interpreter::Interpreter;
use crate::lock::Lock;
use crate::plan::{self, Plan};
use crate::platform::Platform;
use crate::request::Request;
use crate::requirements_txt::Requirements;
use crate::resolve::{Problem, Resolution};
use crate::select::Rules;
use crate::sources::{Known, Sources};
use crate::tags::{self, Tags};
use crate::transaction;
use crate::ui::{self, Change};

pub(super) fn run(tool: &Tool, options: &Install) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let wanted = wanted(options)?;
    let environment = tool.environment_or_target(&options.location, options.target.as_deref())?;
    environment.ensure_writable(options.break_system_packages)?;
    fs_err::create_dir_all(&environment.roots.purelib)?;
    let _lock = Lock::acquire(&environment.lock, tool.ui, "this environment")?;
    transaction::recover(&environment.roots.purelib)?;
    let http = Http::new(
        tool.global.offline,
        options.index.cert.as_deref(),
        options.index.proxy.as_deref(),
        Duration::from_secs(options.index.http_timeout),
    );
    let target = target(&environment.interpreter, options)?;
    let job = Job {
        tool,
        options,
        wanted: &wanted,
        environment: &environment,
        target: &target,
        http: &http,
    };
    job.run(started)
}

/// The interpreter that wheels must fit.
fn target(interpreter: &Interpreter, options: &Install) -> anyhow::Result<Interpreter> {
    match &options.python_version {
        Some(version) => interpreter.pretend(version),
        None => Ok(interpreter.clone()),
    }
}

/// Everything that the command line and the files it names ask for.
fn wanted(options: &Install) -> anyhow::Result<Requirements> {
    let here = std::env::current_dir().context("failed to find the current folder")?;
    if let Some(folder) = &options.editable {
        return Err(anyhow::anyhow!("editable installs are not supported"))
            .hint(format!("build a wheel and install that: `pip wheel --no-deps {folder}`"));
    }
    if options.universal {
        return Err(anyhow::anyhow!("a universal resolution, for all platforms, is not supported"))
            .hint("resolve for one at a time, with `--python-platform` and `--python-version`");
    }
    let mut wanted = Requirements { paths_from: here.clone(), ..Requirements::default() };
    for text in &options.packages {
        wanted.requests.push(Request::parse(text, &here)?);
    }
    for path in &options.requirements {
        wanted.read(path)?;
    }
    for path in &options.constraints {
        wanted.read_constraints(path)?;
    }
    Ok(wanted)
}

/// One installation, with everything that it depends on.
struct Job<'a> {
    tool: &'a Tool,
    options: &'a Install,
    wanted: &'a Requirements,
    environment: &'a Environment,
    /// What wheels must fit: the interpreter, or what `--python-version` says.
    target: &'a Interpreter,
    http: &'a Http,
}

impl Job<'_> {
    fn run(&self, started: Instant) -> anyhow::Result<ExitCode> {
        let ui = self.tool.ui;
        let markers = self.markers()?;
        let rules = self.rules()?;
        self.warn_of_read_only_cache()?;
        self.ensure_hashes(&rules, &markers)?;
        let sources = self.sources(&rules)?;
        let problem = Problem {
            requests: &self.wanted.requests,
            constraints: &self.wanted.constraints,
            markers: &markers,
            rules: &rules,
            catalog: &sources,
            no_deps: self.options.no_deps,
        };
        let resolution = self.solve(&problem)?;
        resolution.missing_extras.iter().for_each(|missing| ui.warn(missing));
        self.ensure_all_hashes(&resolution, &rules)?;
        let installed = installed::scan(&self.environment.roots)?;
        let requests = &self.wanted.requests;
        let plan = plan::plan(
            &resolution.versions,
            requests,
            &rules,
            &sources,
            &installed,
            self.options.reinstall,
        )?;
        if plan.is_empty() {
            ui.done("Checked", plan.satisfied, started);
            self.print(&plan);
            return Ok(ExitCode::SUCCESS);
        }
        ui.done("Resolved", resolution.versions.len(), started);
        self.apply(&plan)
    }

    fn warn_of_read_only_cache(&self) -> anyhow::Result<()> {
        let cache = self.tool.cache()?;
        if cache.is_read_only() {
            let dir = cache.dir.display();
            self.tool.ui.warn(format!("the cache at `{dir}` cannot be written: using what it has"));
        }
        Ok(())
    }

    fn solve(&self, problem: &Problem<'_>) -> anyhow::Result<Resolution> {
        let line = self.tool.ui.busy("Resolving dependencies...");
        let solved = problem.solve();
        line.finish_and_clear();
        if self.tool.global.offline {
            return solved.hint("the network was disabled by `--offline`: what is not in the cache was not looked for");
        }
        solved
    }

    fn apply(&self, plan: &Plan) -> anyhow::Result<ExitCode> {
        if self.options.dry_run {
            let (come, go) = (plan.chosen.len(), plan.replaced.len());
            if go > 0 {
                self.tool.ui.status(format!("Would uninstall {}", ui::packages(go)));
            }
            self.tool.ui.status(format!("Would install {}", ui::packages(come)));
            self.print(plan);
            return Ok(ExitCode::SUCCESS);
        }
        let installation = Installation {
            environment: self.environment,
            cache: self.tool.cache()?,
            http: self.http,
            ui: self.tool.ui,
            chosen: &plan.chosen,
            replaced: &plan.replaced,
            workers: self.workers(plan),
            is_separate: self.options.no_deduplication,
        };
        let sources = installation.run()?;
        if self.options.compile_bytecode {
            bytecode::compile(&self.environment.interpreter, &sources, self.tool.ui)?;
        }
        self.print(plan);
        Ok(ExitCode::SUCCESS)
    }

    /// Downloads wait for the network, unpacking for the processor.
    fn workers(&self, plan: &Plan) -> usize {
        use crate::dist::Location;
        let remote =
            plan.chosen.iter().any(|chosen| matches!(chosen.dist.location, Location::Url(_)));
        if remote { self.options.index.concurrent_downloads.max(1) } else { install::cores() }
    }

    /// Prints what went and what came; a version that came again is one line.
    fn print(&self, plan: &Plan) {
        let gone: BTreeSet<(String, String)> = plan
            .replaced
            .iter()
            .map(|package| (package.name.to_string(), package.version.to_string()))
            .collect();
        let come: BTreeSet<(String, String)> = plan
            .chosen
            .iter()
            .map(|chosen| {
                (chosen.dist.wheel.name.to_string(), chosen.dist.wheel.version.to_string())
            })
            .collect();
        let mut changes: Vec<(&String, Change, &String)> = Vec::new();
        changes
            .extend(gone.difference(&come).map(|(name, version)| (name, Change::Removed, version)));
        changes.extend(
            gone.intersection(&come).map(|(name, version)| (name, Change::Replaced, version)),
        );
        changes
            .extend(come.difference(&gone).map(|(name, version)| (name, Change::Added, version)));
        changes.sort();
        if self.options.output.is_json() {
            ui::result(json(&changes, self.options.dry_run));
            return;
        }
        for (name, change, version) in changes {
            self.tool.ui.change(change, name, version);
        }
    }

    fn platform(&self) -> anyhow::Result<Option<Platform>> {
        self.options.python_platform.as_deref().map(Platform::parse).transpose()
    }

    fn markers(&self) -> anyhow::Result<MarkerEnvironment> {
        let own = &self.target.markers;
        Ok(self.platform()?.map_or_else(|| own.clone(), |platform| platform.markers(own)))
    }

    fn tags(&self) -> anyhow::Result<Tags> {
        let platforms = self
            .platform()?
            .map_or_else(|| tags::own_platforms(self.target), |platform| platform.tags);
        Ok(Tags::of(self.target, &platforms))
    }

    fn rules(&self) -> anyhow::Result<Rules> {
        let may_stay = plan::may_stay(
            &self.environment.roots,
            &self.wanted.requests,
            self.options.upgrade,
            self.options.reinstall,
        )?;
        let asked = || self.wanted.requests.iter().chain(&self.wanted.constraints);
        Ok(Rules {
            tags: self.tags()?,
            python: self.target.full_version().clone(),
            prerelease: self.prerelease(),
            pinned: asked().flat_map(pins).collect(),
            named_prerelease: asked()
                .filter(|request| names_prerelease(request))
                .map(|request| request.name.clone())
                .collect(),
            installed: may_stay
                .into_iter()
                .map(|package| (package.name.clone(), package.version))
                .collect(),
            hashes: hashes(&asked().collect::<Vec<_>>()),
        })
    }

    fn prerelease(&self) -> Prerelease {
        if self.options.pre || self.wanted.pre {
            Prerelease::Allow
        } else {
            self.options.prerelease
        }
    }

    fn sources(&self, rules: &Rules) -> anyhow::Result<Sources<'_>> {
        let installed = installed::scan(&self.environment.roots)?;
        let direct = self
            .wanted
            .requests
            .iter()
            .filter_map(|request| Some((request.name.clone(), request.direct.clone()?.dist)));
        Ok(Sources {
            cache: self.tool.cache()?,
            http: self.http,
            direct: direct.collect(),
            installed: installed
                .into_iter()
                .filter(|package| rules.installed.contains_key(&package.name))
                .map(|package| (package.name.clone(), package))
                .collect(),
            links: self.links()?,
            indexes: self.indexes()?,
            freshness: self.freshness(),
            requests_max: self.options.index.concurrent_downloads.max(1),
            known: Known::default(),
        })
    }

    fn freshness(&self) -> Freshness {
        if self.tool.global.offline {
            Freshness::AnyAge
        } else if self.options.index.refresh {
            Freshness::Revalidate
        } else {
            Freshness::Policy
        }
    }

    fn links(&self) -> anyhow::Result<Links> {
        let mut links = Links::new();
        for place in self.options.index.find_links.iter().chain(&self.wanted.find_links) {
            find_links::read(place, self.http, &mut links)?;
        }
        Ok(links)
    }

    /// Extra indexes first, as uv has it.
    fn indexes(&self) -> anyhow::Result<Vec<Index>> {
        let needed = !self.options.no_deps
            || self.wanted.requests.iter().any(|request| request.direct.is_none());
        if self.options.index.no_index || self.wanted.no_index || !needed {
            return Ok(Vec::new());
        }
        let flag = self.options.index.index_url.as_deref().or(self.wanted.index_url.as_deref());
        let default = index_url::find(flag, &self.environment.interpreter, self.tool.cache()?)?;
        let extra = self.options.index.extra_index_url.iter().chain(&self.wanted.extra_index_url);
        extra.chain([&default]).map(|url| Index::new(url)).collect()
    }

    fn requires_hashes(&self) -> bool {
        self.options.require_hashes || self.wanted.require_hashes
    }

    /// With digests required, every request has one and is pinned.
    fn ensure_hashes(&self, rules: &Rules, markers: &MarkerEnvironment) -> anyhow::Result<()> {
        if !self.requires_hashes() {
            return Ok(());
        }
        for request in
            self.wanted.requests.iter().filter(|request| request.marker.evaluate(markers, &[]))
        {
            let pinned = request.direct.is_some() || pins(request).next().is_some();
            if !pinned || !rules.hashes.contains_key(&request.name) {
                let missing = if pinned { "has no digest" } else { "is not pinned to one version" };
                return Err(anyhow::anyhow!(
                    "digests are required, and `{}` {missing}",
                    request.text
                ))
                .hint("write it as `name==version --hash=sha256:...` in a requirements file");
            }
        }
        Ok(())
    }

    /// With digests required, what others depend on needs one too.
    fn ensure_all_hashes(&self, resolution: &Resolution, rules: &Rules) -> anyhow::Result<()> {
        let without = resolution.versions.iter().find(|(name, _)| !rules.hashes.contains_key(name));
        match without {
            Some((name, version)) if self.requires_hashes() => Err(anyhow::anyhow!(
                "digests are required, and the dependency {name}=={version} has none"
            ))
            .unsatisfied()
            .hint(format!("add `{name}=={version} --hash=sha256:...` to the requirements file")),
            _ => Ok(()),
        }
    }
}

/// The changes for a program.
fn json(changes: &[(&String, Change, &String)], dry_run: bool) -> String {
    let changes: Vec<_> = changes
        .iter()
        .map(|(name, change, version)| {
            serde_json::json!({"name": name, "change": change.word(), "version": version})
        })
        .collect();
    serde_json::json!({"dry_run": dry_run, "changes": changes}).to_string()
}

/// The versions that a request pins with `==`.
fn pins(request: &Request) -> impl Iterator<Item = (PackageName, pep440_rs::Version)> {
    request
        .specifiers
        .iter()
        .filter(|specifier| matches!(specifier.operator(), Operator::Equal | Operator::ExactEqual))
        .map(|specifier| (request.name.clone(), specifier.version().clone()))
        .collect::<HashSet<_>>()
        .into_iter()
}

fn names_prerelease(request: &Request) -> bool {
    request.specifiers.iter().any(pep440_rs::VersionSpecifier::any_prerelease)
}

/// The digests of each package that has any.
fn hashes(requests: &[&Request]) -> HashMap<PackageName, Vec<[u8; 32]>> {
    let mut hashes: HashMap<PackageName, Vec<[u8; 32]>> = HashMap::new();
    for request in requests.iter().filter(|request| !request.hashes.is_empty()) {
        hashes.entry(request.name.clone()).or_default().extend(&request.hashes);
    }
    hashes
}
