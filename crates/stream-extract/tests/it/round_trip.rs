use std::fs;
use std::io::Cursor;

use stream_extract::{DirectorySink, Extractor, Scratch};

use crate::made;

fn entries() -> Vec<(&'static str, Vec<u8>, bool)> {
    let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 300_000];
    let names = ["a", "b/c", "b/d/e", "b/d/f", "g", "h/i", "j"];
    let files = names.into_iter().zip(sizes).enumerate();
    files.map(|(i, (name, size))| (name, made::noise(size), i % 2 == 0)).collect()
}

fn assert_extracted(target: &std::path::Path) {
    for (name, content, executable) in entries() {
        let path = target.join(name);
        assert_eq!(fs::read(&path).unwrap(), content, "{name}");
        assert_executable(&path, executable);
    }
}

#[cfg(unix)]
fn assert_executable(path: &std::path::Path, executable: bool) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o100 != 0, executable, "{}: {mode:o}", path.display());
}

/// There is no such bit.
#[cfg(not(unix))]
fn assert_executable(_: &std::path::Path, _: bool) {}

fn in_target(extract: impl FnOnce(DirectorySink, &mut Scratch, &[(&str, &[u8], bool)])) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let entries = entries();
    let entries: Vec<_> = entries.iter().map(|(n, c, x)| (*n, &c[..], *x)).collect();
    extract(DirectorySink::create(&target).unwrap(), &mut Scratch::new(), &entries);
    assert_extracted(&target);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left beside the target"
    );
}

#[test]
fn a_zip_stream_becomes_a_folder() {
    in_target(|sink, scratch, entries| {
        let archive = made::zip(entries);
        let report = Extractor::new().zip_stream(&archive[..], scratch, sink).unwrap();
        assert_eq!(report.summary.files, 7);
        assert_eq!(report.summary.archive_bytes, archive.len() as u64);
    });
}

#[test]
fn a_seekable_zip_becomes_a_folder() {
    in_target(|sink, scratch, entries| {
        Extractor::new().zip_seek(Cursor::new(made::zip(entries)), scratch, sink).unwrap();
    });
}

#[test]
fn a_gzipped_tar_becomes_a_folder() {
    in_target(|sink, scratch, entries| {
        Extractor::new().tar_gz(&made::tar_gz(entries)[..], scratch, sink).unwrap();
    });
}

#[test]
fn a_failed_extraction_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mut archive = made::zip(&[("a", b"text", false), ("b", b"text", false)]);
    archive.truncate(archive.len() - 1);
    let sink = DirectorySink::create(folder.path().join("target")).unwrap();
    let error = Extractor::new().zip_stream(&archive[..], &mut Scratch::new(), sink).unwrap_err();
    assert!(error.is_truncated(), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_digest_is_checked_before_anything_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = made::zip(&[("a", b"text", false)]);
    let sink = DirectorySink::create(folder.path().join("target")).unwrap();
    let extractor = Extractor::new().expect_sha256([7; 32]);
    let error = extractor.zip_stream(&archive[..], &mut Scratch::new(), sink).unwrap_err();
    assert!(error.is_digest_mismatch(), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
