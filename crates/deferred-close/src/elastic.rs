//! How many threads? A hill climb on completed closes per second.
//!
//! There is no right constant: closes that wait (NFS, FUSE) want 64 threads on two cores, closes
//! that compute (a virus scanner) want no more threads than cores. While there is a backlog, each
//! window of [`PER_THREAD`] closes per thread and [`WINDOW`] gives a rate. A rate up by
//! [`GAIN_PERCENT`] doubles the threads; a rate that is not takes the last doubling back and rests.
//! It then climbs again: without that second try one unlucky window decides for good.
//!
//! Plain data: no clock is read, no thread is started here.

use std::time::{Duration, Instant};

const PER_THREAD: u64 = 4;
const WINDOW: Duration = Duration::from_millis(5);
const GAIN_PERCENT: u64 = 15;
const REST_FIRST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub(crate) struct Elastic {
    max: usize,
    target: usize,
    /// The best rate of this climb, and the threads that gave it.
    best: Option<(u64, usize)>,
    window: Option<(Instant, u64)>,
    rest_until: Option<Instant>,
    rest: Duration,
}

impl Elastic {
    /// Starts with one thread and never wants more than `max`.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            max,
            target: max.min(1),
            best: None,
            window: None,
            rest_until: None,
            rest: REST_FIRST,
        }
    }

    /// Starts and stays with `threads`.
    pub(crate) fn fixed(threads: usize) -> Self {
        Self { target: threads, ..Self::new(threads) }
    }

    /// How many threads there should be.
    pub(crate) fn target(&self) -> usize {
        self.target
    }

    /// Learns that a close came back at `now`, with `backlog` others waiting in the queue.
    pub(crate) fn closed(&mut self, now: Instant, backlog: usize) {
        if self.target == self.max && self.best.is_none() && self.max <= 1 {
            return;
        }
        if backlog < self.target {
            // Whoever fills the queue is the limit now; such a window says nothing.
            self.window = None;
            return;
        }
        let (start, count) = self.window.map_or((now, 0), |(start, count)| (start, count + 1));
        self.window = Some((start, count));
        let elapsed = now.saturating_duration_since(start);
        if !self.is_resting(now) && elapsed >= WINDOW && count >= PER_THREAD * self.threads() {
            self.judge(now, per_second(count, elapsed));
        }
    }

    fn threads(&self) -> u64 {
        u64::try_from(self.target).unwrap_or(u64::MAX)
    }

    fn is_resting(&mut self, now: Instant) -> bool {
        match self.rest_until {
            Some(until) if now < until => true,
            Some(_) => {
                self.rest_until = None;
                self.best = None;
                self.window = Some((now, 0));
                true
            }
            None => false,
        }
    }

    fn judge(&mut self, now: Instant, rate: u64) {
        self.window = None;
        match self.best {
            Some((best, threads)) if rate < best + best * GAIN_PERCENT / 100 => {
                self.target = threads;
                self.rest_until = Some(now + self.rest);
                self.rest = (self.rest * 2).min(REST_MAX);
            }
            _ => {
                self.best = Some((rate, self.target));
                self.target = (self.target * 2).min(self.max);
            }
        }
    }
}

fn per_second(count: u64, elapsed: Duration) -> u64 {
    let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1_000_000) / micros
}
