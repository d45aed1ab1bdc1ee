//! Archives that published crates and Debian packages carry for their tests, fetched by name.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Crates with test archives, and the versions that were looked at.
const CRATES: [(&str, &str); 6] = [
    ("astral_async_zip", "0.0.22"),
    ("astral-tokio-tar", "0.5.6"),
    ("async_zip", "0.0.18"),
    ("compress-tools", "0.15.1"),
    ("rawzip", "0.5.2"),
    ("stream-unzip", "0.2.1"),
];

/// Debian packages with test archives: those of Go's and Python's own tests.
const DEBIAN: [&str; 2] = ["golang-1.19-src", "libpython3.11-testsuite"];

/// Calls `add` with each folder of what could be fetched. The returned folder holds some of them.
pub(crate) fn fetch(
    mut add: impl FnMut(&Path) -> Result<(), Box<dyn Error>>,
) -> Result<TempDir, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    fs::create_dir(work.path().join("src"))?;
    fs::write(work.path().join("src/lib.rs"), "")?;
    for (name, version) in CRATES {
        let folders = fetch_crate(work.path(), name, version)?;
        folders.iter().try_for_each(|folder| add(folder))?;
    }
    for package in DEBIAN {
        match fetch_debian(work.path(), package) {
            Ok(folder) => add(&folder)?,
            Err(why) => println!("{package}: {why}"),
        }
    }
    Ok(work)
}

fn fetch_crate(work: &Path, name: &str, version: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let manifest = format!(
        "[workspace]\n[package]\nname = \"corpora\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{name} = \"{version}\"\n"
    );
    fs::write(work.join("Cargo.toml"), manifest)?;
    let fetched = Command::new("cargo").arg("fetch").current_dir(work).output()?;
    let found = folders_of(name);
    println!("{name}: {} version(s) in cargo's cache", found.len());
    if !fetched.status.success() {
        println!("    {}", String::from_utf8_lossy(&fetched.stderr).trim());
    }
    Ok(found)
}

/// Downloads and unpacks a package without installing it.
fn fetch_debian(work: &Path, package: &str) -> Result<PathBuf, Box<dyn Error>> {
    let (folder, mut apt) = (work.join(package), Command::new("apt-get"));
    fs::create_dir(&folder)?;
    run(apt.args(["download", "-q", package]).current_dir(&folder))?;
    for file in fs::read_dir(&folder)? {
        run(Command::new("dpkg-deb").arg("-x").arg(file?.path()).arg(folder.join("unpacked")))?;
    }
    println!("{package}: unpacked");
    Ok(folder.join("unpacked"))
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into())
}

/// Unpacked versions of a crate in cargo's home.
fn folders_of(name: &str) -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.and_then(|home| fs::read_dir(home.join("registry").join("src")).ok());
    let folders =
        sources.into_iter().flatten().filter_map(|entry| fs::read_dir(entry.ok()?.path()).ok());
    let start = format!("{name}-");
    folders
        .flat_map(|folder| folder.filter_map(|entry| Some(entry.ok()?.path())))
        .filter(|path| {
            let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
            file.strip_prefix(&start)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
        .collect()
}
