//! Replays the fuzz target's corpus: seeds, and the fewest inputs that reached what fuzzing reached.
//! Each whole, and cut after every seventh byte.

use std::fs;
use std::path::Path;

use crate::fuzzed;

#[test]
fn seeds_of_manifest_are_refused_or_keep_their_spelling() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/manifest");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let data = fs::read(entry.unwrap().path()).unwrap();
        for length in (0..=data.len()).rev().step_by(7) {
            fuzzed::manifest(&data[..length]);
        }
        count += 1;
    }
    assert!(count >= 25, "only {count} inputs are there");
}
