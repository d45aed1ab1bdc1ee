//! Where an environment keeps what: the scheme that maps a wheel's parts to folders.
//!
//! A target folder (`--target`) is an environment of its own shape. Finding the environment follows
//! uv: `--python`, then `VIRTUAL_ENV`, then `.venv` here or above.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};

use crate::fault::Advise;
use crate::interpreter::{self, Interpreter};

/// An interpreter and the folders that packages for it go to.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) interpreter: Interpreter,
    pub(crate) roots: Roots,
    /// The file whose lock makes this process the only one to change the environment.
    pub(crate) lock: PathBuf,
}

/// The folders of an installation scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Roots {
    pub(crate) purelib: PathBuf,
    pub(crate) platlib: PathBuf,
    pub(crate) scripts: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) include: PathBuf,
}

impl Environment {
    /// The environment that `interpreter` belongs to.
    pub(crate) fn of(interpreter: Interpreter) -> Self {
        let roots = Roots {
            purelib: interpreter.purelib.clone(),
            platlib: interpreter.platlib.clone(),
            scripts: interpreter.scripts.clone(),
            data: interpreter.data.clone(),
            include: interpreter.include.clone(),
        };
        let lock = if interpreter.is_virtual() {
            interpreter.prefix.join(".lock")
        } else {
            interpreter.purelib.join(".mini-uv.lock")
        };
        Self { interpreter, roots, lock }
    }

    /// A plain folder that packages for `interpreter` are put into.
    pub(crate) fn target(dir: &Path, interpreter: Interpreter) -> anyhow::Result<Self> {
        let dir = std::path::absolute(dir)?;
        let roots = Roots {
            purelib: dir.clone(),
            platlib: dir.clone(),
            scripts: dir.join("bin"),
            data: dir.clone(),
            include: dir.join("include"),
        };
        Ok(Self { interpreter, roots, lock: dir.join(".lock") })
    }

    /// Refuses an environment that only the system's package manager may change.
    pub(crate) fn ensure_writable(&self, allowed: bool) -> anyhow::Result<()> {
        match self.interpreter.externally_managed() {
            Some(marker) if !allowed && self.roots.purelib == self.interpreter.purelib => Err(
                anyhow::anyhow!(
                    "the interpreter at `{}` is externally managed (`{}`)",
                    self.interpreter.executable.display(),
                    marker.display()
                ),
            )
            .hint("create an environment with `mini-uv venv`, or pass `--break-system-packages`"),
            _ => Ok(()),
        }
    }
}

impl Roots {
    /// The folders that a package's files may be in.
    pub(crate) fn all(&self) -> [&Path; 5] {
        [&self.purelib, &self.platlib, &self.scripts, &self.data, &self.include]
    }

    /// The folders that are searched for installed packages.
    pub(crate) fn sites(&self) -> Vec<&Path> {
        let mut sites = vec![&*self.purelib];
        if !same_folder(&self.purelib, &self.platlib) {
            sites.push(&self.platlib);
        }
        sites
    }
}

/// True when two paths lead to one folder, as `lib` and `lib64` do.
fn same_folder(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The interpreter of the environment that a command is about.
pub(crate) fn discover(python: Option<&str>) -> anyhow::Result<PathBuf> {
    if let Some(request) = python {
        return interpreter::locate(request);
    }
    if let Some(active) = std::env::var_os("VIRTUAL_ENV").filter(|dir| !dir.is_empty()) {
        return interpreter::in_environment(Path::new(&active)).context("VIRTUAL_ENV is set");
    }
    let here = std::env::current_dir().context("failed to find the current folder")?;
    let found = here.ancestors().map(|dir| dir.join(".venv")).find(|dir| dir.is_dir());
    match found {
        Some(dir) => interpreter::in_environment(&dir),
        None => Err(anyhow::anyhow!("no virtual environment found"))
            .hint("run `mini-uv venv` to create one, or name an environment with `--python`"),
    }
}

/// `path` as RECORD writes it: relative to `site`, with `/`.
pub(crate) fn relative(path: &Path, site: &Path) -> anyhow::Result<String> {
    let common = path.components().zip(site.components()).take_while(|(a, b)| a == b).count();
    let ups = site.components().skip(common).map(|_| "..");
    let downs = path.components().skip(common).map(|part| part.as_os_str().to_str());
    let mut parts: Vec<&str> = ups.collect();
    for part in downs {
        parts.push(part.with_context(|| format!("`{}` is not valid Unicode", path.display()))?);
    }
    Ok(parts.join("/"))
}

/// `site` joined with a RECORD path, `..` resolved in the text, without asking the file system.
pub(crate) fn resolve(site: &Path, recorded: &str) -> anyhow::Result<PathBuf> {
    let mut path = PathBuf::new();
    for component in site.join(recorded).components() {
        match component {
            Component::ParentDir if path.parent().is_none() => {
                bail!("`{recorded}` leads out of the file system")
            }
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_recorded_relative_to_the_packages() {
        let site = Path::new("/v/lib/python3.12/site-packages");
        let recorded = relative(Path::new("/v/bin/x"), site).unwrap();
        assert_eq!(recorded, "../../../bin/x");
        assert_eq!(resolve(site, &recorded).unwrap(), Path::new("/v/bin/x"));
        assert_eq!(relative(&site.join("a/b.py"), site).unwrap(), "a/b.py");
    }

    #[test]
    fn a_record_cannot_lead_above_the_root() {
        assert!(resolve(Path::new("/v"), "../../../etc").is_err());
    }
}
