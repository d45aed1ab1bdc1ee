//! Everything that the public interface promises, on archives that the tests make themselves.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod attempt;
mod beside;
mod corpus;
#[cfg(unix)] // The programs and modes are those of Unix.
mod differential;
mod faults_of_formats;
#[cfg(unix)] // Links and modes.
mod faults_of_links;
mod faults_of_names;
mod faults_of_tar;
mod faults_of_zip;
mod formats;
mod fuzzed;
mod hostile;
mod made;
mod mutations;
mod oracle;
mod partial;
mod raw_tar;
mod raw_zip;
mod recorder;
mod round_trip;
mod sinks;
mod sizes;
#[cfg(windows)]
mod windows;
