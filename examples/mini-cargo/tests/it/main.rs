//! The program against real cargo, over registries that each test makes for itself.
//!
//! A test writes index entries and archives into a cargo home in cargo's own layout; real cargo
//! reads them with its index updates switched off, and mini-cargo reads the same files. Tests of
//! downloads have a server of their own on the loopback interface.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commands;
mod damage;
mod home;
mod interruptions;
mod locks;
mod manifests;
mod network;
mod refusals;
mod replacements;
mod server;
mod updates;
mod vendoring;
mod weird;
