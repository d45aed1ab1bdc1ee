//! The workspaces to lock: the user's, or else this repository's own and cargo's own crate.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{Error, Report, Settings, Workdir, output_of};

use crate::{LARGE, copy};

/// Locked when there is no `--data`.
const PUBLISHED: &str = "cargo@0.91.0";

pub(crate) struct Project {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Every workspace of `--data`, smallest archive first; else this repository.
pub(crate) fn find(
    settings: &Settings,
    work: &Workdir,
    report: &mut Report,
) -> Result<Vec<Project>, Error> {
    let mut projects = Vec::new();
    let given = settings.data.as_ref().map(|data| data.join("workspaces"));
    for source in given.iter().flat_map(|folder| sorted(folder)) {
        match unpack(&source, work) {
            Ok(project) => projects.push(project),
            Err(error) => {
                report.failed(&source.file_name().unwrap_or_default().to_string_lossy(), &error);
            }
        }
    }
    if projects.is_empty() {
        projects.push(own(work)?);
        match published(work) {
            Ok(project) => projects.push(project),
            Err(error) => report.failed(PUBLISHED, &error),
        }
    }
    projects.retain(|project| !settings.quick || is_for_quick(&project.name));
    Ok(projects)
}

fn is_for_quick(name: &str) -> bool {
    ["this repository", "toml-rs", PUBLISHED, LARGE].contains(&name)
}

/// The workspace to build: a small one, with something in it.
pub(crate) fn to_build(projects: &[Project]) -> usize {
    projects.iter().position(|project| project.name != "empty").unwrap_or(0)
}

/// Cargo, as its authors publish it: real cargo downloads it alone to tell about it.
fn published(work: &Workdir) -> Result<Project, Error> {
    let home = work.fresh("shop")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut info = Command::new(cargo);
    info.args(["info", "--quiet", PUBLISHED]).current_dir(&home).env("CARGO_HOME", &home);
    output_of(&mut info)?;
    let name = PUBLISHED.replace('@', "-");
    let registries = sorted(&home.join("registry").join("src"));
    let unpacked = registries.iter().map(|path| path.join(&name)).find(|path| path.is_dir());
    let unpacked = unpacked.ok_or_else(|| Error::unavailable(PUBLISHED, "see cargo's message"))?;
    let path = work.fresh("published")?;
    copied(&unpacked, &path)?;
    Ok(Project { name: PUBLISHED.to_owned(), path })
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    paths.sort_by_key(|path| {
        (fs::metadata(path).map_or(0, |metadata| metadata.len()), path.clone())
    });
    paths
}

/// A `.tgz` holds one folder; a folder is taken as it is.
fn unpack(source: &Path, work: &Workdir) -> Result<Project, Error> {
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let target = work.fresh(&name)?;
    if source.is_dir() {
        copied(source, &target)?;
        return Ok(Project { name, path: target });
    }
    output_of(Command::new("tar").arg("-xzf").arg(source).arg("-C").arg(&target))?;
    let path = sorted(&target).into_iter().find(|path| path.join("Cargo.toml").is_file());
    let path = path.ok_or_else(|| Error::unavailable("a Cargo.toml in it", "check the archive"))?;
    Ok(Project { name, path })
}

/// What is checked out here, without what was built.
fn own(work: &Workdir) -> Result<Project, Error> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let path = work.fresh("own")?;
    for part in ["crates", "examples", "xtask"] {
        copied(&repository.join(part), &path.join(part))?;
    }
    let manifest = "Cargo.toml";
    fs::copy(repository.join(manifest), path.join(manifest)).map_err(missing)?;
    Ok(Project { name: "this repository".to_owned(), path })
}

fn copied(from: &Path, to: &Path) -> Result<(), Error> {
    copy::tree(from, to).map_err(missing)
}

fn missing(error: std::io::Error) -> Error {
    Error::unavailable(format!("a workspace ({error})"), "run from a checkout with free memory")
}
