//! `.crate` files: processor time against the tar crate's `unpack`.
//!
//! They are those of `--data DIR/cargo-home`, else of the user's cargo home, else what `cargo fetch` gets
//! for the lock files of this repository: several hundred packages, the same ones for everybody. The
//! heading says how many there were.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_extract::{Result, kept};
use bench_util::{
    CaseError, Comparison, Error, Goal, Metric, Paired, Place, Report, Settings, Workdir,
};
use stream_extract::{DirectorySink, Extractor, Limits, Policy, Scratch};

use crate::cases::READ_BYTES;
use crate::tools;

const FULL_BYTES: u64 = 6 << 30;
/// As many as the measurement that set the goal.
const CRATES: usize = 799;

pub(crate) fn run(settings: &Settings, report: &mut Report) -> std::result::Result<(), Error> {
    eprintln!("   Extracting crates");
    report.add_or_failed("crates", compare(settings));
    Ok(())
}

fn compare(settings: &Settings) -> std::result::Result<Comparison, Error> {
    let most = if settings.quick { 100 } else { CRATES };
    let files = files(settings, most)?;
    let inputs = Workdir::on(&Place::Memory)?;
    let copy = files.iter().try_for_each(|file| {
        fs::copy(file, inputs.path().join(file.file_name().unwrap_or_default())).map(drop)
    });
    copy.map_err(|error| Error::unavailable(format!("copies ({error})"), "see the reason"))?;
    let work = RefCell::new(Workdir::on(&Place::Memory)?);
    let exe = std::env::current_exe().unwrap_or_else(|_| "bench-extract".into());
    let (folder, work, exe) = (inputs.path(), &work, &exe);
    let own = |case: &'static str| {
        move |_| {
            let mut command = Command::new(exe);
            command.args(["run", case]).arg(folder).arg(work.borrow().unused("tree"));
            Ok::<_, CaseError>(command)
        }
    };
    Paired::new(format!("{} .crate files, processor time", files.len()))
        .settings(settings)
        .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?))
        .reference_command("tar, unpack", own("tar-crates"))
        .case_command("ours, no hash", own("ours-crates"))
        .goal_on(Metric::Cpu, Goal::AtMost(0.70))
        .case_command("ours, BLAKE3", own("ours-crates-hash"))
        .goal_on(Metric::Cpu, Goal::AtMost(0.80))
        .run()
}

/// The first files of the first cargo home that has `most`, else of the one that `cargo fetch` fills.
fn files(settings: &Settings, most: usize) -> std::result::Result<Vec<PathBuf>, Error> {
    let given = settings.data.as_ref().map(|data| data.join("cargo-home"));
    let homes = given.into_iter().chain(cargo_home());
    let complete = homes.map(|home| find(&home, most)).find(|files| files.len() == most);
    complete.map_or_else(|| fetch().map(|home| find(&home, most)), Ok)
}

fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}

/// Every package of the repository's lock files, in a cargo home of our own. The registry is the one
/// that the user's cargo uses.
fn fetch() -> std::result::Result<PathBuf, Error> {
    let home = kept::folder("cargo-home")?;
    let config = cargo_home().map(|home| home.join("config.toml")).filter(|file| file.is_file());
    for manifest in ["Cargo.toml", "bench-peers/Cargo.toml", "bench-peers/extract/uv/Cargo.toml"] {
        eprintln!("    Fetching the packages of {manifest}");
        let mut cargo = Command::new("cargo");
        cargo.env("CARGO_HOME", &home);
        if let Some(config) = &config {
            cargo.arg("--config").arg(config);
        }
        cargo.args(["fetch", "--locked", "--quiet", "--manifest-path"]);
        cargo.arg(kept::repository().join(manifest));
        tools::cargo(&mut cargo).map_err(|why| {
            let what = format!("the .crate files of {manifest} ({why})");
            Error::unavailable(what, "give --data DIR with cargo-home/, as cargo fills it")
        })?;
    }
    Ok(home)
}

/// The first files by name below `registry/cache`.
fn find(home: &Path, most: usize) -> Vec<PathBuf> {
    let cache = fs::read_dir(home.join("registry").join("cache")).into_iter().flatten();
    let registries = cache.filter_map(|entry| fs::read_dir(entry.ok()?.path()).ok());
    let mut files: Vec<PathBuf> = registries
        .flat_map(|files| files.filter_map(|file| Some(file.ok()?.path())))
        .filter(|path| path.extension().is_some_and(|extension| extension == "crate"))
        .collect();
    files.sort();
    files.truncate(most);
    files
}

fn each(folder: &Path, mut one: impl FnMut(&Path, &str) -> Result<()>) -> Result<()> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    files.iter().try_for_each(|path| {
        let root = path.file_stem().and_then(|stem| stem.to_str()).ok_or("an odd name")?;
        one(path, root)
    })
}

pub(crate) fn ours(folder: &Path, target: &Path, hash: bool) -> Result<()> {
    fs::create_dir(target)?;
    let mut scratch = Scratch::new();
    each(folder, |path, root| {
        let reader = BufReader::with_capacity(READ_BYTES, File::open(path)?);
        let extractor = Extractor::new().policy(Policy::crate_()).limits(Limits::crate_file());
        let sink = DirectorySink::create(target.join(root))?;
        extractor.blake3(hash).crate_(reader, root, &mut scratch, sink)?;
        Ok(())
    })
}

pub(crate) fn tar(folder: &Path, target: &Path) -> Result<()> {
    fs::create_dir(target)?;
    each(folder, |path, _| {
        let reader = BufReader::with_capacity(READ_BYTES, File::open(path)?);
        let mut archive = tar::Archive::new(flate2::bufread::GzDecoder::new(reader));
        archive.set_preserve_mtime(false);
        archive.unpack(target)?;
        Ok(())
    })
}
