//! Tests of the public surface. Names are sentences.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod corpus;
mod fuzzed;
mod ground;
mod parallel;
mod portable;
mod program;
mod tree;

// About modes, owners, links and inodes as Unix has them.
#[cfg(unix)]
mod adopt;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod place;
#[cfg(unix)]
mod poison;
#[cfg(unix)]
mod settings;
#[cfg(unix)]
mod upgrade;
#[cfg(unix)]
mod verify;

// Other processes and mounts.
#[cfg(target_os = "linux")]
mod child;
#[cfg(target_os = "linux")]
mod disks;
#[cfg(target_os = "linux")]
mod storm;

#[cfg(windows)]
mod windows;
