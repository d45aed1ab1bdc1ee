//! The Python half: real wheels into two environments, the second from the cache alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::python::Python;
use super::table::{Table, bytes, seconds};
use super::{Tools, folder, status};
use crate::tree::Census;
use crate::{Result, shell};

/// Top-level requirements; pip adds what they need.
const PACKAGES: &[&str] = &["sympy", "numpy", "anyio"];

/// Proof that the installed files work, with a result that an empty module could not give.
const SMOKE_TEST: &str = "import sympy, numpy, anyio; \
    x = sympy.Symbol('x'); \
    print(sympy.diff(x**3, x), numpy.arange(6).reshape(2, 3).sum())";
const SMOKE_RESULT: &str = "3*x**2 15";

pub(super) fn install(
    work: &Path,
    python: &Python,
    tools: &Tools,
    table: &mut Table,
) -> Result<()> {
    let wheels = download(&folder(work, "wheels")?, python)?;
    table.row("wheels through pip", describe_wheels(&wheels, python)?);
    let install = Install { work, python, tools, cache: work.join("uv-cache") };
    let cold = install.fresh_environment("env1", &wheels)?;
    let warm = install.fresh_environment("env2", &wheels)?;
    report(&install, [cold, warm], table)
}

/// Asks pip for the wheels of [`PACKAGES`] and of everything they need.
fn download(into: &Path, python: &Python) -> Result<Vec<PathBuf>> {
    status("Downloading", &format!("{} and what they need, with pip", PACKAGES.join(", ")));
    let mut pip = python.command();
    pip.args(["-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest"]).arg(into);
    shell::output(pip.args(PACKAGES))?;
    let mut wheels: Vec<_> =
        fs::read_dir(into)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    wheels.sort();
    Ok(wheels)
}

fn describe_wheels(wheels: &[PathBuf], python: &Python) -> Result<String> {
    let mut total = 0;
    for wheel in wheels {
        total += fs::metadata(wheel)?.len();
    }
    Ok(format!("{} wheels, {}, CPython {}", wheels.len(), bytes(total), python.version))
}

/// What every installation of the demo has in common.
struct Install<'a> {
    work: &'a Path,
    python: &'a Python,
    tools: &'a Tools,
    cache: PathBuf,
}

impl Install<'_> {
    /// Makes an environment, installs, and lets the real interpreter and the real pip judge.
    fn fresh_environment(&self, name: &str, wheels: &[PathBuf]) -> Result<Duration> {
        let environment = self.work.join(name);
        shell::output(
            self.mini_uv(["venv", "--python"]).arg(self.python.program()).arg(&environment),
        )?;
        let mut install = self.mini_uv(["pip", "install", "--no-deps"]);
        install.args(wheels).arg("--python").arg(&environment);
        let (_, took) = shell::timed(&mut install)?;
        status("Installed", &format!("{name} in {}", seconds(took)));
        import(&environment)?;
        self.pip_check(&environment)?;
        Ok(took)
    }

    fn mini_uv<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(&self.tools.mini_uv);
        command.arg("--cache-dir").arg(&self.cache).args(arguments).current_dir(self.work);
        command
    }

    fn pip_check(&self, environment: &Path) -> Result<()> {
        let mut check = self.python.command();
        check.args(["-m", "pip", "--python"]).arg(interpreter(environment)).arg("check");
        let verdict = shell::output(&mut check)?;
        status("Checked", &format!("pip check: {}", verdict.trim()));
        Ok(())
    }
}

/// Runs the environment's own interpreter and compares its answer.
fn import(environment: &Path) -> Result<()> {
    let answer = shell::output(Command::new(interpreter(environment)).args(["-c", SMOKE_TEST]))?;
    if answer.trim() != SMOKE_RESULT {
        return Err(format!("expected `{SMOKE_RESULT}` from the import, got `{answer}`").into());
    }
    status("Imported", &format!("sympy, numpy, anyio: {}", answer.trim()));
    Ok(())
}

fn interpreter(environment: &Path) -> PathBuf {
    environment.join("bin").join("python")
}

fn report(install: &Install<'_>, times: [Duration; 2], table: &mut Table) -> Result<()> {
    let [first, second] = ["env1", "env2"].map(|name| Census::of(&install.work.join(name)));
    let (first, second) = (first?, second?);
    for ((name, census), took) in
        [("env1, cold", &first), ("env2, from the cache", &second)].into_iter().zip(times)
    {
        let (files, size) = (census.names, bytes(census.name_bytes));
        table.row(name, format!("{files} files, {size}, {}", seconds(took)));
    }
    let mut all = Census::of(&install.cache)?;
    all.add(&install.work.join("env1"))?;
    all.add(&install.work.join("env2"))?;
    table.row("shared by both", format!("{} inodes", first.shared_with(&second)));
    table.row("highest link count", all.links_max().to_string());
    table.row("cache and both environments", disk(&all));
    Ok(())
}

fn disk(all: &Census) -> String {
    let (names, inodes) = (all.names, all.inode_count());
    let (listed, stored) = (bytes(all.name_bytes), bytes(all.inode_bytes()));
    format!("{names} names of {listed}, {inodes} inodes of {stored}")
}
