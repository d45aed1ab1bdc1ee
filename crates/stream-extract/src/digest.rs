//! Everything that is computed from a file's bytes while they pass: one pass, no second read.

use sha2::{Digest as _, Sha256};

use crate::entry::{Done, EntryId};

/// Which digests to compute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) crc32: bool,
    pub(crate) blake3: bool,
    pub(crate) sha256: bool,
}

/// The running state of one file that does not fit the buffer.
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
