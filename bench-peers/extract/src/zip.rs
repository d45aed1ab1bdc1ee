//! Zip archives: the table against uv-extract.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_util::{
    CaseError, Comparison, Error, Goal, Metric, Paired, Place, Report, Settings, Workdir,
};

use crate::tools::Tools;
use bench_extract::archives::{SYMPY, TORCH, docs, zip_of};

/// Memory that targets may take before they are thrown away between rounds.
const FULL_BYTES: u64 = 4 << 30;

/// What is wanted of an archive, as ratios to uv-extract streaming with BLAKE3.
struct Wanted {
    name: &'static str,
    stream: f64,
    parallel: f64,
}

const SYMPY_WANTED: Wanted = Wanted { name: "sympy", stream: 0.87, parallel: 0.50 };
const TORCH_WANTED: Wanted = Wanted { name: "torch", stream: 0.90, parallel: 0.55 };
const DOCS_WANTED: Wanted = Wanted { name: "documentation", stream: 0.75, parallel: 0.42 };
/// Of ours streaming to the floor.
const FLOOR_WANTED: f64 = 1.04;

/// Makes the command of a program for an archive and a target.
type Build = fn(&Path, &Path, &Path) -> Command;

pub(crate) fn run(settings: &Settings, tools: &Tools, report: &mut Report) -> Result<(), Error> {
    let work = RefCell::new(Workdir::on(&Place::Memory)?);
    for (wheel, wanted) in [(SYMPY, SYMPY_WANTED), (TORCH, TORCH_WANTED)] {
        if settings.quick && wanted.name == "torch" {
            report.note("--quick leaves out torch, and for documentation the slower peers.");
            continue;
        }
        match wheel.find(settings) {
            Ok(path) => measure(&path, &wanted, settings, tools, &work, report),
            Err(error) => report.failed(wanted.name, &error),
        }
    }
    let made = zip_of(&docs(settings)).map_err(|error| error.to_string()).and_then(|bytes| {
        let path = work.borrow().unused("docs.zip");
        fs::write(&path, bytes).map(|()| path).map_err(|error| error.to_string())
    });
    match made {
        Ok(path) => measure(&path, &DOCS_WANTED, settings, tools, &work, report),
        Err(why) => report.missing("documentation", why, "see the reason"),
    }
    Ok(())
}

fn measure(
    archive: &Path,
    wanted: &Wanted,
    settings: &Settings,
    tools: &Tools,
    work: &RefCell<Workdir>,
    report: &mut Report,
) {
    eprintln!("   Extracting {}", wanted.name);
    // The archive is read from memory, wherever the wheel is kept.
    let result = fs::read(archive).map_err(|error| error.to_string()).and_then(|bytes| {
        let inputs = Workdir::on(&Place::Memory).map_err(|error| error.to_string())?;
        let copy = inputs.path().join("archive.whl");
        fs::write(&copy, bytes).map_err(|error| error.to_string())?;
        compare(&copy, wanted, settings, tools, work).map_err(|error| error.to_string())
    });
    let result = result.map(|comparison| with_floors(comparison, wanted));
    match result {
        Ok(comparison) => report.add(comparison),
        Err(why) => report.missing(wanted.name, why, "see the reason"),
    }
}

fn compare(
    archive: &Path,
    wanted: &Wanted,
    settings: &Settings,
    tools: &Tools,
    work: &RefCell<Workdir>,
) -> Result<Comparison, Error> {
    let own = |case: &'static str| {
        move |_| Ok::<Command, CaseError>(tools.own(case, archive, &work.borrow().unused("tree")))
    };
    let program = |build: Build, path: PathBuf| {
        move |_| {
            let target = work.borrow().unused("tree");
            Ok::<Command, CaseError>(build(&path, archive, &target))
        }
    };
    let paired = Paired::new(format!("{}, extracted whole", wanted.name))
        .settings(settings)
        .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?));
    let mut paired = match &tools.uv {
        Some(uv) => paired
            .reference_command("uv-extract, stream, BLAKE3", program(uv_hash, uv.clone()))
            .case_command("uv-extract, stream, no hash", program(uv_stream, uv.clone()))
            .case_command("uv-extract, seek, threads, no hash", program(uv_seek, uv.clone())),
        None => paired.reference_command("zip, extract", own("zip")),
    };
    paired = paired
        .case_command("floor", own("floor"))
        .case_command("ours, stream, CRC + BLAKE3", own("ours-stream"));
    if tools.uv.is_some() {
        paired = paired.goal(wanted.stream);
    }
    paired = paired
        .goal_against("floor", Metric::Wall, Goal::AtMost(FLOOR_WANTED))
        .case_command("ours, stream, CRC", own("ours-stream-no-hash"))
        .case_command("ours, seek, CRC + BLAKE3", own("ours-seek"))
        .case_command("floor, 2 threads", own("floor-2-threads"))
        .case_command("ours, 2 threads, CRC + BLAKE3", own("ours-parallel"));
    if tools.uv.is_some() {
        paired = paired.goal(wanted.parallel);
    }
    if let Some(path) = &tools.ripunzip {
        paired = paired.case_command("ripunzip, 2 threads", program(ripunzip, path.clone()));
    }
    if settings.quick && wanted.name == DOCS_WANTED.name {
        return paired.run();
    }
    paired = paired.case_command("zip, 2 threads", own("zip-parallel"));
    if tools.uv.is_some() {
        paired = paired.case_command("zip, extract", own("zip"));
    }
    paired = paired.case_command("rc-zip", own("rc-zip"));
    let programs: [(&str, &Option<PathBuf>, Build); 3] = [
        ("unzip", &tools.unzip, unzip),
        ("bsdtar", &tools.bsdtar, bsdtar),
        ("Python zipfile", &tools.python, python),
    ];
    for (name, path, build) in programs {
        if let Some(path) = path {
            paired = paired.case_command(name, program(build, path.clone()));
        }
    }
    paired.run()
}

/// Says so when the floor itself misses what is wanted of us: no extractor of this design can reach it then.
fn with_floors(mut comparison: Comparison, wanted: &Wanted) -> Comparison {
    for (floor, goal) in [("floor", wanted.stream), ("floor, 2 threads", wanted.parallel)] {
        // Without uv-extract the reference is another one, and nothing is wanted.
        let uv = |reference: &str| reference.starts_with("uv-extract");
        let row = comparison.rows.iter().find(|row| row.case == floor && uv(&row.reference));
        if let Some(ratio) = row.map(|row| row.ratio.median).filter(|&ratio| ratio > goal) {
            comparison.notes.push(format!(
                "The {floor} is at {ratio:.2} of uv-extract on this machine, where {goal:.2} is wanted of \
                 us: a miss that the work itself explains."
            ));
        }
    }
    comparison
}

fn uv(mode: &str, uv: &Path, archive: &Path, target: &Path) -> Command {
    let mut command = Command::new(uv);
    command.arg(mode).arg(archive).arg(target).env("RAYON_NUM_THREADS", "2");
    command
}

fn uv_hash(path: &Path, archive: &Path, target: &Path) -> Command {
    uv("stream-hash", path, archive, target)
}

fn uv_stream(path: &Path, archive: &Path, target: &Path) -> Command {
    uv("stream", path, archive, target)
}

fn uv_seek(path: &Path, archive: &Path, target: &Path) -> Command {
    uv("seek", path, archive, target)
}

fn ripunzip(path: &Path, archive: &Path, target: &Path) -> Command {
    let mut command = Command::new(path);
    command.args(["-q", "unzip-file"]).arg(archive).arg("-d").arg(target);
    command.env("RAYON_NUM_THREADS", "2");
    command
}

fn unzip(path: &Path, archive: &Path, target: &Path) -> Command {
    let mut command = Command::new(path);
    command.arg("-q").arg(archive).arg("-d").arg(target);
    command
}

fn bsdtar(path: &Path, archive: &Path, target: &Path) -> Command {
    // bsdtar does not make its target.
    let script = "mkdir \"$3\" && exec \"$1\" -xf \"$2\" -C \"$3\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(path).arg(archive).arg(target);
    command
}

fn python(path: &Path, archive: &Path, target: &Path) -> Command {
    let mut command = Command::new(path);
    command.args(["-m", "zipfile", "-e"]).arg(archive).arg(target);
    command
}
