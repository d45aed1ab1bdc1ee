//! Archives that cost more than they weigh: memory by names, time by headers, handles by depth.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use proptest::prelude::*;
use stream_extract::{DirectorySink, Extractor, Limits, Policy, Result, Scratch, VerifySink};

use crate::raw_tar;
use crate::raw_zip::{self, stored};

fn gzip(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    parts.into_iter().for_each(|part| encoder.write_all(&part).unwrap());
    encoder.finish().unwrap()
}

fn tar_gz(archive: &[u8], limits: Limits) -> Result<()> {
    let extractor = Extractor::new().limits(limits).policy(Policy::portable().links(true));
    extractor.tar_gz(archive, &mut Scratch::new(), VerifySink::new()).map(drop)
}

#[test]
fn folders_that_only_names_imply_count_against_the_limit_of_entries() {
    let deep: Vec<String> = (0..10).map(|i| format!("{i}{}/f", "/d".repeat(99))).collect();
    let zip: Vec<_> = deep.iter().map(|name| stored(name, b"x")).collect();
    let zip = raw_zip::archive(&zip);
    let read = |limits: Limits| {
        let options = || Extractor::new().limits(limits.clone());
        let (mut scratch, mut two) = (Scratch::new(), [Scratch::new(), Scratch::new()]);
        let stream = options().zip_stream(&zip[..], &mut scratch, VerifySink::new()).map(drop);
        let cursor = std::io::Cursor::new(&zip);
        let seek = options().zip_seek(cursor, &mut scratch, VerifySink::new()).map(drop);
        let parallel = options().zip_parallel(&zip[..], &mut two, VerifySink::new()).map(drop);
        [stream, seek, parallel]
    };
    // Ten files below a hundred folders each.
    assert!(read(Limits::default().entries(1010)).iter().all(Result::is_ok));
    for refused in read(Limits::default().entries(1009)) {
        let error = refused.unwrap_err();
        assert!(error.is_limit() && error.to_string().contains("1009"), "{error}");
    }
    let tar: Vec<_> = (0..10).map(|i| raw_tar::file(&format!("{i}/a/b/c"), b"")).collect();
    let tar = gzip([raw_tar::archive(&tar)]);
    tar_gz(&tar, Limits::default().entries(40)).unwrap();
    assert!(tar_gz(&tar, Limits::default().entries(39)).unwrap_err().is_limit());
}

#[test]
fn zeros_behind_a_compressed_tar_count_against_the_ratio() {
    let tar = raw_tar::archive(&[raw_tar::file("a", b"x")]);
    let padded = |kib: usize| gzip([tar.clone(), vec![0; kib << 10]]);
    let limits = Limits::default().ratio(200, 1 << 20);
    tar_gz(&padded(1000), limits.clone()).unwrap();
    let error = tar_gz(&padded(3000), limits).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn headers_without_files_count_against_the_ratio() {
    let comment = "c".repeat(200_000);
    let header = raw_tar::pax(b'g', &[("comment", &comment)]);
    let end = raw_tar::archive(&[raw_tar::file("a", b"x")]);
    let archive = |count| gzip(vec![header.clone(); count].into_iter().chain([end.clone()]));
    let limits = Limits::default().ratio(200, 1 << 20);
    tar_gz(&archive(4), limits.clone()).unwrap();
    assert!(tar_gz(&archive(16), limits).unwrap_err().is_limit());
}

#[test]
fn the_text_of_links_is_bounded() {
    let target = "t/".repeat(1500);
    let link = |i: usize| {
        let pax = raw_tar::pax(b'x', &[("linkpath", &target)]);
        [pax, raw_tar::link(&format!("link{i}"), b'2', "short")].concat()
    };
    let read = |archive: Vec<u8>| {
        let extractor = Extractor::new().policy(Policy::portable().links(true));
        extractor.tar(&archive[..], &mut Scratch::new(), VerifySink::new()).map(drop)
    };
    let archive = |count| raw_tar::archive(&(0..count).map(link).collect::<Vec<_>>());
    read(archive(1000)).unwrap();
    let error = read(archive(6000)).unwrap_err();
    assert!(error.is_limit() && error.entry_name().is_some(), "{error}");

    let long = raw_tar::pax(b'x', &[("linkpath", &"t".repeat(4097))]);
    let long = [long, raw_tar::link("link", b'2', "short")].concat();
    assert!(read(raw_tar::archive(&[long])).unwrap_err().is_limit());
}

fn files_below(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name.replace('\\', "/"), fs::read(path).unwrap());
        }
    }
}

/// Paths that share beginnings of every length, some of them inside a character or a name.
fn paths() -> impl Strategy<Value = Vec<String>> {
    let component = prop::sample::select(vec!["a", "ab", "b", "é", "è"]);
    let path = prop::collection::vec(component, 0..30).prop_map(|parts| parts.join("/"));
    prop::collection::vec(path, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn files_land_in_their_folders_in_any_order(paths in paths()) {
        let named = |(i, path): (usize, &String)| {
            (format!("{path}/f{i}").trim_start_matches('/').to_owned(), vec![1; i])
        };
        // Entries lie as they were drawn, not as a walk would find them.
        let files: Vec<(String, Vec<u8>)> = paths.iter().enumerate().map(named).collect();
        let entries: Vec<_> = files.iter().map(|(name, content)| stored(name, content)).collect();
        let (zip, expected) = (raw_zip::archive(&entries), BTreeMap::from_iter(files));
        let folder = tempfile::tempdir().unwrap();
        for (name, threads) in [("stream", 0), ("threads", 2)] {
            let target = folder.path().join(name);
            let sink = DirectorySink::create(&target).unwrap();
            let mut scratches = [Scratch::new(), Scratch::new()];
            if threads == 0 {
                Extractor::new().zip_stream(&zip[..], &mut scratches[0], sink).unwrap();
            } else {
                Extractor::new().zip_parallel(&zip[..], &mut scratches, sink).unwrap();
            }
            let mut found = BTreeMap::new();
            files_below(&target, &target, &mut found);
            prop_assert_eq!(&found, &expected);
        }
    }
}
