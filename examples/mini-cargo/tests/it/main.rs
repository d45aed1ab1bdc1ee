//! The program against real cargo, over registries that each test makes for itself.
//!
//! A test writes index entries and archives into a cargo home in cargo's own layout; real cargo
//! reads them with its index updates switched off, and mini-cargo reads the same files. Nothing
//! here uses a network.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod home;
mod locks;
mod manifests;
mod refusals;
mod updates;
mod vendoring;
