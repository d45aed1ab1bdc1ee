//! What is locked: the workspaces of `--data`, and crates as their authors published them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::programs::Programs;

/// A folder with a manifest, and the home it is locked with.
pub(crate) struct Project {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    pub(crate) programs: Programs,
    /// Whether cargo may fill the index before anything is compared.
    pub(crate) online: bool,
}

/// All projects, each made ready when it is its turn.
pub(crate) fn find<'a>(
    data: Option<&'a Path>,
    published: &'a [String],
    work: &'a Path,
) -> Result<impl Iterator<Item = Result<Project>> + 'a> {
    let pinned = Programs::new(work.join("pinned"))?;
    let live = Programs::new(work.join("live"))?;
    let mut archives = Vec::new();
    if let Some(data) = data {
        copy(&data.join("cargo-home"), &pinned.home).context("DIR/cargo-home")?;
        let listed = fs::read_dir(data.join("workspaces")).context("DIR/workspaces")?;
        archives = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        archives.sort();
    }
    let given = archives.into_iter().map(move |path| workspace(&path, work, &pinned));
    Ok(given.chain(published.iter().map(move |name| release(name, work, &live))))
}

fn workspace(source: &Path, work: &Path, pinned: &Programs) -> Result<Project> {
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let target = work.join("workspaces").join(&name);
    fs::create_dir_all(&target)?;
    if source.is_dir() {
        copy(source, &target)?;
    } else {
        let mut tar = Command::new("tar");
        let status = tar.arg("-xzf").arg(source).arg("-C").arg(&target).status();
        if !status.context("failed to run tar")?.success() {
            bail!("tar cannot unpack {}", source.display());
        }
    }
    let programs = pinned.clone();
    Ok(Project { name, dir: manifest_dir(&target)?, programs, online: false })
}

/// The folder itself, or the one folder that an archive has in it.
fn manifest_dir(target: &Path) -> Result<PathBuf> {
    if target.join("Cargo.toml").is_file() {
        return Ok(target.to_owned());
    }
    for entry in fs::read_dir(target)? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            return Ok(path);
        }
    }
    bail!("no Cargo.toml in {}", target.display())
}

/// Cargo downloads a crate alone to tell about it, and unpacks it in its home.
fn release(spec: &str, work: &Path, live: &Programs) -> Result<Project> {
    let name = spec.replace('@', "-");
    let shop = Programs::new(work.join("shop"))?;
    shop.cargo_online(work, &["info", "--quiet", spec])?;
    let sources = fs::read_dir(shop.home.join("registry").join("src"))?;
    let unpacked = sources.map(|registry| Ok(registry?.path().join(&name)));
    let unpacked = unpacked.collect::<Result<Vec<_>>>()?.into_iter().find(|path| path.is_dir());
    let dir = work.join("published").join(&name);
    copy(&unpacked.with_context(|| format!("cargo did not unpack {spec}"))?, &dir)?;
    Ok(Project { name, dir, programs: live.clone(), online: true })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("failed to list {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
