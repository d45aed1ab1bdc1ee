//! Is closing slow here? Decides, from measured closes, whether the next one is handed over.
//!
//! A close of a new file is 1-2 µs on ext4, xfs and tmpfs; handing it to another thread costs more
//! than that. On NFS, FUSE or under a Windows virus scanner it is 1-10 ms. So closes stay on the
//! caller's thread and are timed: all of the first [`FIRST`], one in [`EVERY`] later, and each one
//! after a slow one until the mean is settled. Above the threshold they are deferred. Workers time
//! every close, but a crowded worker only ever *over*-states: once the quickest of [`WINDOW`] closes
//! is under the threshold, the caller tries again itself.
//!
//! No clock is read here. All counters are relaxed: a lost update costs one sample.

use std::time::Duration;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

const FIRST: u32 = 8;
const EVERY: u32 = 16;
const WINDOW: u32 = 64;
/// One hiccup of the scheduler counts as at most this many thresholds.
const CLAMP: u64 = 4;
const WEIGHT: u64 = 8;

/// Where the next handle is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Here,
    HereTimed,
    Elsewhere,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pace {
    threshold_ns: u64,
    slow: AtomicBool,
    mean_ns: AtomicU64,
    untimed_left: AtomicU32,
    first_left: AtomicU32,
    window_left: AtomicU32,
    window_min_ns: AtomicU64,
}

impl Pace {
    pub(crate) fn new(threshold: Duration) -> Self {
        Self {
            threshold_ns: nanos(threshold),
            slow: AtomicBool::new(false),
            mean_ns: AtomicU64::new(0),
            untimed_left: AtomicU32::new(0),
            first_left: AtomicU32::new(FIRST),
            window_left: AtomicU32::new(WINDOW),
            window_min_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Returns where the next handle is closed.
    pub(crate) fn place(&self) -> Place {
        if self.slow.load(Relaxed) {
            return Place::Elsewhere;
        }
        match self.untimed_left.load(Relaxed) {
            0 => Place::HereTimed,
            left => {
                self.untimed_left.store(left - 1, Relaxed);
                Place::Here
            }
        }
    }

    /// Learns from a close on the caller's thread.
    pub(crate) fn closed_here(&self, took: Duration) {
        let sample = nanos(took).min(self.threshold_ns.saturating_mul(CLAMP));
        let old = self.mean_ns.load(Relaxed);
        let mean = old - old / WEIGHT + sample / WEIGHT;
        self.mean_ns.store(mean, Relaxed);
        if mean > self.threshold_ns {
            self.start_deferring();
        } else {
            self.untimed_left.store(self.untimed_after(sample), Relaxed);
        }
    }

    fn untimed_after(&self, sample_ns: u64) -> u32 {
        let first = self.first_left.load(Relaxed);
        self.first_left.store(first.saturating_sub(1), Relaxed);
        if first > 1 || sample_ns > self.threshold_ns { 0 } else { EVERY - 1 }
    }

    fn start_deferring(&self) {
        self.window_left.store(WINDOW, Relaxed);
        self.window_min_ns.store(u64::MAX, Relaxed);
        self.slow.store(true, Relaxed);
    }

    /// Learns from a close on a worker.
    pub(crate) fn closed_elsewhere(&self, took: Duration) {
        let quickest = self.window_min_ns.load(Relaxed).min(nanos(took));
        let left = self.window_left.load(Relaxed).saturating_sub(1);
        self.window_min_ns.store(if left == 0 { u64::MAX } else { quickest }, Relaxed);
        self.window_left.store(if left == 0 { WINDOW } else { left }, Relaxed);
        if left == 0 && quickest <= self.threshold_ns {
            self.try_again_here();
        }
    }

    fn try_again_here(&self) {
        self.mean_ns.store(self.threshold_ns / 2, Relaxed);
        self.untimed_left.store(0, Relaxed);
        self.first_left.store(FIRST, Relaxed);
        self.slow.store(false, Relaxed);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const THRESHOLD: Duration = Duration::from_micros(20);
    const QUICK: Duration = Duration::from_micros(2);
    const SLOW: Duration = Duration::from_millis(6);

    fn settled(took: Duration) -> Pace {
        let pace = Pace::new(THRESHOLD);
        for _ in 0..FIRST {
            if pace.place() == Place::HereTimed {
                pace.closed_here(took);
            }
        }
        pace
    }

    #[test]
    fn quick_closes_stay_here_and_one_in_sixteen_is_timed() {
        let pace = settled(QUICK);
        let mut timed = 0;
        for _ in 0..1600 {
            match pace.place() {
                Place::HereTimed => {
                    timed += 1;
                    pace.closed_here(QUICK);
                }
                place => assert_eq!(place, Place::Here),
            }
        }
        assert_eq!(timed, 100);
    }

    #[test]
    fn the_third_slow_close_in_a_row_starts_deferring() {
        let pace = Pace::new(THRESHOLD);
        for _ in 0..2 {
            assert_eq!(pace.place(), Place::HereTimed);
            pace.closed_here(SLOW);
        }
        assert_eq!(pace.place(), Place::HereTimed);
        pace.closed_here(SLOW);
        assert_eq!(pace.place(), Place::Elsewhere);
    }

    #[test]
    fn one_hiccup_among_quick_closes_changes_nothing() {
        let pace = settled(QUICK);
        for round in 0..100 {
            pace.closed_here(if round % 16 == 0 { Duration::from_secs(1) } else { QUICK });
            assert_ne!(pace.place(), Place::Elsewhere, "round {round}");
        }
    }

    #[test]
    fn a_file_system_that_turns_slow_is_noticed_within_four_samples() {
        let pace = settled(QUICK);
        let mut closes = 0;
        while pace.place() != Place::Elsewhere {
            closes += 1;
            pace.closed_here(SLOW);
        }
        assert!(closes <= 4 + EVERY, "{closes}");
    }

    #[test]
    fn a_file_system_that_turns_quick_is_noticed_within_two_windows() {
        let pace = settled(SLOW);
        for _ in 0..WINDOW * 2 {
            pace.closed_elsewhere(QUICK);
        }
        assert_eq!(pace.place(), Place::HereTimed);
        for _ in 0..FIRST {
            pace.closed_here(QUICK);
        }
        assert_eq!(pace.place(), Place::Here);
    }

    #[test]
    fn slow_closes_elsewhere_keep_the_caller_away() {
        let pace = settled(SLOW);
        for _ in 0..1000 {
            pace.closed_elsewhere(SLOW);
            assert_eq!(pace.place(), Place::Elsewhere);
        }
    }
}
