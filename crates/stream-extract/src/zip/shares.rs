//! Which thread does which entries.
//!
//! Large entries go first, one at a time, so that no thread is left with the largest one at the end. The
//! others are shared out in as many stretches as there are threads, and each thread works along its own:
//! neighbours share a folder and an input buffer, and two threads that make files in one folder wait for
//! each other. A thread whose stretch is done takes half of what is left of the longest.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::table::Table;

/// Entries of this size and more go first and alone.
const LARGE_BYTES: u64 = 256 << 10;
/// Small entries that a thread takes at once.
const RUN: usize = 16;

pub(crate) struct Shares {
    /// Positions in the table: large entries by size, then the others as they lie.
    order: Vec<u32>,
    left: Mutex<Left>,
}

/// What nobody has taken yet, as positions in `order`.
struct Left {
    larges: Range<usize>,
    stretches: Vec<Range<usize>>,
}

impl Shares {
    pub(crate) fn new(table: &Table, threads: usize) -> Self {
        let (order, larges) = order(table);
        let stretches = stretches(larges..order.len(), threads);
        Self { order, left: Mutex::new(Left { larges: 0..larges, stretches }) }
    }

    /// What `thread` should do now: neighbours, in the order of the archive.
    pub(crate) fn take(&self, thread: usize) -> Option<&[u32]> {
        let run = self.left().take(thread);
        (!run.is_empty()).then(|| &self.order[run])
    }

    /// Leaves nothing to take.
    pub(crate) fn stop(&self) {
        let mut left = self.left();
        left.larges = 0..0;
        left.stretches.fill(0..0);
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Left {
    fn take(&mut self, thread: usize) -> Range<usize> {
        if !self.larges.is_empty() {
            return take_front(&mut self.larges, 1);
        }
        if self.stretches[thread].is_empty() {
            self.stretches[thread] = self.half_of_longest();
        }
        take_front(&mut self.stretches[thread], RUN)
    }

    /// The half at the end, because the owner is at the front.
    fn half_of_longest(&mut self) -> Range<usize> {
        let longest = self.stretches.iter_mut().max_by_key(ExactSizeIterator::len);
        longest.map_or(0..0, |stretch| {
            let middle = stretch.start + stretch.len() / 2;
            middle..std::mem::replace(&mut stretch.end, middle)
        })
    }
}

fn take_front(range: &mut Range<usize>, most: usize) -> Range<usize> {
    let start = range.start;
    range.start = range.end.min(start + most);
    start..range.start
}

/// As many stretches of about equal length.
fn stretches(range: Range<usize>, threads: usize) -> Vec<Range<usize>> {
    let cut = |thread: usize| range.start + range.len() * thread / threads;
    (0..threads).map(|thread| cut(thread)..cut(thread + 1)).collect()
}

/// Also how many are large.
fn order(table: &Table) -> (Vec<u32>, usize) {
    let count = u32::try_from(table.len()).unwrap_or(u32::MAX);
    let size = |index: u32| table.get(index as usize).size;
    let mut order = Vec::with_capacity(count as usize);
    order.extend((0..count).filter(|&index| size(index) >= LARGE_BYTES));
    let larges = order.len();
    order.sort_unstable_by_key(|&index| std::cmp::Reverse(size(index)));
    order.extend((0..count).filter(|&index| size(index) < LARGE_BYTES));
    (order, larges)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zip::table::Record;

    fn left(larges: usize, smalls: usize, threads: usize) -> Left {
        Left { larges: 0..larges, stretches: stretches(larges..larges + smalls, threads) }
    }

    #[test]
    fn every_entry_is_taken_once_whoever_comes_when() {
        for (larges, smalls, threads) in [(0, 0, 2), (3, 1, 4), (5, 1000, 3), (0, 17, 1), (0, 5, 8)]
        {
            for stride in [1, 2, 5, 7] {
                let mut left = left(larges, smalls, threads);
                let mut taken = vec![0; larges + smalls];
                // The last thread comes `stride` times as often as the others.
                let turns = (0..threads).chain(std::iter::repeat_n(threads - 1, stride)).cycle();
                let runs = turns.map(|thread| left.take(thread));
                runs.take_while(|run| !run.is_empty()).flatten().for_each(|at| taken[at] += 1);
                assert!(
                    taken.iter().all(|&times| times == 1),
                    "{larges} {smalls} {threads} {stride}"
                );
            }
        }
    }

    /// Entries of these sizes, in this order.
    fn table(sizes: &[u64]) -> Table {
        let mut table = Table::default();
        for (offset, &size) in (0..).zip(sizes) {
            table.push(Record { offset, size, ..Record::default() });
        }
        table
    }

    #[test]
    fn the_largest_goes_first_and_small_ones_as_they_lie() {
        let shares = Shares::new(&table(&[1, LARGE_BYTES, 0, LARGE_BYTES - 1, LARGE_BYTES + 1]), 1);
        let taken: Vec<_> = std::iter::from_fn(|| shares.take(0)).collect();
        assert_eq!(taken, [&[4][..], &[1], &[0, 2, 3]]);
    }

    #[test]
    fn nothing_is_left_to_take_once_a_thread_has_failed() {
        let shares = Shares::new(&table(&[1, LARGE_BYTES, 2, LARGE_BYTES]), 2);
        assert_eq!(shares.take(1), Some(&[1][..]));
        shares.stop();
        assert_eq!((shares.take(0), shares.take(1)), (None, None));
        let shares = Shares::new(&table(&[7; 100]), 2);
        assert_eq!(shares.take(0).map(<[u32]>::len), Some(RUN));
        shares.stop();
        assert_eq!((shares.take(0), shares.take(1)), (None, None));
    }

    #[test]
    fn threads_stay_apart_until_one_has_nothing_left() {
        let mut left = left(1, 1600, 2);
        assert_eq!(left.take(1), 0..1, "the large one first");
        assert_eq!((left.take(0), left.take(1)), (1..17, 801..817));
        let own = (0..49).map(|_| left.take(1)).last();
        assert_eq!(own, Some(1585..1601));
        assert_eq!(left.take(1), 409..425, "half of what the other has left");
        assert_eq!(left.take(0), 17..33);
    }
}
