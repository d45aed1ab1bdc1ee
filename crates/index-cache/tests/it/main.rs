//! The cache through its public interface.

#![expect(clippy::unwrap_used, reason = "a test panics where something is wrong")]

mod basics;
