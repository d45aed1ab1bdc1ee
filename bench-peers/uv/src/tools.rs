//! uv, mini-uv and the Python that both install for.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{Error, Settings, output_of};

/// The release with `content-addressed-cache`; from the package index, into its own environment.
const UV: &str = "0.13.9";

pub(crate) struct Tools {
    uv: PathBuf,
    mini_uv: PathBuf,
    /// Runs pip, for fetching.
    pub(crate) python: PathBuf,
    pub(crate) python_version: String,
    pub(crate) uv_version: String,
    /// Where fetched things are kept between runs.
    pub(crate) kept: PathBuf,
}

/// One way to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Uv,
    UvContentAddressed,
    MiniUv,
    /// The same program with a folder per wheel in its cache.
    MiniUvSeparate,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uv => "uv",
            Self::UvContentAddressed => "uv, content-addressed-cache",
            Self::MiniUv => "mini-uv",
            Self::MiniUvSeparate => "mini-uv, no deduplication",
        }
    }
}

impl Tools {
    pub(crate) fn find(settings: &Settings) -> Result<Self, Error> {
        let mini_uv = settings.rest.first().map(PathBuf::from).ok_or_else(|| {
            Error::unavailable("mini-uv", "run this through `cargo xtask bench uv`")
        })?;
        let kept = kept_folder()?;
        let base = base_python()?;
        let environment = kept.join("uv-env");
        let python = environment.join("bin").join("python");
        if !environment.join("bin").join("uv").is_file() {
            output_of(Command::new(&base).args(["-m", "venv"]).arg(&environment))?;
            let wanted = format!("uv=={UV}");
            output_of(Command::new(&python).args(["-m", "pip", "install", "-q", &wanted]))?;
        }
        let uv = environment.join("bin").join("uv");
        let version = "import platform; print(platform.python_version())";
        let python_version = output_of(Command::new(&python).args(["-c", version]))?;
        let uv_version = output_of(Command::new(&uv).arg("--version"))?;
        let uv_version = uv_version.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
        let python_version = python_version.trim().to_owned();
        Ok(Self { uv, mini_uv, python, python_version, uv_version, kept })
    }

    /// `cp312` for Python 3.12.
    pub(crate) fn tag(&self) -> String {
        format!("cp{}", self.python_version.split('.').take(2).collect::<String>())
    }

    /// A command of `tool` with its cache in `cache`, without any settings of the caller.
    pub(crate) fn command(&self, tool: Tool, cache: &Path) -> Command {
        let program = match tool {
            Tool::Uv | Tool::UvContentAddressed => &self.uv,
            Tool::MiniUv | Tool::MiniUvSeparate => &self.mini_uv,
        };
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            let prefixes = ["UV_", "PIP_", "PYTHON", "VIRTUAL_ENV"];
            if prefixes.iter().any(|prefix| shown.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        command.arg("--cache-dir").arg(cache).args(["--no-progress", "--quiet"]);
        if tool == Tool::UvContentAddressed {
            command.args(["--preview-features", "content-addressed-cache"]);
        }
        command.current_dir("/");
        command
    }

    /// `pip install` into `environment` by hard links, without dependencies.
    pub(crate) fn install(&self, tool: Tool, cache: &Path, environment: &Path) -> Command {
        let mut command = self.command(tool, cache);
        command.args(["pip", "install", "--no-deps", "--link-mode", "hardlink", "--python"]);
        command.arg(environment.join("bin").join("python"));
        if tool == Tool::MiniUvSeparate {
            command.arg("--no-deduplication");
        }
        command
    }

    /// Makes an environment for either tool: both install into uv's.
    pub(crate) fn environment(&self, path: &Path) -> Result<(), Error> {
        let mut command = self.command(Tool::Uv, &self.kept.join("venv-cache"));
        command.args(["venv", "--offline", "--python"]).arg(&self.python).arg(path);
        output_of(&mut command).map(drop)
    }
}

fn kept_folder() -> Result<PathBuf, Error> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..");
    let folder = repository.join("target").join("bench-data");
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::canonicalize(&folder)).map_err(
        |error| Error::unavailable(format!("a folder for downloads ({error})"), "make room"),
    )
}

/// The newest of the Pythons that numpy 2.2.6 and torch 2.7.1 have wheels for; uv's numbers are of
/// 3.12.
fn base_python() -> Result<PathBuf, Error> {
    let names = ["python3.12", "python3.13", "python3.11", "python3.10", "python3"];
    let works = |name: &&str| {
        let suits = "import sys; assert (3, 10) <= sys.version_info[:2] <= (3, 13)";
        let output = Command::new(name).args(["-c", suits]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let found = names.into_iter().find(works);
    found.map(PathBuf::from).ok_or_else(|| Error::unavailable("Python 3.10 to 3.13", "install one"))
}
