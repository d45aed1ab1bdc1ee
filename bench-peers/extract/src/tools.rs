//! Peers that are programs: found, or built, or named as missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use bench_extract::kept;
use bench_util::Report;

const RIPUNZIP: &str = "2.0.3";

pub(crate) struct Tools {
    pub(crate) ourselves: PathBuf,
    pub(crate) uv: Option<PathBuf>,
    pub(crate) ripunzip: Option<PathBuf>,
    pub(crate) python: Option<PathBuf>,
    pub(crate) unzip: Option<PathBuf>,
    pub(crate) bsdtar: Option<PathBuf>,
}

impl Tools {
    pub(crate) fn find(report: &mut Report) -> Self {
        let mut built = |name: &str, result: Result<PathBuf, String>, remedy: &str| {
            result.map_err(|why| report.missing(name, why, remedy)).ok()
        };
        let uv = built("uv-extract", build_uv(), "install a nightly toolchain with rustup");
        let ripunzip = built("ripunzip", build_ripunzip(), "apt-get install libssl-dev");
        let mut program = |name: &str, package: &str| {
            let found = which(name);
            if found.is_none() {
                report.missing(name, "it is not installed", format!("apt-get install {package}"));
            }
            found
        };
        Self {
            ourselves: std::env::current_exe().unwrap_or_else(|_| "bench-extract".into()),
            python: program("python3", "python3"),
            unzip: program("unzip", "unzip"),
            bsdtar: program("bsdtar", "libarchive-tools"),
            uv,
            ripunzip,
        }
    }

    /// A case that is linked into this program, as a process of its own.
    pub(crate) fn own(&self, case: &str, archive: &Path, target: &Path) -> Command {
        let mut command = Command::new(&self.ourselves);
        command.args(["run", case]).arg(archive).arg(target).env("RAYON_NUM_THREADS", "2");
        command
    }
}

fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Builds uv's extractor with nightly; the result is kept between runs.
fn build_uv() -> Result<PathBuf, String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("uv").join("Cargo.toml");
    let target = kept("uv-extract")?;
    eprintln!("    Building uv-extract");
    let mut build = Command::new("cargo");
    build.args(["+nightly", "build", "--release", "--locked", "--quiet", "--manifest-path"]);
    cargo(build.arg(manifest).arg("--target-dir").arg(&target))?;
    Ok(target.join("release").join("bench-extract-uv"))
}

/// Builds ripunzip as published; the result is kept between runs.
fn build_ripunzip() -> Result<PathBuf, String> {
    let root = kept("ripunzip")?;
    let program = root.join("bin").join("ripunzip");
    if !program.is_file() {
        eprintln!("    Building ripunzip");
        let mut install = Command::new("cargo");
        install.args(["install", "--quiet", "--locked", "--version", RIPUNZIP, "ripunzip"]);
        cargo(install.arg("--root").arg(&root))?;
    }
    Ok(program)
}

fn kept(name: &str) -> Result<PathBuf, String> {
    kept::folder(name).map_err(|error| error.to_string())
}

/// Runs cargo as a user would, not as the cargo that started this program.
pub(crate) fn cargo(command: &mut Command) -> Result<(), String> {
    let done = command
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&done.stderr);
    Err(format!("cargo fails: {}", text.lines().last().unwrap_or_default()))
}
