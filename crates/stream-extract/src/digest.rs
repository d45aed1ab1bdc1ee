//! Everything that is computed from a file's bytes while they pass: one pass, no second read.
//!
//! [`Passing`] is what the loop that moves bytes knows of it. [`Inline`] digests on the calling thread;
//! [`Beside`](crate::beside::Beside) on another one.

use sha2::{Digest as _, Sha256};

use crate::entry::{Done, EntryId};

/// Which digests to compute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) crc32: bool,
    pub(crate) blake3: bool,
    pub(crate) sha256: bool,
}

/// Buffers that are filled one after the other, each digested and handed on.
pub(crate) trait Passing {
    /// The buffer to fill next, always of the same length.
    fn buffer(&mut self) -> &mut [u8];

    /// Digests the first `count` bytes of the buffer, now or meanwhile, and returns them.
    fn pass(&mut self, count: usize) -> &[u8];

    /// Digests of everything that was passed.
    fn finish(&mut self, id: EntryId) -> Done;
}

/// Digests on the calling thread.
pub(crate) struct Inline<'a> {
    buffer: &'a mut [u8],
    running: Running,
}

/// The running state of one file that does not fit the buffer.
#[derive(Default)]
pub(crate) struct Running {
    size: u64,
    crc32: Option<crc32fast::Hasher>,
    blake3: Option<blake3::Hasher>,
    sha256: Option<Sha256>,
}

impl Plan {
    /// Digests of a file whose bytes are all here.
    pub(crate) fn whole(self, id: EntryId, bytes: &[u8]) -> Done {
        Done {
            id,
            size: bytes.len() as u64,
            crc32: self.crc32.then(|| crc32fast::hash(bytes)),
            blake3: self.blake3.then(|| blake3::hash(bytes).into()),
            sha256: self.sha256.then(|| Sha256::digest(bytes).into()),
        }
    }

    pub(crate) fn start(self) -> Running {
        Running {
            size: 0,
            crc32: self.crc32.then(crc32fast::Hasher::new),
            blake3: self.blake3.then(blake3::Hasher::new),
            sha256: self.sha256.then(Sha256::new),
        }
    }
}

impl<'a> Inline<'a> {
    /// Begins a file whose first buffer is full.
    pub(crate) fn begin(plan: Plan, buffer: &'a mut [u8]) -> Self {
        Self { buffer, running: plan.start() }
    }
}

impl Passing for Inline<'_> {
    fn buffer(&mut self) -> &mut [u8] {
        self.buffer
    }

    fn pass(&mut self, count: usize) -> &[u8] {
        self.running.update(&self.buffer[..count]);
        &self.buffer[..count]
    }

    fn finish(&mut self, id: EntryId) -> Done {
        std::mem::take(&mut self.running).finish(id)
    }
}

impl Running {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        if let Some(crc32) = &mut self.crc32 {
            crc32.update(bytes);
        }
        if let Some(blake3) = &mut self.blake3 {
            blake3.update(bytes);
        }
        if let Some(sha256) = &mut self.sha256 {
            sha256.update(bytes);
        }
    }

    pub(crate) fn finish(self, id: EntryId) -> Done {
        Done {
            id,
            size: self.size,
            crc32: self.crc32.map(crc32fast::Hasher::finalize),
            blake3: self.blake3.map(|blake3| blake3.finalize().into()),
            sha256: self.sha256.map(|sha256| sha256.finalize().into()),
        }
    }
}
