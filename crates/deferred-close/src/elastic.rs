//! How many threads? A hill climb on completed closes per second.
//!
//! There is no right constant: closes that wait (NFS, FUSE) want 64 threads on two cores, closes
//! that compute (a virus scanner) want no more threads than cores. So, while there is a backlog, the
//! rate of a window at `n` threads is compared with one at `2n`, then with one at `n/2`. Without a
//! backlog no climb begins, because whoever fills the queue is the limit then; one that has begun goes
//! on, because too many threads that compute may starve just that one. Time in which nothing is open
//! does not count.
//!
//! ```text
//! base ──measure n──> up ──2n is 15 % faster──> up (at 2n, and so on; rest at the most)
//!                     └─────else──> down ──n/2 loses under 10 %──> down (at n/2, and so on)
//!                                   └─else──> back to n, rest, base
//! ```
//!
//! The first step goes to 16 threads, and one after a step that gained 70 % to four times as many: a
//! window of 6 ms closes takes 18 ms, and 64 threads are soon worth more than a careful way there. The
//! start is at the number of cores, because where closing computes there may never be a backlog that
//! teaches better: on two cores four threads then took a fifth longer than two, only by taking turns
//! with the thread that creates the files. When both neighbours
//! are known to be worse, nothing is tried for 100 ms, then 200 ms, ... 2 s. Without a second try one
//! unlucky window decides for good: such a climb was seen stuck at a tenth of the speed.
//!
//! Plain data: no clock is read, no thread is started here.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// A window has so many closes per thread, and this time: closes that wait come back in bursts, one
/// per thread, so whole bursts are counted; quick ones are told apart by the time alone.
const PER_THREAD: usize = 2;
const WINDOW: Duration = Duration::from_millis(4);
const GAIN_PERCENT: u64 = 115;
const LARGE_GAIN_PERCENT: u64 = 170;
const LOSS_PERCENT: u64 = 90;
/// As many threads as cores close at first, within these bounds.
const FIRST: RangeInclusive<usize> = 2..=4;
/// Where the first step upwards goes.
const SECOND: usize = 16;
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
    /// The number of threads on the other side of the base is known to be no better.
    other_known: bool,
    /// Closes that still belong to the threads before the last change.
    settling: usize,
    window: Option<Window>,
    rest: Duration,
    rest_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    /// Moved on by the time in which nothing was open.
    start: Instant,
    closes: usize,
    idle_since: Option<Instant>,
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
    /// Starts with a thread per core, two to four, and never wants more than `max`.
    pub(crate) fn new(cores: usize, max: usize) -> Self {
        let first = cores.clamp(*FIRST.start(), *FIRST.end());
        Self { target: max.min(first), ..Self::between(max.min(1), max) }
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
            other_known: false,
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

    /// Learns that a close came back at `now`, with `queued` others waiting for a thread, of `open`
    /// that are not closed.
    pub(crate) fn closed(&mut self, now: Instant, queued: usize, open: usize) {
        if self.min == self.max || self.is_resting(now) {
            return;
        }
        let limited = queued > 0 || matches!(self.trial, Trial::Of(..));
        if !limited {
            self.window = None;
        } else if self.settling > 0 {
            self.settling -= 1;
        } else {
            self.count(now);
        }
        if let Some(window) = &mut self.window {
            window.idle_since = (open == 0).then_some(now);
        }
    }

    /// Learns that at `now` something is open again.
    pub(crate) fn resumed(&mut self, now: Instant) {
        if let Some(window) = &mut self.window
            && let Some(since) = window.idle_since.take()
        {
            window.start += now.saturating_duration_since(since);
        }
    }

    fn count(&mut self, now: Instant) {
        let Some(window) = &mut self.window else {
            self.window = Some(Window { start: now, closes: 0, idle_since: None });
            return;
        };
        window.closes += 1;
        let elapsed = now.saturating_duration_since(window.start);
        if elapsed >= WINDOW && window.closes >= PER_THREAD * self.target {
            let rate = per_second(window.closes, elapsed);
            self.judge(now, rate);
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
            Trial::Base => self.start(here),
            Trial::Of(direction, base) if direction.pays(rate, base.rate) => {
                self.rest = REST_FIRST;
                self.other_known = here.threads <= base.threads * STRIDE;
                let large = is_large_gain(rate, base.rate);
                self.go_on(now, direction, if large { LONG_STRIDE } else { STRIDE }, here);
            }
            Trial::Of(failed, base) if self.other_known || self.is_at_end(failed.other(), base) => {
                self.next = failed.other();
                self.rest_at(now, base.threads);
            }
            Trial::Of(failed, base) => {
                self.other_known = true;
                self.step(failed.other(), STRIDE, base);
            }
        }
    }

    /// The first step away from a base.
    fn start(&mut self, base: Base) {
        let stride = if self.fresh { SECOND / base.threads } else { STRIDE };
        self.fresh = false;
        let next = if self.is_at_end(self.next, base) { self.next.other() } else { self.next };
        self.other_known = false;
        self.step(next, stride, base);
    }

    /// One more step the same way after one that paid, or a rest at the end of the way.
    fn go_on(&mut self, now: Instant, direction: Direction, stride: usize, base: Base) {
        if self.is_at_end(direction, base) {
            self.next = direction.other();
            self.rest_at(now, base.threads);
        } else {
            self.step(direction, stride, base);
        }
    }

    fn is_at_end(&self, direction: Direction, base: Base) -> bool {
        match direction {
            Direction::Up => base.threads >= self.max,
            Direction::Down => base.threads <= self.min,
        }
    }

    fn step(&mut self, direction: Direction, stride: usize, base: Base) {
        let threads = match direction {
            Direction::Up => (base.threads * stride.max(STRIDE)).min(self.max),
            Direction::Down => (base.threads / STRIDE).max(self.min),
        };
        self.settle_at(threads, Trial::Of(direction, base));
    }

    fn rest_at(&mut self, now: Instant, threads: usize) {
        self.settle_at(threads, Trial::Base);
        self.rest_until = now.checked_add(self.rest);
        self.rest = (self.rest * 2).min(REST_MAX);
    }

    fn settle_at(&mut self, threads: usize, trial: Trial) {
        self.settling = self.target;
        self.target = threads;
        self.trial = trial;
        self.window = None;
    }
}

impl Direction {
    /// Is `rate` worth the step, when it was `base` before?
    fn pays(self, rate: u64, base: u64) -> bool {
        let least = match self {
            Self::Up => GAIN_PERCENT,
            Self::Down => LOSS_PERCENT,
        };
        rate.saturating_mul(100) >= base.saturating_mul(least)
    }

    fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

fn is_large_gain(rate: u64, base: u64) -> bool {
    rate.saturating_mul(100) >= base.saturating_mul(LARGE_GAIN_PERCENT)
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

    /// Threads that close, in simulated time: `points` of them at once, `takes` each, and longer by
    /// `hinders` per cent for every other thread that is closing.
    struct Simulated {
        elastic: Elastic,
        now: Instant,
        busy: BinaryHeap<Reverse<Instant>>,
        free_at: Vec<Instant>,
        takes: Duration,
        hinders: u32,
        seen: Vec<usize>,
    }

    impl Simulated {
        fn new(max: usize, points: usize, takes: Duration) -> Self {
            let now = Instant::now();
            Self {
                elastic: Elastic::new(2, max),
                now,
                busy: BinaryHeap::new(),
                free_at: vec![now; points],
                takes,
                hinders: 0,
                seen: Vec::new(),
            }
        }

        fn limit(&mut self, points: usize) {
            self.free_at = vec![self.now; points];
        }

        /// Closes one handle more.
        fn close(&mut self) {
            while self.busy.len() < self.elastic.target() {
                let others = u32::try_from(self.busy.len()).expect("few threads");
                let takes = self.takes + self.takes * self.hinders * others / 100;
                let point = self.free_at.iter_mut().min().expect("a point");
                *point = self.now.max(*point) + takes;
                self.busy.push(Reverse(*point));
            }
            let Reverse(done) = self.busy.pop().expect("a thread");
            self.now = self.now.max(done);
            self.elastic.closed(self.now, 1000, 1000);
            self.seen.push(self.elastic.target());
        }

        /// Closes until `time` has passed; returns how many.
        fn run(&mut self, time: Duration) -> usize {
            let (end, before) = (self.now + time, self.seen.len());
            while self.now < end {
                self.close();
            }
            self.seen.len() - before
        }

        /// Closes so many; returns how long that took.
        fn run_all(&mut self, handles: usize) -> Duration {
            let start = self.now;
            (0..handles).for_each(|_| self.close());
            self.now - start
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

    /// The caller's thread would need `takes` for each: the bound is what looking around may cost.
    #[test]
    fn a_thousand_closes_that_hinder_each_other_are_hardly_slower_than_one_after_the_other() {
        for hinders in [0, 1, 5, 20] {
            let mut simulated = Simulated::new(64, 1, MS / 3);
            simulated.hinders = hinders;
            let took = simulated.run_all(1000);
            assert!(took < 1000 * (MS / 3) * 5 / 4, "{took:?} at {hinders} %");
            assert_eq!(simulated.usual(500), 1, "{hinders} %");
        }
    }

    #[test]
    fn on_two_cores_a_thousand_closes_that_compute_soon_have_two_threads() {
        for hinders in [0, 5, 10] {
            let mut simulated = Simulated::new(64, 2, MS / 3);
            simulated.hinders = hinders;
            let took = simulated.run_all(1000);
            assert!(took < 500 * (MS / 3) * 5 / 4, "{took:?} at {hinders} %");
            assert!(simulated.seen[200..].iter().all(|&threads| threads <= 4));
        }
    }

    #[test]
    fn the_most_threads_are_left_alone_for_a_while_once_they_paid() {
        let mut simulated = Simulated::new(64, 80, 6 * MS);
        simulated.run(60 * MS);
        let reached = simulated.seen.iter().position(|&threads| threads == 64).expect("in 60 ms");
        simulated.run(90 * MS);
        assert!(simulated.seen[reached..].iter().all(|&threads| threads == 64));
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
        let mut elastic = Elastic::new(8, 16);
        let start = Instant::now();
        for step in 0..10_000 {
            elastic.closed(start + MS * step, 0, 1);
        }
        assert_eq!(elastic.target(), *FIRST.end());
    }

    /// At 16 threads after one window, as closes that compute reach them on two cores.
    fn trying_16() -> (Elastic, Instant) {
        let mut simulated = Simulated::new(16, 2, MS);
        while simulated.elastic.target() < 16 {
            simulated.close();
        }
        (simulated.elastic, simulated.now)
    }

    #[test]
    fn a_try_that_starves_whoever_fills_the_queue_is_given_up() {
        let (mut elastic, start) = trying_16();
        let mut closes = (1..).map(|step| start + MS / 2 * step);
        closes.by_ref().take(100).for_each(|now| elastic.closed(now, 0, 1));
        assert!(elastic.target() <= 2, "{}", elastic.target());
    }

    #[test]
    fn a_pause_of_whoever_fills_the_queue_says_nothing_about_a_try() {
        let (mut elastic, mut now) = trying_16();
        // In bursts eight times as quick as before, with a second of nothing between them.
        for _burst in 0..100 {
            now += 1000 * MS;
            elastic.resumed(now);
            for left in (0..8).rev() {
                now += MS / 16;
                elastic.closed(now, 0, left);
            }
        }
        assert_eq!(elastic.target(), 16);
    }

    #[test]
    fn a_fixed_number_stays_and_the_limits_hold() {
        let mut elastic = Elastic::fixed(3);
        elastic.closed(Instant::now(), 9, 9);
        assert_eq!(elastic.target(), 3);
        assert_eq!(Elastic::new(8, 0).target(), 0);
        let mut simulated = Simulated::new(5, 80, MS);
        simulated.run(3_000 * MS);
        assert!(simulated.seen.iter().all(|threads| (1..=5).contains(threads)));
        assert_eq!(simulated.usual(1000), 5);
    }
}
