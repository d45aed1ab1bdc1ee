//! Replays the fuzz target's corpus: seeds, and the fewest inputs that reached what fuzzing reached.
//! Each whole, cut, and with each of some bytes changed.

use crate::fuzzed;
use std::fs;
use std::path::Path;

#[test]
fn seeds_of_index_file_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/index_file");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let mut data = fs::read(entry.unwrap().path()).unwrap();
        fuzzed::index_file(&data);
        fuzzed::index_file(&data[..data.len() / 2]);
        for at in (0..data.len()).step_by(9_973) {
            data[at] ^= 0x40;
            fuzzed::index_file(&data);
            data[at] ^= 0x40;
        }
        count += 1;
    }
    assert!(count >= 40, "only {count} inputs are there");
}
