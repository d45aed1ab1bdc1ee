//! Downloads that break and go on.

use std::fs;
use std::io::{self, Cursor, Read};

use stream_extract::{Extractor, Partial, Policy, Scratch, VerifySink};

use crate::made;
use crate::raw_zip::{archive, stored};

/// A download that breaks after `limit` bytes.
struct Breaks<'a> {
    rest: &'a [u8],
    limit: usize,
}

impl Read for Breaks<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.limit.min(out.len()).min(1000);
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "the peer went away"));
        }
        self.limit -= count;
        self.rest.read(&mut out[..count])
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}

#[test]
fn a_broken_download_goes_on_where_it_broke() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wheel.partial");
    let zip = made::zip(&[("a", &made::noise(90_000), false), ("b", b"text", true)]);
    let mut scratch = Scratch::new();
    let mut fetched = 0;
    let report = loop {
        let partial = Partial::open(&path).unwrap();
        let have = usize::try_from(partial.len()).unwrap();
        assert!(have >= fetched, "nothing is fetched twice");
        fetched = have;
        let rest = Breaks { rest: &zip[have..], limit: 20_000 };
        let mut tee = partial.resume(rest).unwrap();
        let extractor = Extractor::new().expect_sha256(sha256(&zip));
        match extractor.zip_stream(&mut tee, &mut scratch, VerifySink::new()) {
            Ok(report) => break report,
            Err(error) => assert!(error.is_read(), "the download's error wins: {error}"),
        }
    };
    assert_eq!(report.summary.archive_sha256, Some(sha256(&zip)));
    assert_eq!(fs::read(&path).unwrap(), zip);
}

#[test]
fn a_server_that_starts_again_is_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.partial");
    fs::write(&path, b"of another version").unwrap();
    let mut partial = Partial::open(&path).unwrap();
    assert!(!partial.is_empty());
    partial.restart().unwrap();
    assert!(partial.is_empty());
    let zip = made::zip(&[("a", b"x", false)]);
    let mut tee = partial.resume(&zip[..]).unwrap();
    Extractor::new().zip_stream(&mut tee, &mut Scratch::new(), VerifySink::new()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), zip);
}

#[test]
fn an_archive_that_needs_seeking_is_read_from_the_kept_file() {
    let folder = tempfile::tempdir().unwrap();
    let zip = archive(&[stored("a", &made::noise(70_000)).with_descriptor(true, false)]);
    let partial = Partial::open(folder.path().join("x.partial")).unwrap();
    let mut tee = partial.resume(&zip[..]).unwrap();
    let mut scratch = Scratch::new();
    let stream = Extractor::new().zip_stream(&mut tee, &mut scratch, VerifySink::new());
    assert!(stream.unwrap_err().is_needs_seek());
    let file = tee.finish().unwrap();
    let extractor = Extractor::new().policy(Policy::portable());
    extractor.zip_seek(io::BufReader::new(file), &mut scratch, VerifySink::new()).unwrap();
    Extractor::new().zip_seek(Cursor::new(zip), &mut scratch, VerifySink::new()).unwrap();
}
