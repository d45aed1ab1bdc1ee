#![no_main]

#[path = "../../crates/cas-store/tests/it/fuzzed.rs"]
mod fuzzed;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzed::manifest(data));
