//! Runs an archive through every way of reading it and insists that they agree.

use std::fs;
use std::io::Cursor;

use stream_extract::{
    DirectorySink, Error, Extractor, Limits, Policy, Result, Scratch, VerifySink,
};

use crate::recorder::{Log, Recorder, Tree};

pub(crate) fn zip_stream(archive: &[u8], policy: Policy) -> Result<Tree> {
    let log = Log::default();
    let extractor = Extractor::new().policy(policy);
    let report = extractor.zip_stream(archive, &mut Scratch::new(), Recorder { log: &log })?;
    Ok(report.committed)
}

pub(crate) fn zip_seek(archive: &[u8], policy: Policy) -> Result<Tree> {
    let log = Log::default();
    let extractor = Extractor::new().policy(policy);
    let cursor = Cursor::new(archive);
    let report = extractor.zip_seek(cursor, &mut Scratch::new(), Recorder { log: &log })?;
    Ok(report.committed)
}

pub(crate) fn zip_parallel(archive: &[u8], policy: Policy) -> Result<()> {
    let mut scratches = [Scratch::new(), Scratch::new()];
    let extractor = Extractor::new().policy(policy);
    extractor.zip_parallel(archive, &mut scratches, VerifySink::new()).map(drop)
}

/// The tree of a zip that every way of reading accepts.
pub(crate) fn accept_zip(archive: &[u8]) -> Tree {
    accept_zip_under(archive, &Policy::portable())
}

pub(crate) fn accept_zip_under(archive: &[u8], policy: &Policy) -> Tree {
    let stream = zip_stream(archive, policy.clone()).unwrap();
    assert_eq!(stream, zip_seek(archive, policy.clone()).unwrap(), "stream and seek differ");
    zip_parallel(archive, policy.clone()).unwrap();
    stream
}

/// Insists that every way of reading refuses a zip, and that no trace is left of it.
pub(crate) fn refuse_zip(archive: &[u8], is: fn(&Error) -> bool) -> Error {
    refuse_zip_under(archive, &Policy::portable(), is)
}

pub(crate) fn refuse_zip_under(archive: &[u8], policy: &Policy, is: fn(&Error) -> bool) -> Error {
    let error = zip_stream(archive, policy.clone()).expect_err("the stream is refused");
    assert!(is(&error), "another class: {error}");
    zip_seek(archive, policy.clone()).expect_err("the seekable archive is refused");
    zip_parallel(archive, policy.clone()).expect_err("the parallel mode refuses too");
    let extractor = Extractor::new().policy(policy.clone());
    leaves_no_trace(|sink| extractor.zip_stream(archive, &mut Scratch::new(), sink).map(drop));
    error
}

pub(crate) fn tar(archive: &[u8], policy: Policy) -> Result<Tree> {
    let log = Log::default();
    let extractor = Extractor::new().policy(policy).limits(Limits::default());
    let report = extractor.tar(archive, &mut Scratch::new(), Recorder { log: &log })?;
    Ok(report.committed)
}

pub(crate) fn accept_tar(archive: &[u8]) -> Tree {
    tar(archive, Policy::portable()).unwrap()
}

pub(crate) fn refuse_tar(archive: &[u8], is: fn(&Error) -> bool) -> Error {
    refuse_tar_under(archive, &Policy::portable(), is)
}

pub(crate) fn refuse_tar_under(archive: &[u8], policy: &Policy, is: fn(&Error) -> bool) -> Error {
    let error = tar(archive, policy.clone()).expect_err("the tar is refused");
    assert!(is(&error), "another class: {error}");
    let extractor = Extractor::new().policy(policy.clone());
    leaves_no_trace(|sink| extractor.tar(archive, &mut Scratch::new(), sink).map(drop));
    error
}

fn leaves_no_trace(extract: impl FnOnce(DirectorySink<'_>) -> Result<()>) {
    let folder = tempfile::tempdir().unwrap();
    let sink = DirectorySink::create(folder.path().join("target")).unwrap();
    extract(sink).expect_err("the folder is refused too");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something is left behind");
}
