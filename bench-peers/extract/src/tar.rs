//! A gzipped tar of many small files: processor time against the tar crate's `unpack`.

use std::cell::RefCell;
use std::fs;

use bench_util::{
    CaseError, Comparison, Error, Goal, Metric, Paired, Place, Report, Settings, Workdir,
};

use bench_extract::archives::{docs, tar_gz_of};

const FULL_BYTES: u64 = 4 << 30;

pub(crate) fn run(settings: &Settings, report: &mut Report) -> Result<(), Error> {
    eprintln!("   Extracting a tar.gz");
    report.add_or_failed("tar.gz", compare(settings));
    Ok(())
}

fn compare(settings: &Settings) -> Result<Comparison, Error> {
    let inputs = Workdir::on(&Place::Memory)?;
    let archive = inputs.path().join("docs.tar.gz");
    let made = tar_gz_of(&docs(settings)).and_then(|bytes| fs::write(&archive, bytes));
    made.map_err(|error| Error::unavailable(format!("a tar ({error})"), "see the reason"))?;
    let work = RefCell::new(Workdir::on(&Place::Memory)?);
    let exe = std::env::current_exe().unwrap_or_else(|_| "bench-extract".into());
    let (archive, work, exe) = (&archive, &work, &exe);
    let own = |case: &'static str| {
        move |_| {
            let mut command = std::process::Command::new(exe);
            command.args(["run", case]).arg(archive).arg(work.borrow().unused("tree"));
            Ok::<_, CaseError>(command)
        }
    };
    Paired::new("documentation as tar.gz, processor time")
        .settings(settings)
        .before_round(|| Ok(work.borrow_mut().renew_over(FULL_BYTES).map(drop)?))
        .reference_command("tar, unpack", own("tar"))
        .case_command("ours, no hash", own("ours-tar-gz"))
        .goal_on(Metric::Cpu, Goal::AtMost(0.60))
        .case_command("ours, BLAKE3", own("ours-tar-gz-hash"))
        .run()
}
