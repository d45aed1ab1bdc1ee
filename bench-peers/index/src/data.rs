//! What is stored and looked up: a real index cache where there is one, else a made-up one.

use bench_util::{CaseError, Rng, Settings, corpus};
use index_cache::cargo_layout::Document;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// One crate's file in cargo's cache.
#[derive(Clone, Debug)]
pub struct Crate {
    pub name: String,
    pub blob: Vec<u8>,
    /// The newest version in the file.
    pub version: String,
}

/// Crates, and which of them a lockfile needs.
#[derive(Debug)]
pub struct Dataset {
    pub crates: Vec<Crate>,
    /// Indexes of the crates that are looked up, in random order.
    pub wanted: Vec<usize>,
    pub description: String,
}

/// As many as a large lockfile has.
const WANTED: usize = 553;

impl Dataset {
    /// Reads the user's data, or makes some.
    pub fn load(settings: &Settings) -> Result<Self, CaseError> {
        let folder = match &settings.data {
            Some(data) => Some(find_cache(data).ok_or("--data holds no index cache of cargo's")?),
            None => cargo_home().and_then(|home| find_cache(&home)),
        };
        let mut crates = match &folder {
            Some(folder) => read(folder)?,
            None => Vec::new(),
        };
        let mut origin = "cargo's own index cache";
        // Fewer crates than a lockfile has say nothing about a resolver.
        if crates.len() < WANTED && settings.data.is_none() {
            origin = "made up, seeded: `--data CARGO_HOME` for real ones";
            crates = made_up(settings.seed, if settings.quick { 700 } else { 1_700 });
        }
        Ok(Self::new(settings.seed, crates, origin))
    }

    /// Many small documents: a hundred thousand names.
    pub fn synthetic(seed: u64, count: usize, wanted: usize) -> Self {
        let mut rng = Rng::for_part(seed, "synthetic");
        let crates = (0..count).map(|number| small(&mut rng, number)).collect();
        let mut data = Self::new(seed, crates, "made up, seeded, about 8 kB each");
        data.wanted.truncate(wanted);
        data
    }

    fn new(seed: u64, crates: Vec<Crate>, origin: &str) -> Self {
        let mut wanted: Vec<usize> = (0..crates.len()).collect();
        Rng::for_part(seed, "wanted").shuffle(&mut wanted);
        wanted.truncate(WANTED);
        let bytes: usize = crates.iter().map(|one| one.blob.len()).sum();
        let touched: usize = wanted.iter().map(|one| crates[*one].blob.len()).sum();
        let description = format!(
            "Data: {} crates, {:.1} MiB ({origin}); {} of them, {:.1} MiB, are looked up.",
            crates.len(),
            mebibytes(bytes),
            wanted.len(),
            mebibytes(touched),
        );
        Self { crates, wanted, description }
    }

    /// The crates that are looked up.
    pub fn wanted(&self) -> Vec<&Crate> {
        self.wanted.iter().map(|one| &self.crates[*one]).collect()
    }

    /// The first `count` wanted crates as an update brings them in `round`: another entity tag, of
    /// another length, and one more version.
    pub fn updated(&self, count: usize, round: usize) -> Vec<Crate> {
        self.wanted.iter().take(count).map(|one| update(&self.crates[*one], round)).collect()
    }
}

fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn update(old: &Crate, round: usize) -> Crate {
    let document = Document::parse(&old.blob).expect("only parsed files are used");
    let versions: Vec<_> = document.versions().collect();
    let mut blob = old.blob[..5].to_vec();
    blob.extend_from_slice(format!("etag: \"{}{round}\"", "x".repeat(round % 13)).as_bytes());
    blob.push(0);
    let (last, json) = versions.last().copied().unwrap_or(("0.0.0", b"{}"));
    let version = format!("{last}.{round}").replace("+", "-");
    for (version, json) in versions.iter().map(|(v, j)| (*v, *j)).chain([(version.as_str(), json)])
    {
        blob.extend_from_slice(version.as_bytes());
        blob.push(0);
        blob.extend_from_slice(json);
        blob.push(0);
    }
    Crate { name: old.name.clone(), blob, version: last.to_owned() }
}

fn cargo_home() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// The fullest `.cache` of a cargo home, or the folder itself.
fn find_cache(data: &Path) -> Option<PathBuf> {
    let homes = [data.to_path_buf(), data.join("cargo-home")];
    let indexes = homes.iter().filter_map(|home| fs::read_dir(home.join("registry/index")).ok());
    let caches = indexes.flatten().filter_map(|index| Some(index.ok()?.path().join(".cache")));
    let direct = [data.join("cache"), data.to_path_buf()];
    let candidates = caches.chain(direct).filter(|cache| cache.join("se/rd").is_dir());
    candidates.max_by_key(|cache| fs::read_dir(cache).map_or(0, Iterator::count))
}

fn read(folder: &Path) -> Result<Vec<Crate>, CaseError> {
    let mut crates = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                crates.extend(parse(
                    entry.file_name().to_string_lossy().into_owned(),
                    fs::read(entry.path())?,
                ));
            }
        }
    }
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(crates)
}

fn parse(name: String, blob: Vec<u8>) -> Option<Crate> {
    let version = Document::parse(&blob)?.versions().last()?.0.to_owned();
    Some(Crate { name, blob, version })
}

fn made_up(seed: u64, count: usize) -> Vec<Crate> {
    corpus::index(seed, count)
        .into_iter()
        .filter_map(|entry| {
            let mut blob = b"\x03\x02\0\0\0etag: \"made up\"\0".to_vec();
            let lines = entry.document.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            for line in lines {
                let text = std::str::from_utf8(line).ok()?;
                let version = text.split("\"vers\":\"").nth(1)?.split('"').next()?;
                blob.extend_from_slice(version.as_bytes());
                blob.push(0);
                blob.extend_from_slice(line);
                blob.push(0);
            }
            parse(entry.name, blob)
        })
        .collect()
}

/// A document of one to nine versions of about 1.6 kB.
fn small(rng: &mut Rng, number: usize) -> Crate {
    let name = format!("package-{number}");
    let mut blob = b"\x03\x02\0\0\0etag: \"made up\"\0".to_vec();
    let versions = 1 + rng.below(9);
    for version in 0..versions {
        let mut json =
            format!("1.{version}.0\0{{\"name\":\"{name}\",\"vers\":\"1.{version}.0\",\"deps\":\"");
        for _ in 0..60 + rng.below(80) {
            write!(json, "{:016x}", rng.next_u64()).expect("memory");
        }
        json.push_str("\"}\0");
        blob.extend_from_slice(json.as_bytes());
    }
    Crate { name, blob, version: format!("1.{}.0", versions - 1) }
}
