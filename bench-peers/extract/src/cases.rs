//! One extraction in this process: what the commands of a comparison run.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use bench_extract::Result;
use stream_extract::{DirectorySink, Extractor, Limits, Policy, Scratch};

use crate::{crates, floor, peers};

/// Bytes of the buffer in front of a stream; ours and the peers' alike.
pub(crate) const READ_BYTES: usize = 128 << 10;

pub(crate) fn run(case: &str, archive: &Path, target: &Path) -> Result<()> {
    match case {
        "ours-stream" => stream(archive, target, true),
        "ours-stream-no-hash" => stream(archive, target, false),
        "ours-seek" => seek(archive, target),
        "ours-parallel" => parallel(archive, target, 2),
        "ours-tar-gz" => tar_gz(archive, target, false),
        "ours-tar-gz-hash" => tar_gz(archive, target, true),
        "ours-crates" => crates::ours(archive, target, false),
        "ours-crates-hash" => crates::ours(archive, target, true),
        "floor" => floor::run(archive, target),
        "floor-2-threads" => floor::run_on_two_threads(archive, target),
        "ours-stream-sha256" => hashing(archive, target, true, false),
        "ours-stream-beside" => hashing(archive, target, false, true),
        "ours-stream-sha256-beside" => hashing(archive, target, true, true),
        "zip" => peers::zip(archive, target),
        "zip-parallel" => peers::zip_parallel(archive, target),
        "rc-zip" => peers::rc_zip(archive, target),
        "tar" => peers::tar_gz(archive, target),
        "tar-crates" => crates::tar(archive, target),
        other => Err(format!("unknown case {other}").into()),
    }
}

fn options() -> Extractor<'static> {
    Extractor::new().policy(Policy::pypi())
}

fn open(archive: &Path) -> Result<BufReader<File>> {
    Ok(BufReader::with_capacity(READ_BYTES, File::open(archive)?))
}

fn stream(archive: &Path, target: &Path, hash: bool) -> Result<()> {
    let sink = DirectorySink::create(target)?;
    options().blake3(hash).zip_stream(open(archive)?, &mut Scratch::new(), sink)?;
    Ok(())
}

/// As `stream`, with more digests, and with a thread for them.
fn hashing(archive: &Path, target: &Path, sha256: bool, beside: bool) -> Result<()> {
    let mut scratch = Scratch::new();
    if beside {
        scratch.hash_beside()?;
    }
    let sink = DirectorySink::create(target)?;
    options().sha256(sha256).zip_stream(open(archive)?, &mut scratch, sink)?;
    Ok(())
}

fn seek(archive: &Path, target: &Path) -> Result<()> {
    let sink = DirectorySink::create(target)?;
    options().zip_seek(open(archive)?, &mut Scratch::new(), sink)?;
    Ok(())
}

fn parallel(archive: &Path, target: &Path, threads: usize) -> Result<()> {
    let mut scratches: Vec<Scratch> = (0..threads).map(|_| Scratch::new()).collect();
    let sink = DirectorySink::create(target)?;
    options().zip_parallel(&File::open(archive)?, &mut scratches, sink)?;
    Ok(())
}

fn tar_gz(archive: &Path, target: &Path, hash: bool) -> Result<()> {
    let sink = DirectorySink::create(target)?;
    let extractor = Extractor::new().policy(Policy::crate_()).limits(Limits::crate_file());
    extractor.blake3(hash).tar_gz(open(archive)?, &mut Scratch::new(), sink)?;
    Ok(())
}
