//! The same mini-cargo over each store: what does the place of the records cost?
//!
//! The measured process is this very program, called with [`AS_MINI_CARGO`]: it opens the store and
//! hands it to mini-cargo. With the index cache it runs mini-cargo as it is, so all cases share one
//! binary, one start-up and one search.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::rc::Rc;

use anyhow::{Context as _, Result};
use bench_util::{Comparison, Error, Paired, Settings, Workdir, conclude, output_of};

use crate::locks::Lock;
use crate::projects::Project;
use crate::stores::{KINDS, Kind, index_of};
use crate::tools::Tools;

/// `bench-cargo --as-mini-cargo STORE FOLDER ARGUMENTS...`
pub(crate) const AS_MINI_CARGO: &str = "--as-mini-cargo";
/// The STORE that is mini-cargo's own.
const OWN: &str = "index-cache";

/// What the measured process does.
pub(crate) fn child(mut arguments: std::env::Args) -> ExitCode {
    let (kind, folder) = (arguments.next(), arguments.next());
    let rest = std::iter::once("mini-cargo".into()).chain(arguments.map(Into::into));
    match open(kind, folder) {
        Ok(None) => mini_cargo::run(rest),
        Ok(Some(store)) => mini_cargo::run_over(Rc::new(store), rest),
        Err(error) => conclude(Err(error)),
    }
}

fn open(kind: Option<String>, folder: Option<String>) -> Result<Option<crate::stores::Opened>> {
    let (kind, folder) = (kind.context("no store named")?, folder.context("no folder named")?);
    if kind == OWN {
        return Ok(None);
    }
    Kind::named(&kind)?.open(Path::new(&folder)).map(Some)
}

/// One store on disk.
struct Filled {
    title: String,
    id: &'static str,
    folder: PathBuf,
}

/// Fills every store once, checks that each gives cargo's lock, and measures them in pairs.
pub(crate) fn compare(
    home: &Path,
    work: &Workdir,
    settings: &Settings,
    project: &Project,
) -> Result<(Comparison, Vec<String>), Error> {
    eprintln!("        Filling {} stores for {}", KINDS.len(), project.name);
    let program = std::env::current_exe().map_err(|error| unusable("this program", error))?;
    let run = |filled: &Filled, arguments: &[&str]| -> Command {
        let mut command = Tools::child(&program, home, &filled.folder, &project.path);
        command.arg(AS_MINI_CARGO).arg(filled.id).arg(&filled.folder).args(arguments);
        command.arg("--offline").stdin(std::process::Stdio::null());
        command
    };
    let stores = filled(home, work)?;
    output_of(&mut run(&stores[KINDS.len()], &["cache", "import"]))?;
    let lock = agreed(&stores, &project.path, |store| run(store, &["generate-lockfile"]))?;
    let name = format!("{}: generate-lockfile over other stores", project.name);
    let mut paired = Paired::new(name).settings(settings);
    for (at, store) in stores.iter().enumerate() {
        let (lock, run) = (&lock, &run);
        let ready = move |_: usize| {
            lock.remove()?;
            Ok(run(store, &["generate-lockfile"]))
        };
        paired = match at {
            0 => paired.reference_command(&*store.title, ready),
            _ => paired.case_command(&*store.title, ready),
        };
    }
    let sizes = stores.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    Ok((paired.run()?, sizes))
}

fn filled(home: &Path, work: &Workdir) -> Result<Vec<Filled>, Error> {
    let index = index_of(home).map_err(|error| unusable("the index", error))?;
    let mut stores = Vec::new();
    for kind in KINDS {
        let folder = work.fresh(kind.id())?;
        kind.fill(&index, &folder).map_err(|error| unusable(kind.id(), error))?;
        stores.push(Filled { title: kind.title(), id: kind.id(), folder });
    }
    let folder = work.fresh(OWN)?;
    let title = "index-cache, records, checksums".to_owned();
    stores.push(Filled { title, id: OWN, folder });
    Ok(stores)
}

/// The lock that all stores lead to; that they differ would make every number worthless.
fn agreed(
    stores: &[Filled],
    project: &Path,
    run: impl Fn(&Filled) -> Command,
) -> Result<Lock, Error> {
    let lock = Lock::read(project).map_err(|error| unusable("the lock file", error))?;
    for store in stores {
        lock.remove().map_err(|error| unusable("the lock file", error))?;
        output_of(&mut run(store))?;
        let lines = lock.difference().map_err(|error| unusable("the lock file", error))?;
        if lines > 0 {
            let what = format!("equal locks (over {} {lines} lines differ)", store.title);
            return Err(Error::unavailable(what, "report it as a bug"));
        }
    }
    Ok(lock)
}

fn size(store: &Filled) -> Result<String, Error> {
    let usage = bench_util::disk_usage(&store.folder)?;
    let megabytes = usage.apparent_bytes / 1_000_000;
    Ok(format!("{}: {megabytes} MB in {} files.", store.title, usage.files))
}

fn unusable(what: &str, error: impl std::fmt::Display) -> Error {
    Error::unavailable(format!("{what} ({error:#})"), "see its message")
}
