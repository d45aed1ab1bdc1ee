#![no_main]
#![allow(dead_code, reason = "one of several targets that share these files")]

#[path = "../../crates/stream-extract/tests/it/fuzzed.rs"]
mod fuzzed;
#[path = "../../crates/stream-extract/tests/it/recorder.rs"]
mod recorder;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    fuzzed::zip_differential(data);
});
