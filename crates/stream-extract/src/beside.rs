//! Digests of large files on a thread of their own, while the extractor inflates and writes.
//!
//! One thread that inflates, digests and writes leaves the other cores idle, and of a large library the
//! digests are a tenth of the work with BLAKE3 and a quarter with SHA-256 too. Here the hashing thread and
//! the sink get the same buffers, which both only read, and the extractor fills the next one of a small
//! ring. At the end of a file it waits for the digests, so that a sink sees nothing of this. Buffers come
//! back in the order in which they were given away: one count tells which are free.
//!
//! Absent: small files, for which waking a thread costs more than the digest; several hashing threads.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use crate::digest::{Passing, Plan, Running};
use crate::entry::{Done, EntryId};
use crate::scratch::BUFFER_BYTES;

/// Buffers of the ring: two batches, of which one is filled while the other is digested.
const BUFFERS: usize = 2 * BATCH;
/// Buffers that are given to the thread at once: waking it costs about as much as the BLAKE3 of one.
const BATCH: usize = 4;

/// The hashing thread, and the buffers that it shares.
#[derive(Debug)]
pub(crate) struct Beside {
    ring: [Arc<[u8]>; BUFFERS],
    /// The buffer to fill next. Those before it are held, and those before these are at the thread.
    next: usize,
    at_thread: usize,
    /// Buffers that the sink has, and that wait until there is a batch.
    held: Batch,
    work: SyncSender<Work>,
    /// Never locked: a receiver alone would take `Sync` from the scratch.
    replies: Mutex<Receiver<Reply>>,
    /// Behind `work`, because the thread ends when that is dropped.
    _thread: Joined,
}

/// Joins the thread when dropped.
#[derive(Debug)]
struct Joined(Option<JoinHandle<()>>);

/// Buffers, and how many bytes of each.
type Batch = [Option<(Arc<[u8]>, usize)>; BATCH];

enum Work {
    Start(Plan),
    Digest(Batch),
    Finish(EntryId),
}

enum Reply {
    /// So many of the oldest buffers are free again.
    Free(usize),
    Done(Done),
}

impl Beside {
    /// Starts the thread and allocates the buffers.
    pub(crate) fn start(thread: Builder) -> io::Result<Self> {
        // Neither side ever waits to send: there are no more buffers than these, one start and one finish.
        let (work, orders) = sync_channel(BUFFERS + 2);
        let (answers, replies) = sync_channel(BUFFERS + 1);
        let thread =
            thread.name("extract-hash".to_owned()).spawn(move || serve(&orders, &answers))?;
        Ok(Self {
            ring: std::array::from_fn(|_| std::iter::repeat_n(0, BUFFER_BYTES).collect()),
            next: 0,
            at_thread: 0,
            held: Batch::default(),
            work,
            replies: Mutex::new(replies),
            _thread: Joined(Some(thread)),
        })
    }

    /// Begins a file whose first buffer is full, and forgets one that was given up.
    pub(crate) fn begin(&mut self, plan: Plan, first: &[u8]) -> &mut Self {
        self.next = (self.next + BUFFERS - self.held()) % BUFFERS;
        self.held = Batch::default();
        self.send(Work::Start(plan));
        self.buffer().copy_from_slice(first);
        self
    }

    fn held(&self) -> usize {
        count(&self.held)
    }

    /// Gives the buffers that are held to the thread.
    fn hand_over(&mut self) {
        self.at_thread += self.held();
        let batch = std::mem::take(&mut self.held);
        self.send(Work::Digest(batch));
    }

    fn send(&self, work: Work) {
        self.work.send(work).expect("the thread lives as long as this");
    }

    fn receive(&mut self) -> Option<Done> {
        let replies = self.replies.get_mut().expect("it was never locked");
        match replies.recv().expect("the thread lives as long as this") {
            Reply::Done(done) => return Some(done),
            Reply::Free(count) => self.at_thread -= count,
        }
        None
    }
}

impl Passing for Beside {
    fn buffer(&mut self) -> &mut [u8] {
        while self.at_thread + self.held() == BUFFERS {
            self.receive();
        }
        Arc::get_mut(&mut self.ring[self.next]).expect("the thread gave it back")
    }

    fn pass(&mut self, count: usize) -> &[u8] {
        let at = self.next;
        let place = at % BATCH;
        self.held[place] = Some((Arc::clone(&self.ring[at]), count));
        if place == BATCH - 1 {
            self.hand_over();
        }
        self.next = (at + 1) % BUFFERS;
        &self.ring[at][..count]
    }

    fn finish(&mut self, id: EntryId) -> Done {
        self.hand_over();
        self.send(Work::Finish(id));
        loop {
            if let Some(done) = self.receive() {
                return done;
            }
        }
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.join().ok(); // A panic of the thread was met as a missing reply.
        }
    }
}

fn count(batch: &Batch) -> usize {
    batch.iter().flatten().count()
}

/// What the thread does, until the other side is dropped.
fn serve(orders: &Receiver<Work>, answers: &SyncSender<Reply>) {
    let mut running = Running::default();
    for order in orders {
        let sent = match order {
            Work::Start(plan) => {
                running = plan.start();
                Ok(())
            }
            Work::Digest(batch) => {
                let free = count(&batch);
                for (bytes, count) in batch.into_iter().flatten() {
                    running.update(&bytes[..count]);
                }
                // The buffers were dropped: only now may the other side write to them.
                answers.send(Reply::Free(free))
            }
            Work::Finish(id) => answers.send(Reply::Done(std::mem::take(&mut running).finish(id))),
        };
        if sent.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { crc32: true, blake3: true, sha256: true };

    /// Passes `bytes` in pieces of a buffer, as a file.
    fn digest(beside: &mut Beside, bytes: &[u8]) -> Done {
        let (first, rest) = bytes.split_at(BUFFER_BYTES);
        beside.begin(PLAN, first);
        assert_eq!(beside.pass(BUFFER_BYTES), first);
        for piece in rest.chunks(BUFFER_BYTES) {
            beside.buffer()[..piece.len()].copy_from_slice(piece);
            assert_eq!(beside.pass(piece.len()), piece);
        }
        beside.finish(EntryId(7))
    }

    /// A period that is no divisor of the buffer, so that exchanged buffers show.
    fn painted(len: usize) -> Vec<u8> {
        (0..=250).cycle().take(len).collect()
    }

    #[test]
    fn digests_are_those_of_one_thread() {
        let mut beside = Beside::start(Builder::new()).expect("a thread");
        for buffers in 1..20 {
            for more in [0, 1, 999] {
                let bytes = painted(buffers * BUFFER_BYTES + more);
                assert_eq!(digest(&mut beside, &bytes), PLAN.whole(EntryId(7), &bytes));
            }
        }
    }

    #[test]
    fn the_thread_has_ended_when_the_owner_is_gone() {
        for buffers in 0..=BUFFERS {
            let mut beside = Beside::start(Builder::new()).expect("a thread");
            beside.begin(PLAN, &painted(BUFFER_BYTES));
            let ring = beside.ring.each_ref().map(Arc::downgrade);
            for _ in 0..buffers {
                beside.pass(BUFFER_BYTES);
            }
            drop(beside);
            assert!(ring.iter().all(|buffer| buffer.upgrade().is_none()), "it still holds one");
        }
    }

    #[test]
    fn a_thread_that_cannot_be_had_is_an_error() {
        let stack_bytes = usize::MAX / 4 * 3; // More addresses than a process has.
        assert!(Beside::start(Builder::new().stack_size(stack_bytes)).is_err());
    }

    #[test]
    fn a_file_that_was_given_up_leaves_nothing_in_the_next() {
        let mut beside = Beside::start(Builder::new()).expect("a thread");
        let bytes = painted(3 * BUFFER_BYTES);
        for given_up in 0..19 {
            beside.begin(PLAN, &bytes[..BUFFER_BYTES]);
            for _ in 0..given_up {
                beside.pass(BUFFER_BYTES);
                beside.buffer().fill(given_up);
            }
            assert_eq!(digest(&mut beside, &bytes), PLAN.whole(EntryId(7), &bytes));
        }
    }
}
