//! Real wheels, in memory: reading them from a disk is not what is measured.

use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{CaseError, Error};
use zip::ZipArchive;

/// One wheel.
pub struct Wheel {
    /// The file's name without its tags.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
    /// How many files it holds.
    pub files: usize,
}

/// One file of a wheel, before it is inflated.
pub struct Entry<'a> {
    /// Relative to the environment.
    pub path: &'a str,
    /// By the central directory.
    pub executable: bool,
    /// Inflated, in bytes.
    pub size: u64,
}

impl Wheel {
    /// Reads a wheel whole.
    pub fn load(path: &Path) -> Result<Self, CaseError> {
        let bytes = fs::read(path)?;
        let archive = ZipArchive::new(Cursor::new(&bytes[..]))?;
        let files = archive.file_names().flatten().filter(|name| !name.ends_with('/')).count();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = stem.split('-').take(2).collect::<Vec<_>>().join("-");
        Ok(Self { name, bytes, files })
    }

    /// Inflates every file in the order of the central directory.
    pub fn each(
        &self,
        mut take: impl FnMut(&Entry<'_>, &mut dyn Read) -> Result<(), CaseError>,
    ) -> Result<(), CaseError> {
        let mut archive = ZipArchive::new(Cursor::new(&self.bytes[..]))?;
        for index in 0..archive.len() {
            let mut file = archive.by_index(index)?;
            if file.is_dir() {
                continue;
            }
            let path = file.name()?.into_owned();
            let executable = file.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
            let entry = Entry { path: &path, executable, size: file.size() };
            take(&entry, &mut file)?;
        }
        Ok(())
    }
}

/// All files of some wheels.
pub fn files(wheels: &[Wheel]) -> usize {
    wheels.iter().map(|wheel| wheel.files).sum()
}

/// Finds wheels by `name==version`: in `data/wheels`, else with pip into `fetched`.
pub fn find(
    data: Option<&Path>,
    fetched: &Path,
    wanted: &[&str],
) -> Result<Vec<Wheel>, bench_util::Error> {
    wanted.iter().map(|wanted| find_one(data, fetched, wanted)).collect()
}

fn find_one(data: Option<&Path>, fetched: &Path, wanted: &str) -> Result<Wheel, Error> {
    let in_data = data.and_then(|data| named(&data.join("wheels"), wanted));
    let path = match in_data.or_else(|| named(fetched, wanted)) {
        Some(path) => path,
        None => fetch(fetched, wanted)?,
    };
    Wheel::load(&path).map_err(|error| {
        Error::unavailable(format!("{wanted}: {error}"), "delete the damaged file and run again")
    })
}

/// The wheel `name==version` in `folder`.
pub fn named(folder: &Path, wanted: &str) -> Option<PathBuf> {
    let (name, version) = wanted.split_once("==")?;
    let prefix = format!("{}-{version}-", name.replace('-', "_").to_lowercase());
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        name.starts_with(&prefix) && name.ends_with(".whl")
    })
}

fn fetch(fetched: &Path, wanted: &str) -> Result<PathBuf, Error> {
    let missing = |why: &str| {
        let remedy = "give `--data DIR` with `DIR/wheels/`, or let pip reach its index";
        Error::unavailable(format!("the wheel {wanted} ({why})"), remedy)
    };
    fs::create_dir_all(fetched).map_err(|error| missing(&error.to_string()))?;
    let status = Command::new("python3")
        .args(["-m", "pip", "--quiet", "download", "--no-deps", "--only-binary", ":all:"])
        .args(["--python-version", "3.12", "--platform", "manylinux2014_x86_64"])
        .args(["--platform", "manylinux_2_28_x86_64", "--dest"])
        .arg(fetched)
        .arg(wanted)
        .status();
    match status {
        Ok(status) if status.success() => {
            named(fetched, wanted).ok_or_else(|| missing("pip fetched another file"))
        }
        Ok(_) => Err(missing("pip failed")),
        Err(error) => Err(missing(&error.to_string())),
    }
}
