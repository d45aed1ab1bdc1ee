//! `bench-savings [--data DIR] [--out DIR] [WHEELS...]`: what sharing files saves, by which files are
//! shared. Exact: nothing is timed.
//!
//! Without wheels it takes those of `DIR/wheels`, else two adjacent versions of fifteen packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench_cas::corpus::{self, Wheel};
use bench_util::{CaseError, Report, Settings, Table};
use cas_store::{Digest, Executable, Savings, Selection};

const PACKAGES: [&str; 30] = [
    "anyio==4.8.0",
    "anyio==4.9.0",
    "django==5.2.1",
    "django==5.2.2",
    "jupyterlab==4.4.2",
    "jupyterlab==4.4.3",
    "matplotlib==3.10.1",
    "matplotlib==3.10.3",
    "numpy==2.2.5",
    "numpy==2.2.6",
    "pandas==2.2.2",
    "pandas==2.2.3",
    "pillow==11.2.1",
    "pillow==11.3.0",
    "pydantic-core==2.33.1",
    "pydantic-core==2.33.2",
    "requests==2.32.3",
    "requests==2.32.4",
    "scikit-learn==1.6.0",
    "scikit-learn==1.6.1",
    "scipy==1.15.2",
    "scipy==1.15.3",
    "setuptools==80.8.0",
    "setuptools==80.9.0",
    "sqlalchemy==2.0.40",
    "sqlalchemy==2.0.41",
    "sympy==1.13.3",
    "sympy==1.14.0",
    "transformers==4.52.3",
    "transformers==4.52.4",
];

fn main() -> ExitCode {
    run().unwrap_or_else(|error| {
        eprintln!("bench-savings: {error}");
        ExitCode::from(2)
    })
}

fn run() -> Result<ExitCode, CaseError> {
    let settings = Settings::from_args()?;
    let mut report = Report::new("savings", "Which files are worth sharing?");
    let wheels = wheels(&settings, &mut report)?;
    let (mut savings, mut hits) = (Savings::default(), BTreeMap::new());
    for wheel in &wheels {
        count(wheel, &mut savings, &mut hits)?;
    }
    let packages = wheels.iter().map(|wheel| wheel.name.as_str()).collect::<Vec<_>>().join(", ");
    report.note(format!("{} wheels: {packages}.", wheels.len()));
    report.note("RECORD files are left out: each install writes its own. Sizes are logical.");
    report.tables.push(table(&savings));
    report.tables.push(upgrades(&hits));
    print!("{}", report.to_markdown());
    report.write(&settings.out)?;
    Ok(report.exit_code())
}

fn wheels(settings: &Settings, report: &mut Report) -> Result<Vec<Wheel>, CaseError> {
    if !settings.rest.is_empty() {
        return settings.rest.iter().map(|path| Wheel::load(Path::new(path))).collect();
    }
    if let Some(folder) = settings.data.as_ref().map(|data| data.join("wheels"))
        && folder.is_dir()
    {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_, CaseError>>()?;
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "whl"));
        paths.sort();
        return paths.iter().map(|path| Wheel::load(path)).collect();
    }
    fetch(report)
}

/// By name, with pip. What cannot be had is a row of the report, and the rest is counted.
fn fetch(report: &mut Report) -> Result<Vec<Wheel>, CaseError> {
    let mut wheels = Vec::new();
    for wanted in PACKAGES {
        match corpus::find(None, Path::new("target/bench-data/wheels"), &[wanted]) {
            Ok(found) => wheels.extend(found),
            Err(error) if error.is_unavailable() => {
                let remedy = error.remedy().unwrap_or_default().to_owned();
                report.missing(wanted, error.to_string(), remedy);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(wheels)
}

/// Files and bytes of each content, by package and version.
type Versions = BTreeMap<String, BTreeMap<String, BTreeMap<(Digest, bool), (u64, u64)>>>;

fn count(wheel: &Wheel, savings: &mut Savings, hits: &mut Versions) -> Result<(), CaseError> {
    let (package, version) = wheel.name.split_once('-').unwrap_or((&wheel.name, ""));
    let contents =
        hits.entry(package.to_owned()).or_default().entry(version.to_owned()).or_default();
    wheel.each(|entry, reader| {
        if entry.path.ends_with(".dist-info/RECORD") {
            return Ok(());
        }
        let (digest, size) = Digest::of_reader(reader)?;
        savings.add(entry.path, digest, Executable::from(entry.executable), size);
        if size > 0 {
            let content = contents.entry((digest, entry.executable)).or_insert((0, size));
            content.0 += 1;
        }
        Ok(())
    })
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53 bytes")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn table(savings: &Savings) -> Table {
    let head = ["selection", "saved, MiB", "saved, %", "files linked", "objects", "most links"];
    let title = format!(
        "Savings over {} files, {:.1} MiB unpacked",
        savings.files(),
        mebibytes(savings.bytes())
    );
    let mut table = Table::new(title, &head);
    for row in savings.table() {
        let percent = 100.0 * mebibytes(row.saved_bytes) / mebibytes(savings.bytes()).max(1e-9);
        table.push([
            selection(row.selection),
            format!("{:.1}", mebibytes(row.saved_bytes)),
            format!("{percent:.1}"),
            row.files.to_string(),
            row.objects.to_string(),
            row.most_links.to_string(),
        ]);
    }
    table
}

fn selection(selection: Selection) -> String {
    match selection {
        Selection::Native => "executables and native libraries".to_owned(),
        Selection::AtLeast(bytes) if bytes >= 1 << 20 => format!("files >= {} MiB", bytes >> 20),
        Selection::AtLeast(bytes) => format!("files >= {} KiB", bytes >> 10),
        Selection::NonEmpty => "all but empty files (what cas-store does)".to_owned(),
        _ => "all files".to_owned(),
    }
}

/// How much of the last version of each package the one before has already.
fn upgrades(hits: &Versions) -> Table {
    let head = ["package", "from", "to", "files known, %", "bytes known, %"];
    let mut table = Table::new("What a patch upgrade finds in the store", &head);
    for (package, versions) in hits {
        let mut versions = versions.iter().rev();
        if let (Some((to, new)), Some((from, old))) = (versions.next(), versions.next()) {
            let (mut files, mut bytes, mut known_files, mut known_bytes) = (0, 0, 0, 0);
            for (content, (count, size)) in new {
                files += count;
                bytes += count * size;
                if old.contains_key(content) {
                    known_files += count;
                    known_bytes += count * size;
                }
            }
            let percent = |part: u64, whole: u64| (100 * part + whole / 2) / whole.max(1);
            let row = [percent(known_files, files), percent(known_bytes, bytes)];
            let [files, bytes] = row.map(|percent| percent.to_string());
            table.push([package.clone(), from.clone(), to.clone(), files, bytes]);
        }
    }
    table
}
