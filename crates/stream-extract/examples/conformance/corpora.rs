//! Archives that published crates carry for their tests, fetched by name through cargo.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Crates with test archives, and the versions that were looked at.
const CRATES: [(&str, &str); 6] = [
    ("astral_async_zip", "0.0.22"),
    ("astral-tokio-tar", "0.5.6"),
    ("async_zip", "0.0.18"),
    ("compress-tools", "0.15.1"),
    ("rawzip", "0.5.2"),
    ("stream-unzip", "0.1.1"),
];

/// Folders of the crates that could be fetched.
pub(crate) fn fetch() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let work = tempfile::tempdir()?;
    fs::create_dir(work.path().join("src"))?;
    fs::write(work.path().join("src/lib.rs"), "")?;
    let mut folders = Vec::new();
    for (name, version) in CRATES {
        let manifest = format!(
            "[workspace]\n[package]\nname = \"corpora\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
             [dependencies]\n{name} = \"{version}\"\n"
        );
        fs::write(work.path().join("Cargo.toml"), manifest)?;
        let fetched = Command::new("cargo").arg("fetch").current_dir(work.path()).output()?;
        let found = folders_of(name);
        println!("{name}: {} version(s) in cargo's cache", found.len());
        if !fetched.status.success() {
            println!("    {}", String::from_utf8_lossy(&fetched.stderr).trim());
        }
        folders.extend(found);
    }
    Ok(folders)
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
