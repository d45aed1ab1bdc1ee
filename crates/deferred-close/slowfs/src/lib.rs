//! An in-memory file system whose `close` is slow, or fails, in the ways that real ones do.
//!
//! A crate of its own, not published, because two workspaces mount it: the tests of `deferred-close`
//! and its benchmark. Linux only; needs root (or `fusermount`) and `/dev/fuse`: without them
//! [`SlowFs::mount`] is an error, and whoever tests with it fails rather than skips.
//!
//! What is slow is FUSE's `FLUSH`, which the kernel sends for each `close(2)` and whose answer is the
//! answer of `close(2)`. Everything else is as fast as FUSE is. No links, no times, no owners.
#![cfg(target_os = "linux")]

mod delay;
mod mount;
mod requests;
mod tree;

pub use mount::SlowFs;

use std::time::Duration;

/// How closing behaves.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Close {
    /// How long one close takes.
    pub takes: Duration,
    /// How it takes that long.
    pub how: How,
    /// Every n-th close fails with [`code`](Self::code); 0: none.
    pub fails_every: u64,
    /// The errno of a failing close.
    pub code: i32,
}

/// What a close does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// Waits, like a network file system: any number at the same time.
    Waits,
    /// Waits for one of so many service points, like a server with few threads.
    Queues(usize),
    /// Computes, like a virus scanner: as many at the same time as there are cores.
    Computes,
}

impl Close {
    /// Closes that wait for `takes` and succeed.
    pub fn waits(takes: Duration) -> Self {
        Self { takes, how: How::Waits, fails_every: 0, code: 0 }
    }

    /// The same, done in another way.
    #[must_use]
    pub fn how(self, how: How) -> Self {
        Self { how, ..self }
    }

    /// The same, with every `n`-th close failing with errno `code`.
    #[must_use]
    pub fn failing(self, n: u64, code: i32) -> Self {
        Self { fails_every: n, code, ..self }
    }
}
