//! Tests of the public surface. Names are sentences.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adopt;
mod ground;
mod place;
mod poison;
mod program;
mod settings;
mod tree;
mod upgrade;
mod verify;

#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod disks;
#[cfg(target_os = "linux")]
mod storm;
