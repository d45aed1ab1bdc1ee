//! Paired benchmarks.
