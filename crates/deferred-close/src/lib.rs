//! Closes file handles off the hot path.
