//! Reused read buffers.
//!
//! Reading a 64 KiB value into fresh memory costs four times what it costs into memory that was
//! used before: the kernel zeroes each new page. So an entry gives its buffer back when dropped.

use std::sync::{Arc, Mutex, PoisonError};

/// Buffers kept for the next read.
const KEPT_MAX: usize = 8;
/// A buffer longer than this is freed instead of kept.
const KEPT_LEN_MAX: usize = 8 << 20;
/// New buffers are at least this long, so that most never grow.
const LEN_MIN: usize = 16 << 10;

/// Idle buffers, shared by the entries of one cache.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    idle: Mutex<Vec<Vec<u8>>>,
}

impl Pool {
    /// A buffer of `len` bytes whose content is unspecified.
    pub(crate) fn take(self: &Arc<Self>, len: usize) -> Buffer {
        let mut bytes = self.idle().pop().unwrap_or_default();
        if bytes.len() < len {
            // Zeroes only what was never used; what is there is overwritten by the read anyway.
            bytes.resize(len.max(LEN_MIN), 0);
        }
        Buffer { bytes, len, home: Arc::clone(self) }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        // A panic while the list is locked leaves it whole: it only pushes and pops.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes on loan from a [`Pool`].
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    len: usize,
    home: Arc<Pool>,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut idle = self.home.idle();
        if idle.len() < KEPT_MAX && bytes.len() <= KEPT_LEN_MAX {
            idle.push(bytes);
        }
    }
}
