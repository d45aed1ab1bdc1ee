//! The wheels of uv's measurements: the user's, else fetched by package name through pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{Error, Settings, output_of};

use crate::tools::Tools;

/// What is installed in one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_large: bool,
}

/// Which of a package's wheels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The same for all platforms.
    Pure,
    /// For this machine.
    Native,
    /// For 64-bit ARM Linux, whatever this machine is: for x86-64 torch has only wheels with CUDA.
    Arm,
}

pub(crate) const PACKAGES: [Package; 4] = [
    package("anyio", "4.9.0", Kind::Pure),
    package("sympy", "1.14.0", Kind::Pure),
    package("numpy", "2.2.6", Kind::Native),
    Package { is_large: true, ..package("torch", "2.7.1", Kind::Arm) },
];

/// torch, what it needs, numpy and anyio with what it needs: 14 packages for 64-bit ARM.
pub(crate) const ENVIRONMENT: [Package; 14] = [
    package("anyio", "4.9.0", Kind::Pure),
    package("filelock", "3.18.0", Kind::Pure),
    package("fsspec", "2025.5.1", Kind::Pure),
    package("idna", "3.10", Kind::Pure),
    package("jinja2", "3.1.6", Kind::Pure),
    package("markupsafe", "3.0.2", Kind::Arm),
    package("mpmath", "1.3.0", Kind::Pure),
    package("networkx", "3.4.2", Kind::Pure),
    package("numpy", "2.2.6", Kind::Arm),
    package("setuptools", "80.9.0", Kind::Pure),
    package("sniffio", "1.3.1", Kind::Pure),
    package("sympy", "1.14.0", Kind::Pure),
    package("torch", "2.7.1", Kind::Arm),
    package("typing_extensions", "4.14.0", Kind::Pure),
];

const fn package(name: &'static str, version: &'static str, kind: Kind) -> Package {
    Package { name, version, kind, is_large: false }
}

/// The platform that uv and mini-uv are told to install for.
pub(crate) const ARM: &str = "aarch64-manylinux_2_28";

impl Package {
    fn matches(&self, file: &str, tag: &str) -> bool {
        let start = format!("{}-{}-", self.name, self.version);
        let fits = match self.kind {
            Kind::Pure => file.contains("-none-any"),
            Kind::Native => file.contains(tag) && file.contains(std::env::consts::ARCH),
            Kind::Arm => {
                file.contains(tag) && file.contains("manylinux") && file.contains("aarch64")
            }
        };
        file.to_lowercase().starts_with(&start) && file.ends_with(".whl") && fits
    }
}

/// Finds or fetches wheels.
pub(crate) struct Wheels<'a> {
    given: Option<PathBuf>,
    tools: &'a Tools,
}

impl<'a> Wheels<'a> {
    pub(crate) fn new(settings: &Settings, tools: &'a Tools) -> Self {
        Self { given: settings.data.as_ref().map(|data| data.join("wheels")), tools }
    }

    /// The wheel of `package`: of `--data`, else of an earlier fetch, else fetched now.
    pub(crate) fn find(&self, package: Package) -> Result<PathBuf, Error> {
        let fetched = self.tools.kept.join("wheels");
        let known = self.given.iter().chain([&fetched]).find_map(|dir| self.look(dir, package));
        if let Some(wheel) = known {
            return Ok(wheel);
        }
        self.fetch(package, &fetched)?;
        self.look(&fetched, package).ok_or_else(|| {
            Error::unavailable(format!("the wheel of {}", package.name), "put it into DIR/wheels")
        })
    }

    fn look(&self, folder: &Path, package: Package) -> Option<PathBuf> {
        let entries = fs::read_dir(folder).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let tag = self.tools.tag();
        let found = names.into_iter().find(|name| package.matches(name, &tag))?;
        fs::canonicalize(folder.join(found)).ok()
    }

    fn fetch(&self, package: Package, folder: &Path) -> Result<(), Error> {
        eprintln!("    Downloading {} {}", package.name, package.version);
        let mut pip = Command::new(&self.tools.python);
        pip.args(["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--dest"]);
        pip.arg(folder);
        if package.kind == Kind::Arm {
            pip.args(["--platform", "manylinux_2_28_aarch64"]);
            pip.args([
                "--platform",
                "manylinux_2_17_aarch64",
                "--platform",
                "manylinux2014_aarch64",
            ]);
        }
        pip.arg(format!("{}=={}", package.name, package.version));
        output_of(&mut pip).map(drop)
    }
}
