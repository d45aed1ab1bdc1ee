//! Replays the seeds of the fuzz targets, whole and cut. Those with a name of their own are accepted, but
//! for the few that are meant not to be; what a fuzzer found has no extension and is only replayed.

use std::fs;
use std::path::Path;

use crate::fuzzed;

const REFUSED: [&str; 2] = ["escape.zip", "link.zip"];

fn replay(target: &str, run: fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let data = fs::read(&path).unwrap();
        let accepted = run(&data);
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(path.extension().is_none() || accepted != REFUSED.contains(&name), "{name}");
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
