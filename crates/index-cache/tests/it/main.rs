//! The cache through its public interface, on real files and with real processes.

#![expect(clippy::unwrap_used, reason = "a test panics where something is wrong")]

mod basics;
#[cfg(unix)] // There is no cargo for Windows to compare with where these run.
mod cargo_compare;
mod cargo_layout;
mod cargo_shim;
mod corpus;
mod fuzzed;
mod golden;
#[cfg(target_os = "linux")]
mod handles;
#[cfg(unix)] // Files are replaced under open handles.
mod held;
mod ixc;
mod layers;
#[cfg(target_os = "linux")]
mod medium;
mod prefetch;
mod processes;
#[cfg(windows)]
mod windows;
