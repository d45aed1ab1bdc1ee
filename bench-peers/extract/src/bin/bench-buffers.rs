//! Allocations and time per archive: a fresh buffer for each file, one for each archive, one for each
//! thread.
//!
//! `bench-buffers [--quick] [--data DIR] [--out DIR]` extracts anyio, sympy, numpy, torch and an
//! environment of 14 packages; `--quick` leaves out the two with torch, which is 100 MB to fetch.
//!
//! The fresh buffers are not ours with a handicap: they are the `zip` crate's readers, each copied into
//! a buffered writer, which is how extractors are commonly written. Everything goes to the same kind of
//! folder in memory, in this process, under a counting allocator.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Cursor};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use bench_extract::Result;
use bench_extract::archives::{ANYIO, NUMPY, SYMPY, TORCH, Wheel, wheel};
use bench_util::{
    AllocStats, Comparison, CountingAlloc, Error, Paired, Place, Report, Settings, Table, Workdir,
    conclude,
};
use stream_extract::{DirectorySink, Extractor, Policy, Scratch};

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc::new();

const FULL_BYTES: u64 = 4 << 30;

/// torch, what it needs, numpy, and anyio with what it needs.
const ENVIRONMENT: [Wheel; 14] = [
    ANYIO,
    wheel("filelock", "3.18.0"),
    wheel("fsspec", "2025.5.1"),
    wheel("idna", "3.10"),
    wheel("jinja2", "3.1.6"),
    wheel("markupsafe", "3.0.2"),
    wheel("mpmath", "1.3.0"),
    wheel("networkx", "3.4.2"),
    NUMPY,
    wheel("setuptools", "80.9.0"),
    wheel("sniffio", "1.3.1"),
    SYMPY,
    TORCH,
    wheel("typing_extensions", "4.14.0"),
];

fn main() -> ExitCode {
    let report = Settings::from_args().and_then(|settings| run(&settings));
    conclude(report.map(|report| report.exit_code()))
}

fn run(settings: &Settings) -> std::result::Result<Report, Error> {
    let mut report = Report::new("buffers", "What does one buffer save over one for each file?");
    let mut table = Table::new(
        "Allocations of one extraction",
        &["archive", "buffers", "allocations", "of 4 KiB and more", "bytes", "seconds"],
    );
    let sets: [(&str, &[Wheel]); 5] = [
        ("anyio", &[ANYIO]),
        ("sympy", &[SYMPY]),
        ("numpy", &[NUMPY]),
        ("torch", &[TORCH]),
        ("14 packages", &ENVIRONMENT),
    ];
    for (name, wheels) in sets {
        if settings.quick && wheels.iter().any(|wheel| wheel.name == "torch") {
            report.note(format!("{name} is left out by --quick."));
            continue;
        }
        match load(wheels, settings) {
            Ok(archives) => {
                count(name, &archives, &mut table)?;
                report.add_or_failed(name, compare(name, &archives, settings));
            }
            Err(error) => report.failed(name, &error),
        }
    }
    report.tables.push(table);
    report.write(&settings.out)?;
    Ok(report)
}

fn load(wheels: &[Wheel], settings: &Settings) -> std::result::Result<Vec<Vec<u8>>, Error> {
    wheels
        .iter()
        .map(|wheel| {
            let path = wheel.find(settings)?;
            fs::read(path)
                .map_err(|error| Error::unavailable(format!("a wheel ({error})"), "see the reason"))
        })
        .collect()
}

type Way = (&'static str, fn(&[Vec<u8>], &Path) -> Result<()>);

const WAYS: [Way; 3] = [
    ("fresh for each file (zip, BufWriter)", fresh),
    ("one for each archive", per_archive),
    ("one for each thread", per_thread),
];

fn count(name: &str, archives: &[Vec<u8>], table: &mut Table) -> std::result::Result<(), Error> {
    let work = Workdir::on(&Place::Memory)?;
    for (way, extract) in WAYS {
        let before: AllocStats = ALLOCATOR.stats();
        let start = Instant::now();
        let extracted = extract(archives, &work.fresh("tree")?);
        let seconds = start.elapsed().as_secs_f64();
        let used = ALLOCATOR.stats().since(&before);
        extracted
            .map_err(|error| Error::unavailable(format!("{way} ({error})"), "see the reason"))?;
        table.push([
            name.to_owned(),
            way.to_owned(),
            used.calls.to_string(),
            used.large_calls.to_string(),
            used.bytes.to_string(),
            format!("{seconds:.3}"),
        ]);
    }
    Ok(())
}

fn compare(
    name: &str,
    archives: &[Vec<u8>],
    settings: &Settings,
) -> std::result::Result<Comparison, Error> {
    let work = std::cell::RefCell::new(Workdir::on(&Place::Memory)?);
    let case = |extract: fn(&[Vec<u8>], &Path) -> Result<()>| {
        let work = &work;
        move |meter: &mut bench_util::Meter<'_, '_>| {
            let target = work.borrow().fresh("tree")?;
            meter.measure(|| extract(archives, &target))
        }
    };
    let [fresh, archive, thread] = WAYS;
    Paired::new(format!("{name}, buffers"))
        .settings(settings)
        .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?))
        .reference_metered(fresh.0, case(fresh.1))
        .case_metered(archive.0, case(archive.1))
        .case_metered(thread.0, case(thread.1))
        .run()
}

fn fresh(archives: &[Vec<u8>], target: &Path) -> Result<()> {
    for (index, bytes) in archives.iter().enumerate() {
        let mut archive = zip::ZipArchive::new(Cursor::new(&bytes[..]))?;
        for entry in 0..archive.len() {
            let mut entry = archive.by_index(entry)?;
            let path = target.join(index.to_string()).join(entry.enclosed_name().ok_or("a name")?);
            if entry.is_dir() {
                fs::create_dir_all(path)?;
                continue;
            }
            fs::create_dir_all(path.parent().ok_or("a parent")?)?;
            let mut reader = BufReader::with_capacity(64 << 10, &mut entry);
            let mut writer = BufWriter::with_capacity(64 << 10, File::create(path)?);
            io::copy(&mut reader, &mut writer)?;
        }
    }
    Ok(())
}

fn one(bytes: &[u8], target: &Path, index: usize, scratch: &mut Scratch) -> Result<()> {
    let sink = DirectorySink::create(target.join(index.to_string()))?;
    Extractor::new().policy(Policy::pypi()).blake3(false).zip_stream(bytes, scratch, sink)?;
    Ok(())
}

fn per_archive(archives: &[Vec<u8>], target: &Path) -> Result<()> {
    let mut numbered = archives.iter().enumerate();
    numbered.try_for_each(|(index, bytes)| one(bytes, target, index, &mut Scratch::new()))
}

fn per_thread(archives: &[Vec<u8>], target: &Path) -> Result<()> {
    let mut scratch = Scratch::new();
    let mut numbered = archives.iter().enumerate();
    numbered.try_for_each(|(index, bytes)| one(bytes, target, index, &mut scratch))
}
