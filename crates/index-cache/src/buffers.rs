//! Reused read buffers.
//!
//! Reading a 64 KiB value into fresh memory costs four times what it costs into memory that was
//! used before: the kernel zeroes each new page. So an entry gives its buffer back when dropped, and
//! a read takes the smallest one that will do: a few hundred bytes read into the long buffer would
//! leave the next value without it.

use std::io;
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
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`](io::ErrorKind::OutOfMemory).
    pub(crate) fn take(self: &Arc<Self>, len: usize) -> io::Result<Buffer> {
        let bytes = self.fitting(len).map_or_else(|| zeroed(fresh_len(len)), Ok)?;
        Ok(Buffer(Box::new(Loan { bytes, len, home: Arc::clone(self) })))
    }

    /// The smallest idle buffer of at least `len` bytes.
    fn fitting(&self, len: usize) -> Option<Vec<u8>> {
        let mut idle = self.idle();
        let fitting = (0..idle.len()).filter(|at| idle[*at].len() >= len);
        let smallest = fitting.min_by_key(|at| idle[*at].len())?;
        Some(idle.swap_remove(smallest))
    }

    /// Keeps a buffer for the next read; when there are enough, the shortest goes.
    fn keep(&self, bytes: Vec<u8>) {
        let mut idle = self.idle();
        idle.push(bytes);
        if idle.len() > KEPT_MAX
            && let Some(shortest) = (0..idle.len()).min_by_key(|at| idle[*at].len())
        {
            idle.swap_remove(shortest);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Vec<u8>>> {
        // A panic while the list is locked leaves it whole: it only pushes and pops.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fresh memory. A length from a file may be more than there is, on 32-bit targets above all: an error
/// then, and not the end of the process.
pub(crate) fn zeroed(len: usize) -> io::Result<Vec<u8>> {
    if len <= KEPT_LEN_MAX {
        return Ok(vec![0; len]);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len)?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// Twice what is asked for, so that growing to a long value takes few steps. Fresh memory that is
/// not used costs nothing: the system hands out its pages one by one, zeroed.
fn fresh_len(len: usize) -> usize {
    if len <= LEN_MIN { LEN_MIN } else { len.saturating_mul(2).min(KEPT_LEN_MAX).max(len) }
}

/// Bytes on loan from a [`Pool`]; one word, because records are moved about.
#[derive(Debug)]
pub(crate) struct Buffer(Box<Loan>);

#[derive(Debug)]
struct Loan {
    bytes: Vec<u8>,
    len: usize,
    home: Arc<Pool>,
}

impl Buffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0.bytes[..self.0.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.0.len;
        &mut self.0.bytes[..len]
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.len() <= KEPT_LEN_MAX {
            self.home.keep(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(pool: &Pool) -> Vec<usize> {
        let mut lens: Vec<_> = pool.idle().iter().map(Vec::len).collect();
        lens.sort_unstable();
        lens
    }

    #[test]
    fn the_smallest_buffer_that_will_do_is_used_again() {
        let pool = Arc::new(Pool::default());
        drop((pool.take(100).unwrap(), pool.take(100_000).unwrap()));
        assert_eq!(lens(&pool), [LEN_MIN, 200_000]);
        let (small, long) = (pool.take(7).unwrap(), pool.take(200_000).unwrap());
        assert_eq!((small.bytes().len(), long.bytes().len()), (7, 200_000));
        assert_eq!(lens(&pool), [0; 0], "both were used again");
        drop((small, long));
        assert_eq!(lens(&pool), [LEN_MIN, 200_000]);
    }

    #[test]
    fn few_buffers_are_kept_the_longest_ones_and_none_without_bound() {
        let pool = Arc::new(Pool::default());
        let many: Vec<_> = (1..30).map(|n| pool.take(n * LEN_MIN).unwrap()).collect();
        drop(many);
        assert_eq!(lens(&pool).len(), KEPT_MAX);
        assert!(lens(&pool).contains(&(29 * LEN_MIN * 2)));
        drop(pool.take(KEPT_LEN_MAX + 1).unwrap());
        assert!(lens(&pool).iter().all(|len| *len <= KEPT_LEN_MAX));
        assert_eq!(fresh_len(KEPT_LEN_MAX - 1), KEPT_LEN_MAX, "not doubled beyond what is kept");
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let pool = Arc::new(Pool::default());
        // More than any target can hand out.
        for len in [usize::MAX, usize::MAX / 2 + 1] {
            assert_eq!(pool.take(len).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
            assert_eq!(zeroed(len).unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        }
    }
}
