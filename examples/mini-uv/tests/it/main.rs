//! The tool as its users have it: real processes, real wheels, the real interpreter.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod damage;
mod folder;
mod hostile;
mod index;
mod install;
mod interrupt;
mod kill;
mod network;
mod resolve;
mod wheel;
mod world;
