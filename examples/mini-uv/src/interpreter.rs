//! Asks a Python interpreter what an installer must know: where packages go, which markers hold,
//! which wheels fit.
//!
//! Starting Python costs 20-50 ms, more than many installs, so the answer is kept by the caller
//! (`cache.rs`) under the executable's path and is believed while the executable, what it links to
//! and its `pyvenv.cfg` are unchanged. This file starts processes and keeps nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, bail, ensure};
use pep440_rs::Version;
use pep508_rs::{MarkerEnvironment, StringVersion};
use serde::{Deserialize, Serialize};

use crate::fault::Advise;
use crate::identity;

const PROBE: &str = include_str!("probe.py");

/// The oldest version that the scripts made here run with.
const OLDEST: (u32, u32) = (3, 9);

/// What one interpreter said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Interpreter {
    pub(crate) executable: PathBuf,
    pub(crate) prefix: PathBuf,
    pub(crate) base_prefix: PathBuf,
    pub(crate) base_executable: PathBuf,
    pub(crate) purelib: PathBuf,
    pub(crate) platlib: PathBuf,
    pub(crate) scripts: PathBuf,
    pub(crate) data: PathBuf,
    /// Headers of package `x` go to the folder `x` inside.
    pub(crate) include: PathBuf,
    pub(crate) stdlib: PathBuf,
    /// Major and minor.
    pub(crate) version: (u32, u32),
    pub(crate) bits: u32,
    /// `sysconfig.get_platform()`.
    pub(crate) platform: String,
    /// The system's version on macOS, else empty.
    pub(crate) macos: String,
    pub(crate) gil_disabled: bool,
    pub(crate) debug: bool,
    pub(crate) soabi: String,
    pub(crate) libc: Libc,
    pub(crate) markers: MarkerEnvironment,
}

/// The C library that a Linux interpreter runs on.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Libc {
    #[serde(default)]
    pub(crate) glibc: Option<(u32, u32)>,
    #[serde(default)]
    pub(crate) musl: Option<(u32, u32)>,
}

impl Interpreter {
    /// Starts `executable` and reads its answer.
    pub(crate) fn ask(executable: &Path) -> anyhow::Result<Self> {
        let answer = run(executable, PROBE)?;
        let interpreter: Self = serde_json::from_slice(&answer)
            .with_context(|| format!("failed to read the answer of `{}`", executable.display()))?;
        ensure_supported(interpreter)
    }

    /// True in a virtual environment.
    pub(crate) fn is_virtual(&self) -> bool {
        self.prefix != self.base_prefix
    }

    /// The full version, with pre-release parts.
    pub(crate) fn full_version(&self) -> &Version {
        &self.markers.python_full_version().version
    }

    /// The same interpreter as if it had another version.
    pub(crate) fn pretend(&self, version: &str) -> anyhow::Result<Self> {
        let parsed: Version = version
            .parse()
            .with_context(|| format!("invalid value `{version}` for `--python-version`"))
            .hint("write it like `3.12` or `3.12.4`")?;
        let part = |at: usize| parsed.release().get(at).copied().unwrap_or(0);
        let (major, minor) = (u32::try_from(part(0))?, u32::try_from(part(1))?);
        let full = format!("{major}.{minor}.{}", part(2));
        let markers = self
            .markers
            .clone()
            .with_python_version(StringVersion::from_str(&format!("{major}.{minor}"))?)
            .with_python_full_version(StringVersion::from_str(&full)?)
            .with_implementation_version(StringVersion::from_str(&full)?);
        Ok(Self { version: (major, minor), markers, ..self.clone() })
    }

    /// A file whose presence says that only the system's package manager may change packages.
    pub(crate) fn externally_managed(&self) -> Option<PathBuf> {
        Some(self.stdlib.join("EXTERNALLY-MANAGED"))
            .filter(|marker| !self.is_virtual() && marker.is_file())
    }
}

fn ensure_supported(interpreter: Interpreter) -> anyhow::Result<Interpreter> {
    let (major, minor) = interpreter.version;
    let supported = interpreter.version >= OLDEST;
    if !supported {
        let message = format!("`{}` is Python {major}.{minor}", interpreter.executable.display());
        return Err(anyhow::anyhow!(message))
            .hint(format!("use Python {}.{} or newer: `--python PATH`", OLDEST.0, OLDEST.1));
    }
    Ok(interpreter)
}

/// Runs `code` in isolated mode and returns what it printed.
pub(crate) fn run(executable: &Path, code: &str) -> anyhow::Result<Vec<u8>> {
    let output = Command::new(executable)
        .args(["-I", "-B", "-c", code])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("failed to start the interpreter `{}`", executable.display()))?;
    ensure!(
        output.status.success(),
        "the interpreter `{}` failed ({}): {}",
        executable.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(output.stdout)
}

/// What must be unchanged for an earlier answer to hold.
pub(crate) fn token(executable: &Path) -> anyhow::Result<Vec<u8>> {
    let mut token = identity::of(executable)?;
    token.extend(executable.canonicalize()?.as_os_str().as_encoded_bytes());
    if let Some(config) = pyvenv_cfg(executable) {
        token.extend(identity::of(&config)?);
    }
    Ok(token)
}

fn pyvenv_cfg(executable: &Path) -> Option<PathBuf> {
    let prefix = executable.parent()?.parent()?;
    Some(prefix.join("pyvenv.cfg")).filter(|config| config.is_file())
}

/// The executable that `--python` names: a path, an environment, a version or a command.
pub(crate) fn locate(request: &str) -> anyhow::Result<PathBuf> {
    let path = Path::new(request);
    if path.is_dir() {
        return in_environment(path);
    }
    if path.components().count() > 1 || path.is_file() {
        ensure!(path.is_file(), "no interpreter at `{}`", path.display());
        return Ok(std::path::absolute(path)?);
    }
    search(&command_names(request))
        .with_context(|| format!("no interpreter `{request}` on PATH"))
        .hint("`--python` takes an environment, the path of an interpreter, or a version")
}

/// The interpreter inside an environment.
pub(crate) fn in_environment(dir: &Path) -> anyhow::Result<PathBuf> {
    for name in ["bin/python", "Scripts/python.exe", "bin/python3"] {
        let candidate = dir.join(name);
        if candidate.is_file() {
            return Ok(std::path::absolute(candidate)?);
        }
    }
    Err(anyhow::anyhow!("`{}` has no interpreter", dir.display()))
        .hint_with(|| format!("create an environment with `mini-uv venv {}`", dir.display()))
}

/// `3.12` stands for `python3.12`, `312` too.
fn command_names(request: &str) -> Vec<String> {
    let numeric = request.starts_with(|first: char| first.is_ascii_digit());
    let exe = std::env::consts::EXE_SUFFIX;
    match request.split_once('.') {
        _ if !numeric => vec![format!("{request}{exe}")],
        None if request.len() > 1 => {
            vec![format!("python{}.{}{exe}", &request[..1], &request[1..])]
        }
        _ => vec![format!("python{request}{exe}")],
    }
}

/// The interpreter for a new environment when none is named.
pub(crate) fn default() -> anyhow::Result<PathBuf> {
    let exe = std::env::consts::EXE_SUFFIX;
    search(&[format!("python3{exe}"), format!("python{exe}")])
        .context("no Python interpreter on PATH")
        .hint("install Python, or name one with `--python PATH`")
}

fn search(names: &[String]) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in names {
        let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| works(file));
        if let Some(found) = found {
            return Ok(found);
        }
    }
    bail!("`{}` was not found", names.join("` or `"))
}

/// True when it runs: version managers leave files on PATH that only say what is missing.
fn works(file: &Path) -> bool {
    file.is_file()
        && Command::new(file)
            .args(["-I", "-c", ""])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_names_a_command() {
        let exe = std::env::consts::EXE_SUFFIX;
        assert_eq!(command_names("3.12"), [format!("python3.12{exe}")]);
        assert_eq!(command_names("312"), [format!("python3.12{exe}")]);
        assert_eq!(command_names("3"), [format!("python3{exe}")]);
        assert_eq!(command_names("pypy3"), [format!("pypy3{exe}")]);
    }

    /// The probe asks the kernel itself; `platform` is what markers are specified by.
    #[test]
    fn the_probe_says_what_the_platform_module_says() {
        let code = "import platform as p\nprint(p.machine(), p.python_implementation(), \
                    p.release(), p.system(), p.version(), p.python_version(), sep='|')";
        let executable = default().unwrap();
        let said = String::from_utf8(run(&executable, code).unwrap()).unwrap();
        let markers = Interpreter::ask(&executable).unwrap().markers;
        let ours = [
            markers.platform_machine(),
            markers.platform_python_implementation(),
            markers.platform_release(),
            markers.platform_system(),
            markers.platform_version(),
            &markers.python_full_version().string,
        ];
        assert_eq!(ours.join("|"), said.trim());
    }

    #[test]
    fn the_default_interpreter_answers() {
        let interpreter = Interpreter::ask(&default().unwrap()).unwrap();
        assert!(interpreter.version >= OLDEST);
        assert!(!interpreter.is_virtual() || interpreter.prefix != interpreter.base_prefix);
        assert_eq!(interpreter.full_version().release()[0], u64::from(interpreter.version.0));
    }
}
