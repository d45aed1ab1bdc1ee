//! What users of the crate rely on.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod paired;
mod report;
mod statistics;
mod workdir;
