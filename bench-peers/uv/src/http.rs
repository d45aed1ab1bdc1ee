//! Fourteen pinned packages over loopback HTTP, cold: the experiment of astral-sh/uv#21340.

use std::cell::RefCell;
use std::path::PathBuf;

use bench_util::{
    CaseError, Comparison, Error, Meter, Metric, Paired, Place, Report, Settings, Workdir,
};

use crate::floor::{self, Layout};
use crate::local::{Against, FLOOR_NOTE, GOAL, check, floor_work, with_cases};
use crate::server::Server;
use crate::tools::{Tool, Tools};
use crate::wheels::{ARM, ENVIRONMENT, Package, Wheels};

const SIZE_BYTES: u64 = 8 << 30;
const FULL_BYTES: u64 = 2 << 30;

/// The packages, and the server that has them.
pub(crate) struct Remote<'a> {
    tools: &'a Tools,
    settings: &'a Settings,
    packages: Vec<Package>,
    /// Addresses of the wheels, largest first, as mini-uv takes them.
    addresses: Vec<String>,
    index: String,
}

impl<'a> Remote<'a> {
    /// Starts the server.
    pub(crate) fn serve(
        tools: &'a Tools,
        wheels: &Wheels<'_>,
        settings: &'a Settings,
        without_torch: bool,
    ) -> Result<Self, Error> {
        let is_left_out = |package: &Package| without_torch && package.name == "torch";
        let packages: Vec<Package> =
            ENVIRONMENT.into_iter().filter(|package| !is_left_out(package)).collect();
        let mut files: Vec<PathBuf> =
            packages.iter().map(|package| wheels.find(*package)).collect::<Result<_, _>>()?;
        files.sort_by_key(|file| {
            std::cmp::Reverse(file.metadata().map_or(0, |metadata| metadata.len()))
        });
        let server = Server::start(&files).map_err(|error| {
            Error::unavailable(format!("a loopback server ({error})"), "allow loopback connections")
        })?;
        let addresses = files.iter().map(|file| server.file(file)).collect();
        Ok(Self { tools, settings, packages, addresses, index: server.index() })
    }

    /// Measures both programs, and what neither could do without.
    pub(crate) fn run(&self, report: &mut Report) {
        let name = format!("{} packages over loopback HTTP, cold", self.packages.len());
        report.add_or_failed(&name, self.install(&name));
        report.add_or_failed(&format!("{name}, the floor"), self.floor(&name));
    }

    fn install(&self, name: &str) -> Result<Comparison, Error> {
        let work = RefCell::new(Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?);
        let work = &work;
        let paired = self.paired(name.to_owned(), work);
        let case = |tool| -> crate::local::Work<'_> {
            Box::new(move |meter| self.measure(meter, tool, &work.borrow()))
        };
        let comparison = with_cases(paired, Against::Uv, case, false).run()?;
        let how =
            "For 64-bit ARM, from a server in the benchmark's own process; four downloads at once.";
        Ok(comparison.note(how))
    }

    fn floor(&self, name: &str) -> Result<Comparison, Error> {
        let work = RefCell::new(Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?);
        let work = &work;
        let (uv, other) = (Tool::Uv, Tool::UvContentAddressed);
        let floor = floor_work(work, Layout::Shared, self.addresses.clone())?;
        let paired = self
            .paired(format!("{name}, the floor"), work)
            .reference_metered(uv.name(), move |meter| self.measure(meter, uv, &work.borrow()))
            .case_metered(other.name(), move |meter| self.measure(meter, other, &work.borrow()))
            .case_metered(floor::NAME, floor)
            .goal_on(Metric::Wall, GOAL)
            .goal_on(Metric::Cpu, GOAL)
            .goal_against(other.name(), Metric::Wall, GOAL)
            .goal_against(other.name(), Metric::Cpu, GOAL);
        Ok(paired.run()?.note(FLOOR_NOTE))
    }

    fn paired<'p>(&self, name: String, work: &'p RefCell<Workdir>) -> Paired<'p> {
        let before = || Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?);
        Paired::new(name).settings(self.settings).before_round(before)
    }

    fn measure(
        &self,
        meter: &mut Meter<'_, '_>,
        tool: Tool,
        work: &Workdir,
    ) -> Result<(), CaseError> {
        let (cache, environment) = (work.unused("cache"), work.unused("env"));
        self.tools.environment(&environment)?;
        let mut install = self.tools.install(tool, &cache, &environment);
        install.args(["--python-platform", ARM, "--default-index", &self.index]);
        install.args(self.packages.iter().map(|one| format!("{}=={}", one.name, one.version)));
        install.env("UV_CONCURRENT_DOWNLOADS", "4").env("UV_CONCURRENT_INSTALLS", "4");
        meter.measure_command(&mut install)?;
        self.packages.iter().try_for_each(|package| check(&environment, *package))
    }
}
