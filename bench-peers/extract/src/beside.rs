//! Digests of large files on a second thread, against the same program without.
//!
//! numpy: a few large libraries beside many small files. The reference has the same digests to compute.

use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::process::Command;

use bench_util::{CaseError, Comparison, Error, Paired, Place, Report, Settings, Workdir};

use bench_extract::archives::NUMPY;

const FULL_BYTES: u64 = 4 << 30;

pub(crate) fn run(settings: &Settings, report: &mut Report) -> Result<(), Error> {
    eprintln!("   Hashing beside");
    let wheel = match NUMPY.find(settings) {
        Ok(wheel) => wheel,
        Err(error) => {
            report.failed("numpy", &error);
            return Ok(());
        }
    };
    let inputs = Workdir::on(&Place::Memory)?;
    let archive = inputs.path().join("archive.whl");
    let copied = fs::copy(wheel, &archive);
    copied.map_err(|error| Error::unavailable(format!("a copy ({error})"), "see the reason"))?;
    let blake3 = ["ours-stream", "ours-stream-beside"];
    let both = ["ours-stream-sha256", "ours-stream-sha256-beside"];
    for (digests, cases) in [("BLAKE3", blake3), ("BLAKE3 and SHA-256", both)] {
        report.add_or_failed("numpy", compare(settings, &archive, digests, cases));
    }
    Ok(())
}

fn compare(
    settings: &Settings,
    archive: &Path,
    digests: &str,
    [inline, beside]: [&'static str; 2],
) -> Result<Comparison, Error> {
    let work = RefCell::new(Workdir::on(&Place::Memory)?);
    let exe = std::env::current_exe().unwrap_or_else(|_| "bench-extract".into());
    let (work, exe) = (&work, &exe);
    let own = |case: &'static str| {
        move |_| {
            let mut command = Command::new(exe);
            command.args(["run", case]).arg(archive).arg(work.borrow().unused("tree"));
            Ok::<_, CaseError>(command)
        }
    };
    Paired::new(format!("numpy, stream, {digests} per file"))
        .settings(settings)
        .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?))
        .reference_command("ours, one thread", own(inline))
        .case_command("ours, hashing beside", own(beside))
        .run()
}
