//! The archives: the user's wheels, else pip's; documentation pages; crates from cargo's cache.

use std::fs;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::corpus::Tree;
use bench_util::{Error, Settings, redact};

use crate::kept;

/// A wheel by name and version.
#[derive(Clone, Copy)]
pub struct Wheel {
    pub name: &'static str,
    pub version: &'static str,
    /// Wheels for 64-bit ARM: torch has none for x86-64 without CUDA.
    pub arm: bool,
}

pub const fn wheel(name: &'static str, version: &'static str) -> Wheel {
    Wheel { name, version, arm: false }
}

pub const fn arm(name: &'static str, version: &'static str) -> Wheel {
    Wheel { name, version, arm: true }
}

pub const ANYIO: Wheel = wheel("anyio", "4.9.0");
pub const SYMPY: Wheel = wheel("sympy", "1.14.0");
pub const NUMPY: Wheel = wheel("numpy", "2.2.6");
pub const TORCH: Wheel = arm("torch", "2.7.1");

impl Wheel {
    /// The file, of `--data`, of an earlier fetch, or fetched now.
    pub fn find(self, settings: &Settings) -> Result<PathBuf, Error> {
        let kept = kept::folder("wheels")?;
        let given = settings.data.as_ref().map(|data| data.join("wheels"));
        let look = || given.iter().chain([&kept]).find_map(|folder| self.look(folder));
        if let Some(found) = look() {
            return Ok(found);
        }
        self.fetch(&kept)?;
        look().ok_or_else(|| self.missing("pip stored no such file"))
    }

    fn look(self, folder: &Path) -> Option<PathBuf> {
        let start = format!("{}-{}-", self.name, self.version);
        let mut found = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        found.find(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.to_lowercase().starts_with(&start)
                && name.ends_with(".whl")
                && (name.contains("-any") || name.contains("aarch64") == self.arm)
        })
    }

    fn fetch(self, folder: &Path) -> Result<(), Error> {
        eprintln!("    Downloading {} {}", self.name, self.version);
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--dest"]);
        pip.arg(folder);
        if self.arm {
            for platform in
                ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"]
            {
                pip.args(["--platform", platform]);
            }
        }
        pip.arg(format!("{}=={}", self.name, self.version));
        match pip.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(self.missing(String::from_utf8_lossy(&output.stderr).trim())),
            Err(error) => Err(self.missing(&error.to_string())),
        }
    }

    fn missing(self, why: &str) -> Error {
        let why = redact(why, &[]);
        let what = format!("the wheel of {} {} ({why})", self.name, self.version);
        Error::unavailable(what, "put it into DIR/wheels and give --data DIR")
    }
}

/// Documentation pages: very many small files, seeded, in the order of a walk through the folders.
pub fn docs(settings: &Settings) -> Tree {
    let mut tree = Tree::docs(settings.seed, 17_302);
    tree.files.sort_by(|a, b| a.path.cmp(&b.path));
    tree
}

pub fn zip_of(tree: &Tree) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o644);
    for file in &tree.files {
        writer.start_file(file.path.as_str(), options)?;
        writer.write_all(&file.body)?;
    }
    Ok(writer.finish()?.into_inner())
}

pub fn tar_gz_of(tree: &Tree) -> std::io::Result<Vec<u8>> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut builder = tar::Builder::new(encoder);
    for file in &tree.files {
        let mut header = tar::Header::new_ustar();
        header.set_size(file.body.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, &file.path, &file.body[..])?;
    }
    builder.into_inner()?.finish()
}
