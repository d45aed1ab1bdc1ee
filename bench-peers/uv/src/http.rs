//! Fourteen pinned packages over loopback HTTP, cold: the experiment of astral-sh/uv#21340.

use std::cell::RefCell;
use std::path::PathBuf;

use bench_util::{CaseError, Comparison, Error, Paired, Place, Settings, Workdir};

use crate::local::{Against, check, with_cases};
use crate::server::Server;
use crate::tools::Tools;
use crate::wheels::{ARM, ENVIRONMENT, Package, Wheels};

const SIZE_BYTES: u64 = 8 << 30;
const FULL_BYTES: u64 = 2 << 30;

pub(crate) fn run(
    tools: &Tools,
    wheels: &Wheels<'_>,
    settings: &Settings,
    without_torch: bool,
) -> Result<Comparison, Error> {
    let chosen: Vec<Package> = ENVIRONMENT
        .into_iter()
        .filter(|package| !(without_torch && package.name == "torch"))
        .collect();
    let files: Vec<PathBuf> =
        chosen.iter().map(|package| wheels.find(*package)).collect::<Result<_, _>>()?;
    let server = Server::start(&files).map_err(|error| {
        Error::unavailable(format!("a loopback server ({error})"), "allow loopback connections")
    })?;
    let work = RefCell::new(Workdir::on(&Place::JournaledExt4 { size_bytes: SIZE_BYTES })?);
    let before = || Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?);
    let name = format!("{} packages over loopback HTTP, cold", chosen.len());
    let paired = Paired::new(name).settings(settings).before_round(before);
    let (chosen, index, work) = (&chosen, server.index(), &work);
    let index = &index;
    let comparison = with_cases(
        paired,
        Against::Uv,
        |tool| {
            Box::new(move |meter| {
                let (cache, environment) =
                    (work.borrow().unused("cache"), work.borrow().unused("env"));
                tools.environment(&environment)?;
                let mut install = tools.install(tool, &cache, &environment);
                install.args(["--python-platform", ARM, "--default-index", index]);
                install.args(chosen.iter().map(|one| format!("{}=={}", one.name, one.version)));
                install.env("UV_CONCURRENT_DOWNLOADS", "4").env("UV_CONCURRENT_INSTALLS", "4");
                meter.measure_command(&mut install)?;
                chosen.iter().try_for_each(|package| check(&environment, *package))
                    as Result<(), CaseError>
            })
        },
        false,
    )
    .run()?;
    let how =
        "For 64-bit ARM, from a server in the benchmark's own process; four downloads at once.";
    Ok(comparison.note(how))
}
