//! Each container around the same tar, and conda packages.

use std::io::Write as _;

use stream_extract::{Error, Extractor, Limits, Report, Result, Scratch, VerifySink};

use crate::made;
use crate::raw_tar;
use crate::raw_zip::{archive, deflated, stored};
use crate::recorder::{Log, Recorder, Tree};

fn record(
    extract: impl FnOnce(Recorder<'_>, &mut Scratch) -> Result<Report<Tree>>,
) -> Result<Tree> {
    let log = Log::default();
    extract(Recorder { log: &log }, &mut Scratch::new()).map(|report| report.committed)
}

fn sample() -> Vec<u8> {
    let big = made::noise(200_000);
    raw_tar::archive(&[raw_tar::file("a", b"text"), raw_tar::file("d/big", &big)])
}

type Read = fn(&[u8]) -> Result<Tree>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn tar_gz(bytes: &[u8]) -> Result<Tree> {
    record(|sink, scratch| Extractor::new().tar_gz(bytes, scratch, sink))
}

fn tar_zst(bytes: &[u8]) -> Result<Tree> {
    record(|sink, scratch| Extractor::new().tar_zst(bytes, scratch, sink))
}

fn tar_xz(bytes: &[u8]) -> Result<Tree> {
    record(|sink, scratch| Extractor::new().tar_xz(bytes, scratch, sink))
}

#[test]
fn every_compression_gives_the_same_tree() {
    let tar = sample();
    let plain = record(|sink, scratch| Extractor::new().tar(&tar[..], scratch, sink)).unwrap();
    assert_eq!(plain.len(), 2);
    assert_eq!(tar_gz(&gzip(&tar)).unwrap(), plain);
    assert_eq!(tar_zst(&zstd(&tar)).unwrap(), plain);
    assert_eq!(tar_xz(&xz(&tar)).unwrap(), plain);
}

#[test]
fn a_compressed_tar_may_have_several_parts() {
    let tar = sample();
    let (head, tail) = tar.split_at(1000);
    let plain = tar_gz(&gzip(&tar)).unwrap();
    assert_eq!(tar_gz(&[gzip(head), gzip(tail)].concat()).unwrap(), plain);
    assert_eq!(tar_zst(&[zstd(head), zstd(tail)].concat()).unwrap(), plain);
    let skippable = [&b"\x50\x2a\x4d\x18\x03\0\0\0"[..], b"abc"].concat();
    assert_eq!(tar_zst(&[skippable, zstd(&tar)].concat()).unwrap(), plain);
}

#[test]
fn a_damaged_compressed_tar_is_refused() {
    let tar = raw_tar::archive(&[raw_tar::file("a", &made::noise(2000))]);
    let cases: [(Vec<u8>, Read); 3] =
        [(gzip(&tar), tar_gz), (zstd(&tar), tar_zst), (xz(&tar), tar_xz)];
    for (bytes, read) in cases {
        let good = read(&bytes).unwrap();
        for end in (0..bytes.len()).step_by(7) {
            read(&bytes[..end]).expect_err("a cut archive is refused");
        }
        for at in (0..bytes.len()).step_by(3) {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            // Fields such as a gzip header's time decide nothing.
            assert!(read(&bad).map_or(true, |tree| tree == good), "byte {at}");
        }
        read(&[bytes, b"more".to_vec()].concat()).expect_err("trailing bytes are refused");
    }
}

#[test]
fn a_window_larger_than_the_limit_is_refused() {
    let (xz, zst) = (xz(&sample()), zstd(&sample()));
    let extractor = || Extractor::new().limits(Limits::default().decoder_bytes(64 << 10));
    let result = record(|sink, scratch| extractor().tar_xz(&xz[..], scratch, sink));
    assert!(result.unwrap_err().is_limit());
    let result = record(|sink, scratch| extractor().tar_zst(&zst[..], scratch, sink));
    let error = result.unwrap_err();
    assert!(error.is_limit(), "{error}");
}

fn conda(bytes: &[u8]) -> Result<Tree> {
    record(|sink, scratch| Extractor::new().conda(bytes, scratch, sink))
}

fn package(files: &[Vec<u8>]) -> Vec<u8> {
    zstd(&raw_tar::archive(files))
}

#[test]
fn a_conda_package_is_one_tree() {
    let metadata = stored("metadata.json", b"{\"conda_pkg_format_version\": 2}");
    let pkg = package(&[raw_tar::file("lib/a", &made::noise(100_000))]);
    let info = package(&[raw_tar::file("info/index.json", b"{}")]);
    let pkg = stored("pkg-x-1.0-0.tar.zst", &pkg);
    let info = stored("info-x-1.0-0.tar.zst", &info);
    let tree = conda(&archive(&[metadata.clone(), pkg.clone(), info.clone()])).unwrap();
    assert_eq!(tree.keys().collect::<Vec<_>>(), ["info/index.json", "lib/a"]);

    conda(&archive(&[metadata.clone(), pkg.clone()])).unwrap_err();
    let second = stored("pkg-y.tar.zst", &package(&[raw_tar::file("lib/b", b"x")]));
    let twice = [metadata.clone(), pkg.clone(), second, info.clone()];
    assert!(conda(&archive(&twice)).unwrap_err().is_conflict());
    let long = stored("metadata.json", &made::noise((64 << 10) + 513));
    assert!(conda(&archive(&[long, pkg.clone(), info.clone()])).unwrap_err().is_limit());
    let other = [metadata.clone(), pkg.clone(), info.clone(), stored("../x", b"")];
    assert!(conda(&archive(&other)).unwrap_err().is_corrupt());
    let twice_packed = [metadata.clone(), deflated("pkg-x.tar.zst", &pkg.data), info.clone()];
    assert!(conda(&archive(&twice_packed)).unwrap_err().is_corrupt());
    let lying = pkg.with(|raw| raw.truth[0] ^= 1);
    assert!(conda(&archive(&[metadata, lying, info])).unwrap_err().is_corrupt());
}

#[test]
fn files_of_both_parts_of_a_conda_package_may_not_collide() {
    let part = package(&[raw_tar::file("same", b"x")]);
    let metadata = stored("metadata.json", b"{}");
    let entries = [metadata, stored("pkg-x.tar.zst", &part), stored("info-x.tar.zst", &part)];
    let error = conda(&archive(&entries)).unwrap_err();
    assert!(Error::is_conflict(&error), "{error}");
}

#[test]
fn the_checksum_and_the_size_behind_a_gzip_member_are_checked() {
    let good = made::tar_gz(&[("a", b"text", false)]);
    for at in good.len() - 8..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let read = Extractor::new().tar_gz(&bad[..], &mut Scratch::new(), VerifySink::new());
        assert!(read.unwrap_err().is_corrupt(), "byte {at}");
    }
}
