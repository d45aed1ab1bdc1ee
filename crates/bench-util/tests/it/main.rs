//! What users of the crate rely on.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests may panic and print"
)]

mod paired;
mod report;
mod statistics;
mod workdir;
