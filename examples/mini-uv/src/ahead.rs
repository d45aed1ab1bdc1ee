//! Reads a download on a thread of its own, a little ahead of whoever unpacks it.
//!
//! One thread that reads and unpacks in turn leaves the connection alone while it inflates and the
//! processor alone while it waits. Here two buffers change hands: one is filled while the other is used.
//! They change when the user has nothing left, or when the first is full, so a slow network is heard at
//! once and a fast one in large parts: waking a thread for every few kilobytes costs more than it hides.
//!
//! Nothing is known here of HTTP or of archives.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The size of each of the two buffers.
const BUFFER_BYTES: usize = 1 << 20;

/// Gives `work` a reader of what `source` yields, which is read on another thread meanwhile.
///
/// When `work` returns before the end, the thread is waited for, which is at most one read of `source`.
pub(crate) fn read_ahead<T>(
    source: impl Read + Send,
    work: impl FnOnce(&mut dyn BufRead) -> T,
) -> T {
    let between = Between::default();
    thread::scope(|threads| {
        let mut reader = Ahead { between: &between, block: Block::default(), at: 0 };
        let fill = || between.fill_from(source);
        if thread::Builder::new().name("download".to_owned()).spawn_scoped(threads, fill).is_err() {
            between.lock().end = Some(Err(io::Error::other("no thread to download with")));
        }
        work(&mut reader)
    })
}

/// A buffer that is used again and again; only its first `filled` bytes mean something.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    filled: usize,
}

/// What the two threads share.
#[derive(Default)]
struct Between {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// What was read and not taken yet.
    ready: Block,
    /// The user has nothing left.
    is_hungry: bool,
    /// The user is gone.
    is_over: bool,
    /// How the source ended.
    end: Option<io::Result<()>>,
}

impl Between {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the source to its end, or until the user is gone.
    fn fill_from(&self, mut source: impl Read) {
        let mut block = Block::default();
        let end = loop {
            block.bytes.resize(BUFFER_BYTES, 0);
            match source.read(&mut block.bytes[block.filled..]) {
                Ok(0) => break Ok(()),
                Ok(read) => block.filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            }
            let is_full = block.filled == BUFFER_BYTES;
            if !self.offer(&mut block, is_full) {
                return;
            }
        };
        if block.filled == 0 || self.offer(&mut block, true) {
            self.lock().end = Some(end);
            self.changed.notify_all();
        }
    }

    /// Hands over what was read if it is wanted, or if it `must` go; false when the user is gone.
    fn offer(&self, block: &mut Block, must: bool) -> bool {
        let mut state = self.lock();
        while must && state.ready.filled > 0 && !state.is_over {
            state = self.wait(state);
        }
        if state.ready.filled == 0 && (must || state.is_hungry) {
            std::mem::swap(block, &mut state.ready);
            self.changed.notify_all();
        }
        !state.is_over
    }
}

/// The user's end.
struct Ahead<'a> {
    between: &'a Between,
    block: Block,
    at: usize,
}

impl Ahead<'_> {
    /// Takes what was read meanwhile; nothing at the end.
    fn refill(&mut self) -> io::Result<()> {
        (self.block.filled, self.at) = (0, 0);
        let mut state = self.between.lock();
        while state.ready.filled == 0 {
            if let Some(end) = &mut state.end {
                // An error is told once; a reader that asks again is at the end.
                return std::mem::replace(end, Ok(()));
            }
            state.is_hungry = true;
            state = self.between.wait(state);
        }
        state.is_hungry = false;
        std::mem::swap(&mut self.block, &mut state.ready);
        self.between.changed.notify_all();
        Ok(())
    }
}

impl BufRead for Ahead<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at == self.block.filled {
            self.refill()?;
        }
        Ok(&self.block.bytes[self.at..self.block.filled])
    }

    fn consume(&mut self, count: usize) {
        self.at = self.block.filled.min(self.at + count);
    }
}

impl Read for Ahead<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        self.between.lock().is_over = true;
        self.between.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives at most `most` bytes at a time, then ends, or fails.
    struct Source<'a> {
        bytes: &'a [u8],
        most: usize,
        fails: bool,
    }

    impl Read for Source<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.bytes.is_empty() && self.fails {
                return Err(io::Error::other("the connection is lost"));
            }
            let most = into.len().min(self.most);
            self.bytes.read(&mut into[..most])
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_byte_comes_in_order_and_the_source_s_error_after_the_last(
            seed in any::<u8>(),
            count in 0..3 * BUFFER_BYTES + 5,
            most in 1_000..2 * BUFFER_BYTES,
            fails in any::<bool>(),
        ) {
            let bytes: Vec<u8> = (0..251).cycle().map(|at: u8| at.wrapping_add(seed)).take(count).collect();
            let source = Source { bytes: &bytes, most, fails };
            let mut seen = Vec::new();
            let result = read_ahead(source, |reader| reader.read_to_end(&mut seen));
            prop_assert!(seen == bytes);
            prop_assert_eq!(result.is_err(), fails);
        }
    }

    #[test]
    fn a_user_that_stops_early_is_not_waited_for_by_an_endless_source() {
        let first = read_ahead(io::repeat(7), |reader| reader.fill_buf().map(|bytes| bytes[0]));
        assert_eq!(first.unwrap(), 7);
    }
}
