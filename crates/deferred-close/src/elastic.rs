//! How many threads? A hill climb on completed closes per second.
//!
//! There is no right constant: closes that wait (NFS, FUSE) want 64 threads on two cores, closes
//! that compute (a virus scanner) want no more threads than cores. So, while there is a backlog, the
//! rate of a window at `n` threads is compared with one at `2n`, then with one at `n/2`:
//!
//! ```text
//! base ──measure n──> up ──2n is 15 % faster──> up (at 2n)
//!                     └─────else──> back to n, rest, base ──> down ──n/2 loses under 10 %──> down
//!                                                             └─else──> back to n, rest, base ──> up
//! ```
//!
//! The first step, and one after a step that gained 70 %, is twice as long: a window of 6 ms closes
//! takes 18 ms, and 64 threads are soon worth more than a careful way there. A failed step rests
//! 100 ms, then 200 ms, ... 2 s. Without a second try one unlucky window decides for good: such a
//! climb was seen stuck at a tenth of the speed.
//!
//! Plain data: no clock is read, no thread is started here.

use std::time::{Duration, Instant};

/// A window has so many closes per thread, and this time: closes that wait come back in bursts, one
/// per thread, so whole bursts are counted; quick ones are told apart by the time alone.
const PER_THREAD: usize = 2;
const WINDOW: Duration = Duration::from_millis(4);
const GAIN_PERCENT: u64 = 115;
const LARGE_GAIN_PERCENT: u64 = 170;
const LOSS_PERCENT: u64 = 90;
/// Four threads close at first: where closing computes they cost a few per cent until the climb goes
/// down, where it waits they save two windows of the way up.
const FIRST: usize = 4;
const LONG_STRIDE: usize = 4;
const STRIDE: usize = 2;
const REST_FIRST: Duration = Duration::from_millis(100);
const REST_MAX: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub(crate) struct Elastic {
    min: usize,
    max: usize,
    target: usize,
    trial: Trial,
    next: Direction,
    /// Nothing was tried yet.
    fresh: bool,
    /// Closes that still belong to the threads before the last change.
    settling: usize,
    window: Option<Window>,
    rest: Duration,
    rest_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    start: Instant,
    closes: usize,
}

/// What the current window measures.
#[derive(Debug, Clone, Copy)]
enum Trial {
    Base,
    /// More or fewer threads, after `threads` of them gave `rate`.
    Of(Direction, Base),
}

#[derive(Debug, Clone, Copy)]
struct Base {
    threads: usize,
    rate: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Elastic {
    /// Starts with four threads and never wants more than `max`.
    pub(crate) fn new(max: usize) -> Self {
        Self { target: max.min(FIRST), ..Self::between(max.min(1), max) }
    }

    /// Starts and stays with `threads`.
    pub(crate) fn fixed(threads: usize) -> Self {
        Self::between(threads, threads)
    }

    fn between(min: usize, max: usize) -> Self {
        Self {
            min,
            max,
            target: min,
            trial: Trial::Base,
            next: Direction::Up,
            fresh: true,
            settling: 0,
            window: None,
            rest: REST_FIRST,
            rest_until: None,
        }
    }

    /// How many threads there should be.
    pub(crate) fn target(&self) -> usize {
        self.target
    }

    /// Learns that a close came back at `now`, with `backlog` others waiting in the queue.
    pub(crate) fn closed(&mut self, now: Instant, backlog: usize) {
        if self.min == self.max || self.is_resting(now) {
            return;
        }
        if backlog == 0 {
            // Whoever fills the queue is the limit now; such a window says nothing.
            self.window = None;
        } else if self.settling > 0 {
            self.settling -= 1;
        } else if let Some(window) = &mut self.window {
            window.closes += 1;
            let elapsed = now.saturating_duration_since(window.start);
            if elapsed >= WINDOW && window.closes >= PER_THREAD * self.target {
                let rate = per_second(window.closes, elapsed);
                self.judge(now, rate);
            }
        } else {
            self.window = Some(Window { start: now, closes: 0 });
        }
    }

    fn is_resting(&mut self, now: Instant) -> bool {
        let resting = self.rest_until.is_some_and(|until| now < until);
        if !resting {
            self.rest_until = None;
        }
        resting
    }

    fn judge(&mut self, now: Instant, rate: u64) {
        let here = Base { threads: self.target, rate };
        match self.trial {
            Trial::Base => {
                let stride = if self.fresh { LONG_STRIDE } else { STRIDE };
                self.fresh = false;
                self.step(self.possible(self.next), stride, here);
            }
            Trial::Of(Direction::Up, base) if rate * 100 >= base.rate * GAIN_PERCENT => {
                self.rest = REST_FIRST;
                let large = rate * 100 >= base.rate * LARGE_GAIN_PERCENT;
                let stride = if large { LONG_STRIDE } else { STRIDE };
                self.step(self.possible(Direction::Up), stride, here);
            }
            Trial::Of(Direction::Down, base) if rate * 100 >= base.rate * LOSS_PERCENT => {
                self.rest = REST_FIRST;
                self.step(self.possible(Direction::Down), STRIDE, here);
            }
            Trial::Of(failed, base) => {
                self.next = failed.other();
                self.settle_at(base.threads, Trial::Base);
                self.rest_until = now.checked_add(self.rest);
                self.rest = (self.rest * 2).min(REST_MAX);
            }
        }
    }

    /// The wanted direction, or the other one at an end.
    fn possible(&self, wanted: Direction) -> Direction {
        match wanted {
            Direction::Up if self.target >= self.max => Direction::Down,
            Direction::Down if self.target <= self.min => Direction::Up,
            possible => possible,
        }
    }

    fn step(&mut self, direction: Direction, stride: usize, base: Base) {
        let threads = match direction {
            Direction::Up => (self.target * stride).min(self.max),
            Direction::Down => (self.target / STRIDE).max(self.min),
        };
        self.settle_at(threads, Trial::Of(direction, base));
    }

    fn settle_at(&mut self, threads: usize, trial: Trial) {
        self.settling = self.target;
        self.target = threads;
        self.trial = trial;
        self.window = None;
    }
}

impl Direction {
    fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

fn per_second(closes: usize, elapsed: Duration) -> u64 {
    let micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX).max(1);
    u64::try_from(closes).unwrap_or(u64::MAX).saturating_mul(1_000_000) / micros
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    /// Threads that close, in simulated time: `points` of them at once, `takes` each.
    struct Simulated {
        elastic: Elastic,
        now: Instant,
        busy: BinaryHeap<Reverse<Instant>>,
        free_at: Vec<Instant>,
        takes: Duration,
        seen: Vec<usize>,
    }

    impl Simulated {
        fn new(max: usize, points: usize, takes: Duration) -> Self {
            let now = Instant::now();
            Self {
                elastic: Elastic::new(max),
                now,
                busy: BinaryHeap::new(),
                free_at: vec![now; points],
                takes,
                seen: Vec::new(),
            }
        }

        fn limit(&mut self, points: usize) {
            self.free_at = vec![self.now; points];
        }

        /// Closes until `time` has passed; returns how many.
        fn run(&mut self, time: Duration) -> usize {
            let end = self.now + time;
            let mut closes = 0;
            while self.now < end {
                while self.busy.len() < self.elastic.target() {
                    let point = self.free_at.iter_mut().min().expect("a point");
                    *point = self.now.max(*point) + self.takes;
                    self.busy.push(Reverse(*point));
                }
                let Reverse(done) = self.busy.pop().expect("a thread");
                self.now = self.now.max(done);
                closes += 1;
                self.elastic.closed(self.now, 1000);
                self.seen.push(self.elastic.target());
            }
            closes
        }

        /// The most frequent number of threads in the last `count` closes.
        fn usual(&self, count: usize) -> usize {
            let last = &self.seen[self.seen.len().saturating_sub(count)..];
            *last
                .iter()
                .max_by_key(|&&threads| last.iter().filter(|&&other| other == threads).count())
                .expect("closes")
        }
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn closes_that_wait_get_all_threads_and_soon() {
        let mut simulated = Simulated::new(64, 80, 6 * MS);
        simulated.run(60 * MS);
        assert!(simulated.seen.contains(&64));
        // 64 threads close 10,667 a second; the rests and tries cost under a tenth.
        assert!(simulated.run(2000 * MS) > 19_200);
    }

    #[test]
    fn closes_with_four_service_points_get_four_threads_or_eight() {
        for takes in [MS / 5, MS, 6 * MS] {
            let mut simulated = Simulated::new(64, 4, takes);
            simulated.run(4_000 * MS);
            let usual = simulated.usual(1500);
            assert!((4..=8).contains(&usual), "{usual} threads for {takes:?}");
        }
    }

    #[test]
    fn closes_that_compute_on_two_cores_get_two_threads_or_four() {
        let mut simulated = Simulated::new(64, 2, MS / 3);
        simulated.run(5_000 * MS);
        assert!((2..=4).contains(&simulated.usual(4000)), "{}", simulated.usual(4000));
    }

    #[test]
    fn threads_leave_when_closing_turns_from_waiting_to_computing() {
        let mut simulated = Simulated::new(64, 80, MS);
        simulated.run(2_000 * MS);
        assert_eq!(simulated.usual(1000), 64);
        simulated.limit(2);
        simulated.run(12_000 * MS);
        assert!(simulated.usual(4000) <= 8, "{}", simulated.usual(4000));
    }

    #[test]
    fn threads_come_back_when_closing_turns_from_computing_to_waiting() {
        let mut simulated = Simulated::new(64, 2, MS);
        simulated.run(5_000 * MS);
        assert!(simulated.usual(1000) <= 8);
        simulated.limit(80);
        simulated.run(6_000 * MS);
        assert_eq!(simulated.usual(1000), 64);
    }

    #[test]
    fn without_a_backlog_nothing_is_concluded() {
        let mut elastic = Elastic::new(16);
        let start = Instant::now();
        for step in 0..10_000 {
            elastic.closed(start + MS * step, 0);
        }
        assert_eq!(elastic.target(), FIRST);
    }

    #[test]
    fn a_fixed_number_stays_and_the_limits_hold() {
        let mut elastic = Elastic::fixed(3);
        elastic.closed(Instant::now(), 9);
        assert_eq!(elastic.target(), 3);
        assert_eq!(Elastic::new(0).target(), 0);
        let mut simulated = Simulated::new(5, 80, MS);
        simulated.run(3_000 * MS);
        assert!(simulated.seen.iter().all(|threads| (1..=5).contains(threads)));
        assert_eq!(simulated.usual(1000), 5);
    }
}
