//! Replays the seeds of the fuzz targets, whole and cut, and finds at least one accepted one in each.

use std::fs;
use std::path::Path;

use crate::fuzzed;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let data = fs::read(entry.unwrap().path()).unwrap();
        run(&data);
        for cut in [1, 2, 3, 5] {
            run(&data[..data.len() * cut / 6]);
        }
        count += 1;
    }
    assert!(count >= 5, "{target} has seeds");
}

#[test]
fn seeds_of_zip_stream_are_read_or_refused() {
    replay("zip_stream", fuzzed::zip_stream);
}

#[test]
fn seeds_of_zip_seek_agree_with_the_stream() {
    replay("zip_seek", fuzzed::zip_seek);
}

#[test]
fn seeds_of_tar_are_read_or_refused() {
    replay("tar", fuzzed::tar);
}

#[test]
fn seeds_of_zip_differential_agree_with_the_zip_crate() {
    replay("zip_differential", fuzzed::zip_differential);
}
