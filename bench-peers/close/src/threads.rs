//! Time against threads, with the line that theory draws: max(writing, files * close / threads).

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bench_util::{Curve, Place, Report, Settings, Workdir};
use deferred_close::{Closer, Policy, Threads};

use crate::contenders::{Contender, Inline, Ours};
use crate::server::{Profile, Server};
use crate::workload::{OPEN_AT_ONCE, create_all, prepare, write_all};

const COUNTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Adds one picture per way of closing.
pub fn sweep(settings: &Settings, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let work = Workdir::on(&Place::Memory)?;
    let files = if settings.quick { 1_000 } else { 4_000 };
    let writing = median(3, || writing(&work, files))?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (how, profile, at_once) in [
        ("waits 1 ms", Profile::waits(1000), usize::MAX),
        ("waits 6 ms", Profile::waits(6000), usize::MAX),
        ("computes 0.3 ms", Profile::computes(300), cores),
    ] {
        eprintln!("threads, close {how}, {files} files");
        // What takes long varies little.
        let repeats = if settings.quick && profile.micros >= 5_000 { 1 } else { 3 };
        // A close takes what it is told to and FUSE's own time: measured, not assumed.
        let closing = median(repeats, || inline(&work, profile, files))? - writing;
        let theory = COUNTS.map(|n| (n as f64, writing.max(closing / n.min(at_once) as f64)));
        let elastic = median(repeats, || ours(&work, profile, files, Threads::Auto { max: 64 }))?;
        report.curves.push(
            Curve::new(format!("{files} files, close {how}"), "closing threads", "seconds")
                .line("theory", theory)
                .line("fixed threads", fixed(&work, profile, files, repeats)?)
                .line("elastic, at most 64", COUNTS.map(|n| (n as f64, elastic))),
        );
    }
    report.note(
        "Theory: max(writing, files * close / threads), with writing and close measured apart on the \
         caller's thread; where closing computes, no more threads than cores count. A scope's thread \
         closes too while it waits, so few threads beat it.",
    );
    Ok(())
}

fn fixed(
    work: &Workdir,
    profile: Profile,
    files: usize,
    repeats: usize,
) -> Result<Vec<(f64, f64)>, Box<dyn Error>> {
    let time = |threads| median(repeats, || ours(work, profile, files, Threads::Fixed(threads)));
    COUNTS.iter().map(|&threads| Ok((threads as f64, time(threads)?))).collect()
}

/// Creating and filling alone: what is open is closed while the clock stands.
fn writing(work: &Workdir, files: usize) -> Result<f64, Box<dyn Error>> {
    let server = Server::start(work, Profile::waits(0)).map_err(|error| error.to_string())?;
    let mut seconds = 0.0;
    for some in prepare(server.folder(), files)?.chunks(OPEN_AT_ONCE) {
        let start = Instant::now();
        let open = create_all(some, Duration::ZERO)?;
        seconds += start.elapsed().as_secs_f64();
        drop(open);
    }
    Ok(seconds)
}

fn median(
    repeats: usize,
    mut run: impl FnMut() -> Result<f64, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let mut seconds = (0..repeats).map(|_| run()).collect::<Result<Vec<f64>, _>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[repeats / 2])
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
