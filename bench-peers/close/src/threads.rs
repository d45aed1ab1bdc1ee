//! Time against threads, with the line that theory draws: max(writing, files * close / threads).

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench_util::{Curve, Place, Report, Settings, Workdir};
use deferred_close::{Closer, Policy, Threads};

use crate::contenders::{Contender, Inline, Ours};
use crate::server::{Profile, Server};
use crate::workload::{prepare, write_all};

const COUNTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const REPEATS: usize = 3;

/// Adds one picture per close time.
pub fn sweep(settings: &Settings, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let work = Workdir::on(&Place::Memory)?;
    let files = if settings.quick { 1_000 } else { 4_000 };
    let writing = median(|| inline(&work, Profile::waits(0), files))?;
    for micros in [1000, 6000] {
        eprintln!("threads for {micros} us, {files} files");
        let profile = Profile::waits(micros);
        // A close takes what it is told to and FUSE's own time: measured, not assumed.
        let close = (inline(&work, profile, files)? - writing) / files as f64;
        let theory = COUNTS.map(|n| (n as f64, writing.max(files as f64 * close / n as f64)));
        let mut fixed = Vec::new();
        for threads in COUNTS {
            let seconds = median(|| ours(&work, profile, files, Threads::Fixed(threads)))?;
            fixed.push((threads as f64, seconds));
        }
        let elastic = median(|| ours(&work, profile, files, Threads::Auto { max: 64 }))?;
        let name = format!("{files} files, close waits {} ms", micros / 1000);
        report.curves.push(
            Curve::new(name, "closing threads", "seconds")
                .line("theory", theory)
                .line("fixed threads", fixed)
                .line("elastic, at most 64", COUNTS.map(|n| (n as f64, elastic))),
        );
    }
    report.note(
        "Theory: max(writing, files * close / threads), with writing and close measured on the \
         caller's thread. A scope's thread closes too while it waits, so few threads can beat it.",
    );
    Ok(())
}

fn median(mut run: impl FnMut() -> Result<f64, Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut seconds = (0..REPEATS).map(|_| run()).collect::<Result<Vec<f64>, _>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[REPEATS / 2])
}

fn inline(work: &Workdir, profile: Profile, files: usize) -> Result<f64, Box<dyn Error>> {
    timed(work, profile, files, |paths| Ok(write_one(paths, Box::new(Inline::default()))?))
}

fn ours(
    work: &Workdir,
    profile: Profile,
    files: usize,
    threads: Threads,
) -> Result<f64, Box<dyn Error>> {
    let closer = Closer::builder().policy(Policy::Always).threads(threads).build();
    timed(work, profile, files, |paths| {
        closer.scope(|scope| {
            let group = scope.group("bench");
            Ok(write_one(paths, Box::new(Ours { group }))?)
        })?
    })
}

fn write_one(paths: &[PathBuf], contender: Box<dyn Contender + '_>) -> std::io::Result<usize> {
    write_all(paths, Duration::ZERO, contender)
}

fn timed(
    work: &Workdir,
    profile: Profile,
    files: usize,
    write: impl FnOnce(&[PathBuf]) -> Result<usize, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let server = Server::start(work, profile).map_err(|error| error.to_string())?;
    let paths = prepare(server.folder(), files)?;
    let start = Instant::now();
    write(&paths)?;
    Ok(start.elapsed().as_secs_f64())
}
