//! One wheel from a file, cold and warm: the rows of astral-sh/uv#21327, and the price of sharing
//! files, which that change is about, in our own program.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use bench_util::{
    CaseError, Comparison, Error, Goal, Meter, Metric, Paired, Place, Report, Sample, Settings,
    Workdir,
};

use crate::floor::{self, Layout};
use crate::tools::{Tool, Tools};
use crate::wheels::{ARM, Kind, Package};

/// Ratio to uv, in either cache mode, wall and CPU.
pub(crate) const GOAL: Goal = Goal::AtMost(0.60);

/// Ratio to the same program without sharing. uv's own price is 1.03 to 1.04.
const GOAL_SHARING: Goal = Goal::AtMost(1.00);

pub(crate) const FLOOR_NOTE: &str =
    "The floor asks no interpreter, records nothing and keeps nothing.";

/// Pairs for a wheel that installs in milliseconds, in which noise is large.
const SMALL_ROUNDS: usize = 40;

/// Programs that are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// uv in both of its cache modes.
    Uv,
    /// mini-uv itself, with a folder per wheel.
    Itself,
}

impl Against {
    /// The reference comes first, the subject last.
    fn tools(self) -> &'static [Tool] {
        match self {
            Self::Uv => &[Tool::Uv, Tool::UvContentAddressed, Tool::MiniUv],
            Self::Itself => &[Tool::MiniUvSeparate, Tool::MiniUv],
        }
    }

    fn title(self, package: Package, state: &str) -> String {
        let what = format!("{} {} {state}", package.name, package.version);
        if self == Self::Uv { what } else { format!("{what}, the price of sharing files") }
    }
}

/// The install less what asking the interpreter costs.
const WITHOUT_QUERY: &str = "without_interpreter_query_ns";
const CPU_WITHOUT_QUERY: &str = "CPU_without_interpreter_query_ns";

/// A file system for some rounds of the largest wheel, and when to start it anew.
const SIZE_BYTES: u64 = 6 << 30;
const FULL_BYTES: u64 = 2 << 30;

pub(crate) struct Local<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) settings: &'a Settings,
    pub(crate) package: Package,
    pub(crate) wheel: PathBuf,
}

impl Local<'_> {
    pub(crate) fn run(&self, report: &mut Report) {
        let name = self.package.name;
        report.add_or_failed(&format!("{name} cold"), self.cold(Against::Uv));
        report.add_or_failed(&format!("{name} warm"), self.warm());
        // Nothing of a wheel with few files is worth sharing, and all of it is the interpreter query.
        if !self.is_small() {
            report.add_or_failed(&format!("{name} floor"), self.floor());
            report.add_or_failed(&format!("{name} sharing"), self.cold(Against::Itself));
            report.add_or_failed(&format!("{name} sharing floor"), self.floor_of_sharing());
        }
    }

    fn is_small(&self) -> bool {
        self.package.name == "anyio"
    }

    fn paired<'p>(&self, name: String) -> Paired<'p> {
        let paired = Paired::new(name).settings(self.settings);
        if self.is_small() { paired.rounds(SMALL_ROUNDS) } else { paired }
    }

    /// Every run starts with an empty cache. Caches are not deleted: the file system is made anew.
    fn cold(&self, against: Against) -> Result<Comparison, Error> {
        let work = RefCell::new(Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?);
        let before = || Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?);
        let paired = self.paired(against.title(self.package, "cold")).before_round(before);
        let queries = self.is_small();
        let comparison = with_cases(
            paired,
            against,
            |tool| {
                let work = &work;
                Box::new(move |meter| {
                    let cache = work.borrow().unused("cache");
                    let environment = work.borrow().unused("env");
                    self.measure(meter, tool, &cache, &environment)?;
                    if queries {
                        self.subtract_query(meter, tool, &work.borrow())?;
                    }
                    Ok(())
                })
            },
            queries,
        )
        .run()?;
        Ok(comparison.note(format!("File system: {}.", work.borrow().filesystem())))
    }

    /// What the promises cost at the least, beside uv, which does not make all of them. The floor is
    /// held to the goal too: where it misses it, no installer that keeps the promises can meet it.
    fn floor(&self) -> Result<Comparison, Error> {
        let work = RefCell::new(Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?);
        let (name, work) = (format!("{} {}", self.package.name, self.package.version), &work);
        let mut paired = self
            .paired(format!("{name} cold, the floor"))
            .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?));
        for tool in [Tool::Uv, Tool::UvContentAddressed] {
            let install = move |meter: &mut Meter<'_, '_>| {
                let (cache, environment) =
                    (work.borrow().unused("cache"), work.borrow().unused("env"));
                self.measure(meter, tool, &cache, &environment)
            };
            paired = if tool == Tool::Uv {
                paired.reference_metered(tool.name(), install)
            } else {
                paired.case_metered(tool.name(), install)
            };
        }
        let other = Tool::UvContentAddressed.name();
        let paired = paired.case_metered(floor::NAME, self.floor_in(work, Layout::Shared)?);
        let paired = paired.goal_on(Metric::Wall, GOAL).goal_on(Metric::Cpu, GOAL);
        let comparison = paired.goal_against(other, Metric::Cpu, GOAL).run()?;
        Ok(comparison.note(FLOOR_NOTE))
    }

    /// What the store costs where nothing else is done: BLAKE3, and folders that all wheels share.
    fn floor_of_sharing(&self) -> Result<Comparison, Error> {
        let work = RefCell::new(Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?);
        let (title, work) = (Against::Itself.title(self.package, "cold"), &work);
        let paired = self
            .paired(format!("{title}, the floor"))
            .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?))
            .reference_metered(floor::NAME_SEPARATE, self.floor_in(work, Layout::Separate)?)
            .case_metered(floor::NAME, self.floor_in(work, Layout::Shared)?)
            .goal_on(Metric::Wall, GOAL_SHARING)
            .goal_on(Metric::Cpu, GOAL_SHARING);
        Ok(paired.run()?.note(FLOOR_NOTE))
    }

    /// One run of the floor in `work`.
    fn floor_in<'w>(&self, work: &'w RefCell<Workdir>, layout: Layout) -> Result<Work<'w>, Error> {
        let wheel = self.wheel.display().to_string();
        floor_work(work, layout, vec![wheel])
    }

    /// Every run starts with the cache that one install left.
    fn warm(&self) -> Result<Comparison, Error> {
        let work = Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?;
        let caches: Vec<(Tool, PathBuf)> =
            Against::Uv.tools().iter().map(|tool| (*tool, work.unused("cache"))).collect();
        let paired = self.paired(Against::Uv.title(self.package, "warm"));
        with_cases(
            paired,
            Against::Uv,
            |tool| {
                let (work, caches) = (&work, &caches);
                Box::new(move |meter| {
                    let cache =
                        caches.iter().find(|(owner, _)| *owner == tool).map(|(_, cache)| cache);
                    let cache = cache.ok_or("every tool has a cache")?;
                    self.measure(meter, tool, cache, &work.unused("env"))
                })
            },
            false,
        )
        .run()
    }

    fn measure(
        &self,
        meter: &mut Meter<'_, '_>,
        tool: Tool,
        cache: &Path,
        environment: &Path,
    ) -> Result<(), CaseError> {
        self.tools.environment(environment)?;
        let mut install = self.tools.install(tool, cache, environment);
        install.arg("--offline");
        if self.package.kind == Kind::Arm {
            install.args(["--python-platform", ARM]);
        }
        meter.measure_command(install.arg(&self.wheel))?;
        check(environment, self.package)
    }

    /// Counts the install without what every cold command of the tool costs before it does
    /// anything: starting, and asking the interpreter about itself. On a loaded machine the wall
    /// time of the one can exceed that of the other; such a round has no difference to count.
    fn subtract_query(
        &self,
        meter: &mut Meter<'_, '_>,
        tool: Tool,
        work: &Workdir,
    ) -> Result<(), CaseError> {
        let environment = work.unused("env");
        self.tools.environment(&environment)?;
        let mut list = self.tools.command(tool, &work.unused("cache"));
        list.args(["pip", "list", "--python"]).arg(environment.join("bin").join("python"));
        let query = Meter::measure_aside(&mut list)?;
        let install = meter.so_far().cloned().unwrap_or_default();
        let less = |install: u64, query: u64| install.checked_sub(query).filter(|rest| *rest > 0);
        if let Some(rest) = less(install.wall_ns, query.wall_ns) {
            meter.count(WITHOUT_QUERY, rest);
        }
        let cpu_us = |sample: &Sample| sample.usage.map_or(0, |usage| usage.cpu_us());
        if let Some(rest) = less(cpu_us(&install), cpu_us(&query)) {
            meter.count(CPU_WITHOUT_QUERY, rest * 1000);
        }
        Ok(())
    }
}

/// One run of the floor over `wheels`, in a fresh folder of `work`.
pub(crate) fn floor_work(
    work: &RefCell<Workdir>,
    layout: Layout,
    wheels: Vec<String>,
) -> Result<Work<'_>, Error> {
    let own = std::env::current_exe()
        .map_err(|error| Error::unavailable(format!("this program ({error})"), "build it"))?;
    Ok(Box::new(move |meter| {
        let mut command = std::process::Command::new(&own);
        command.args(["--floor", layout.word()]).arg(work.borrow().unused("floor")).args(&wheels);
        Ok(meter.measure_command(&mut command)?)
    }))
}

/// The work of one tool.
pub(crate) type Work<'a> = Box<dyn FnMut(&mut Meter<'_, '_>) -> Result<(), CaseError> + 'a>;

/// The goals are mini-uv's: the same against both cache modes of uv, another one against itself.
pub(crate) fn with_cases<'a>(
    mut paired: Paired<'a>,
    against: Against,
    work: impl Fn(Tool) -> Work<'a>,
    queries: bool,
) -> Paired<'a> {
    for (at, tool) in against.tools().iter().enumerate() {
        paired = if at == 0 {
            paired.reference_metered(tool.name(), work(*tool))
        } else {
            paired.case_metered(tool.name(), work(*tool))
        };
    }
    let goal = if against == Against::Uv { GOAL } else { GOAL_SHARING };
    paired = paired.goal_on(Metric::Wall, goal).goal_on(Metric::Cpu, goal);
    if against == Against::Itself {
        return paired;
    }
    let other = Tool::UvContentAddressed.name();
    paired = paired.goal_against(other, Metric::Wall, GOAL).goal_against(other, Metric::Cpu, GOAL);
    if !queries {
        return paired;
    }
    paired
        .goal_on(Metric::counter(WITHOUT_QUERY), GOAL)
        .goal_on(Metric::counter(CPU_WITHOUT_QUERY), GOAL)
}

/// A tool that installs nothing would be the fastest.
pub(crate) fn check(environment: &Path, package: Package) -> Result<(), CaseError> {
    let lib = environment.join("lib");
    let python = std::fs::read_dir(&lib)?.next().ok_or("the environment has no library")??;
    let top = python.path().join("site-packages");
    // Some packages write their names with capitals.
    let info = format!("{}-{}.dist-info", package.name, package.version);
    let mut entries =
        std::fs::read_dir(&top)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let info =
        entries.find(|name| name.eq_ignore_ascii_case(&info)).ok_or("nothing was installed")?;
    let text = std::fs::read_to_string(top.join(info).join("RECORD"))?;
    let lines = text.lines().filter(|line| !line.starts_with("../")).step_by(50);
    for name in lines.filter_map(|line| line.split(',').next()) {
        if !name.starts_with('"') && !top.join(name).is_file() {
            return Err(format!("`{name}` was not installed").into());
        }
    }
    Ok(())
}
