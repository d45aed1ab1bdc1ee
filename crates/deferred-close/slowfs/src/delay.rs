//! When an answer is due, and one thread that gives it then.
//!
//! A sleeping thread per close would cost the machine what the closer under test saves it. Here a
//! thousand closes wait in one heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

type Answer = Box<dyn FnOnce() + Send>;

/// Runs answers when they are due.
pub(crate) struct Delay {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    due: BinaryHeap<Reverse<Due>>,
    /// When each service point is free again.
    free_at: Vec<Instant>,
    count: u64,
    ending: bool,
}

struct Due {
    at: Instant,
    number: u64,
    answer: Answer,
}

impl Delay {
    pub(crate) fn start() -> std::io::Result<Self> {
        let shared =
            Arc::new(Shared { state: Mutex::new(State::default()), changed: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new().name("slowfs".into()).spawn(move || theirs.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Answers after `takes`, and after a place among `points` service points was free (0: any).
    pub(crate) fn answer(&self, takes: Duration, points: usize, answer: Answer) {
        let mut state = self.shared.lock();
        let at = state.begin(points) + takes;
        state.occupy(points, at);
        state.count += 1;
        let number = state.count;
        let first = state.due.peek().is_none_or(|Reverse(first)| at < first.at);
        state.due.push(Reverse(Due { at, number, answer }));
        drop(state);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

impl State {
    fn begin(&mut self, points: usize) -> Instant {
        let now = Instant::now();
        self.free_at.resize(points, now);
        self.free_at.sort();
        self.free_at.first().map_or(now, |&free| free.max(now))
    }

    fn occupy(&mut self, points: usize, until: Instant) {
        if points > 0 {
            self.free_at[0] = until;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        // The default slack of 50 µs is a quarter of the shortest close that is simulated.
        let _only_less_precise = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut state = self.lock();
        loop {
            let wait = state
                .due
                .peek()
                .map(|Reverse(first)| first.at.saturating_duration_since(Instant::now()));
            match wait {
                Some(Duration::ZERO) => {
                    let Some(Reverse(due)) = state.due.pop() else { continue };
                    drop(state);
                    (due.answer)();
                    state = self.lock();
                }
                Some(wait) => {
                    let woken = self.changed.wait_timeout(state, wait);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                None if state.ending => return,
                None => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.shared.lock().ending = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _already_over = thread.join();
        }
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
