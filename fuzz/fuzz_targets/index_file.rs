#![no_main]

#[path = "../../crates/index-cache/tests/it/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::index_file(data));
