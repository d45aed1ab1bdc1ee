//! The same archive in other pieces, cut, and with flipped bytes.

use std::io::{self, BufRead, BufReader, Read};

use proptest::prelude::*;
use stream_extract::{Extractor, Policy, Result, Scratch};

use crate::attempt::{tar, zip_parallel, zip_seek, zip_stream};
use crate::made;
use crate::raw_tar;
use crate::raw_zip::{End, archive_with, deflated, stored};
use crate::recorder::{Log, Recorder};

/// Hands out at most `sizes` bytes at a time, cycling.
struct Pieces<'a> {
    rest: &'a [u8],
    sizes: &'a [usize],
    turn: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.turn % self.sizes.len()].min(out.len());
        self.turn += 1;
        if self.turn.is_multiple_of(7) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.rest.read(&mut out[..size])
    }
}

fn pieces<'a>(archive: &'a [u8], sizes: &'a [usize]) -> impl BufRead + 'a {
    BufReader::new(Pieces { rest: archive, sizes, turn: 0 })
}

/// Every call of the sink, and the error.
fn events(reader: impl BufRead, gzip: bool) -> (Vec<String>, Option<String>) {
    let log = Log::default();
    let mut scratch = Scratch::new();
    let sink = Recorder { log: &log };
    let result = if gzip {
        Extractor::new().tar_gz(reader, &mut scratch, sink)
    } else {
        Extractor::new().zip_stream(reader, &mut scratch, sink)
    };
    (log.calls.take(), result.err().map(|error| error.to_string()))
}

fn sample_zip() -> Vec<u8> {
    let entries = [
        stored("empty", b""),
        stored("dir/", b"").with(|raw| raw.external = 0o40_755 << 16),
        deflated("dir/text", "a line of text\n".repeat(9).as_bytes()),
        deflated("run", b"#!/bin/sh\n").with(|raw| raw.external = 0o100_755 << 16),
        deflated("late", b"described").with_descriptor(true, false),
        stored("noise", &made::noise(40)),
    ];
    archive_with(&entries, &End { comment: b"note".to_vec(), wide: true, ..End::default() })
}

fn sample_tar() -> Vec<u8> {
    raw_tar::archive(&[
        raw_tar::entry(b"d/", b'5', b""),
        raw_tar::file("d/a", b"text"),
        raw_tar::pax(b'x', &[("path", "d/renamed"), ("mtime", "1.5")]),
        raw_tar::file("short", &made::noise(600)),
    ])
}

#[test]
fn the_size_of_pieces_changes_nothing() {
    let big = made::noise(200_000);
    let zip = made::zip(&[("a", &big, true), ("b", &big[..65_536], false), ("c", b"x", false)]);
    let tar_gz = made::tar_gz(&[("a", &big, true), ("b", &big[..65_536], false)]);
    for (archive, gzip) in [(&zip, false), (&tar_gz, true)] {
        for end in [archive.len(), archive.len() - 1, archive.len() / 2] {
            let archive = &archive[..end];
            let whole = events(archive, gzip);
            assert_eq!(events(pieces(archive, &[1]), gzip), whole);
            assert_eq!(events(pieces(archive, &[3, 1, 4_096, 17]), gzip), whole);
        }
    }
}

#[test]
fn an_archive_cut_at_any_byte_is_refused() {
    let zip = sample_zip();
    let tar_bytes = sample_tar();
    zip_stream(&zip, Policy::portable()).unwrap();
    tar(&tar_bytes, Policy::portable()).unwrap();
    for end in 0..zip.len() {
        assert!(zip_stream(&zip[..end], Policy::portable()).unwrap_err().is_truncated());
        zip_seek(&zip[..end], Policy::portable()).unwrap_err();
        zip_parallel(&zip[..end], Policy::portable()).unwrap_err();
    }
    for end in 0..tar_bytes.len() {
        assert!(tar(&tar_bytes[..end], Policy::portable()).unwrap_err().is_truncated());
    }
}

#[test]
fn a_gzipped_tar_cut_at_any_byte_is_refused() {
    let tar_gz = made::tar_gz(&[("a", b"text", false), ("b", &made::noise(300), true)]);
    for end in 0..tar_gz.len() {
        let (calls, error) = events(&tar_gz[..end], true);
        assert!(error.is_some_and(|error| error.contains("truncated")), "cut at {end}");
        assert!(!calls.contains(&"commit".to_owned()));
    }
}

#[test]
fn a_flipped_byte_is_refused_or_changes_nothing_that_matters() {
    let zip = sample_zip();
    let good = zip_stream(&zip, Policy::portable()).unwrap();
    let contents = |tree: crate::recorder::Tree| {
        tree.into_iter().map(|(p, (c, _))| (p, c)).collect::<Vec<_>>()
    };
    let good_contents = contents(good);
    for at in 0..zip.len() {
        for bit in [1, 0x80, 0xff] {
            let mut bad = zip.clone();
            bad[at] ^= bit;
            let stream = zip_stream(&bad, Policy::portable());
            agree(&stream, &zip_seek(&bad, Policy::portable()), at);
            let parallel = zip_parallel(&bad, Policy::portable());
            assert!(parallel.is_ok() || stream.is_err(), "byte {at}: {parallel:?}");
            if let Ok(tree) = stream {
                // No checksum covers the mode; everything else is covered or described twice.
                assert_eq!(contents(tree), good_contents, "byte {at}");
            }
        }
    }
}

/// Equal trees, or both fail; only the seekable mode can read what needs seeking.
fn agree(stream: &Result<crate::recorder::Tree>, seek: &Result<crate::recorder::Tree>, at: usize) {
    match (stream, seek) {
        (Ok(stream), Ok(seek)) => assert_eq!(stream, seek, "byte {at}"),
        (Err(stream), Ok(_)) => assert!(stream.is_needs_seek(), "byte {at}: {stream}"),
        (Ok(_), Err(seek)) => panic!("byte {at}: only the seekable mode fails: {seek}"),
        (Err(_), Err(_)) => {}
    }
}

#[test]
fn a_flipped_byte_of_a_gzipped_tar_is_refused_or_changes_nothing() {
    let content = made::noise(300);
    let tar_gz = made::tar_gz(&[("a", b"text", false), ("b", &content, true)]);
    let good = events(&tar_gz[..], true);
    for at in 0..tar_gz.len() {
        for bit in [1, 0x80] {
            let mut bad = tar_gz.clone();
            bad[at] ^= bit;
            let (calls, error) = events(&bad[..], true);
            assert!(error.is_some() || calls == good.0, "byte {at}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_archives_are_read_alike_in_every_order(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut zip = sample_zip();
        for (index, byte) in edits {
            let at = index.index(zip.len());
            zip[at] = byte;
        }
        if let Some(cut) = cut {
            zip.truncate(cut.index(zip.len()));
        }
        agree(&zip_stream(&zip, Policy::portable()), &zip_seek(&zip, Policy::portable()), 0);
    }

    #[test]
    fn what_the_zip_crate_writes_comes_out(
        files in proptest::collection::btree_map("[a-z0-9äß_-][a-z0-9äß _-]{0,11}(/[a-z]{1,5}){0,2}", (0_usize..70_000, any::<bool>()), 1..6),
    ) {
        let contents: Vec<_> = files.iter().map(|(name, (size, x))| (name.trim_end().to_owned(), made::noise(*size), *x)).collect();
        let entries: Vec<_> = contents.iter().map(|(n, c, x)| (n.as_str(), &c[..], *x)).collect();
        // Names may collide by chance (a file and a folder, or after trimming): then both refuse.
        let Some(zip) = made::try_zip(&entries) else { return Ok(()) };
        let stream = zip_stream(&zip, Policy::portable().native_names());
        let seek = zip_seek(&zip, Policy::portable().native_names());
        match (stream, seek) {
            (Ok(stream), Ok(seek)) => {
                prop_assert_eq!(&stream, &seek);
                for (name, content, executable) in contents {
                    prop_assert_eq!(&stream[&name], &(Some(content), executable));
                }
            }
            (Err(stream), Err(_)) => {
                // Windows refuses some names by policy.
                prop_assert!(stream.is_conflict() || cfg!(windows) && stream.is_unsafe_path(), "{}", stream);
            }
            (stream, seek) => prop_assert!(false, "{:?} {:?}", stream.err(), seek.err()),
        }
    }
}
