//! The queue, the workers and the waits: the only module that locks.
//!
//! One mutex guards the queue, the ledger and the crew, so that no count can disagree with another.
//! It is never held while a handle is closed, a thread is started or an observer is told. A deferred
//! close costs 20 µs or more by definition, so one lock is not what limits it.
//!
//! Whoever waits takes what it waits for from the queue itself. So a wait makes progress even if no
//! worker is alive, and even if the waiter *is* the only worker (a continuation with a scope of its
//! own). It takes nothing else: one slow handle of a stranger would hold it up, and continuations that
//! wait would nest, one stack frame on the other.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::elastic::Elastic;
use crate::errors::CloseError;
use crate::ledger::{Awaited, Id, Ledger, Owner};
use crate::observe::{Observer, Progress, Stats};
use crate::pace::Pace;
use crate::panicked;
use crate::sync::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering::Relaxed, PoisonError};
use crate::task::{Finished, Task};
use crate::worker::{Spawn, Worker};

/// A handle in the queue.
pub(crate) struct Job {
    handle: Id,
    owner: Owner,
    path: Arc<Path>,
    group: Arc<str>,
    task: Task,
}

/// What a caller hands over.
pub(crate) struct Offer {
    pub(crate) owner: Owner,
    pub(crate) path: Arc<Path>,
    pub(crate) group: Arc<str>,
    pub(crate) task: Task,
}

/// See the module.
pub(crate) struct Pool {
    state: Mutex<State>,
    /// A job was queued, or the pool ends.
    work: Condvar,
    /// A group, a scope or a handle somebody waits for is done, or a job was queued.
    settled: Condvar,
    pub(crate) pace: Pace,
    pub(crate) inline: AtomicU64,
    pub(crate) inline_executable: AtomicU64,
    /// Closes and continuations that failed, added before the handle is settled.
    pub(crate) failed: AtomicU64,
    observer: Option<Arc<dyn Observer>>,
    spawn: Spawn,
}

struct State {
    queue: VecDeque<Job>,
    ledger: Ledger,
    crew: Crew,
    pending_max: usize,
    /// Waits that sleep.
    waiting: usize,
    /// Of those: waits for one handle or one folder, which every close may end.
    waiting_fine: usize,
    ending: bool,
    stats: Stats,
}

/// Who works. `alive` counts a worker from the decision to start it.
struct Crew {
    elastic: Elastic,
    alive: usize,
    idle: usize,
    /// No start is tried above this, after one failed; lifted by the next scope.
    ceiling: usize,
    members: Vec<crate::sync::ThreadId>,
}

impl Crew {
    fn target(&self) -> usize {
        self.elastic.target().min(self.ceiling)
    }

    /// Decides to start one more thread, if the queue has more than the sleepers can take.
    fn hire(&mut self, queued: usize) -> bool {
        let wanted = queued > self.idle && self.alive < self.target();
        self.alive += usize::from(wanted);
        wanted
    }
}

impl Pool {
    pub(crate) fn new(
        pace: Pace,
        elastic: Elastic,
        observer: Option<Arc<dyn Observer>>,
        spawn: Spawn,
    ) -> Self {
        let crew = Crew { elastic, alive: 0, idle: 0, ceiling: usize::MAX, members: Vec::new() };
        let state = State {
            queue: VecDeque::new(),
            ledger: Ledger::default(),
            crew,
            pending_max: 0,
            waiting: 0,
            waiting_fine: 0,
            ending: false,
            stats: Stats::default(),
        };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            settled: Condvar::new(),
            pace,
            inline: AtomicU64::new(0),
            inline_executable: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            observer,
            spawn,
        }
    }

    /// No code that can panic runs under the lock, so a poisoned one is still consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the ledger.
    pub(crate) fn ledger<T>(&self, ask: impl FnOnce(&mut Ledger) -> T) -> T {
        ask(&mut self.lock().ledger)
    }

    /// Starts a scope: the limits are read anew.
    pub(crate) fn begin_scope(&self, pending_max: usize) -> Id {
        let mut state = self.lock();
        state.pending_max = pending_max;
        state.crew.ceiling = usize::MAX;
        state.ledger.id()
    }

    /// Queues a close; gives it back when there is no room or nobody to do it.
    pub(crate) fn offer(self: &Arc<Self>, offer: Offer) -> Result<Id, Offer> {
        let mut state = self.lock();
        if state.ledger.len() >= state.pending_max || state.crew.target() == 0 {
            state.stats.inline_full += 1;
            return Err(offer);
        }
        let Offer { owner, path, group, task } = offer;
        if state.ledger.len() == 0 {
            state.crew.elastic.resumed(Instant::now());
        }
        let handle = state.ledger.open(owner, Arc::clone(&path));
        state.queue.push_back(Job { handle, owner, path, group, task });
        let hire = state.pushed();
        let (wake_worker, wake_waiter) = (state.crew.idle > 0, state.waiting > 0);
        let progress = state.progress();
        drop(state);
        if wake_worker {
            self.work.notify_one();
        }
        if wake_waiter {
            self.settled.notify_all();
        }
        self.tell(|observer| observer.progress(&progress));
        if hire {
            self.hire();
        }
        Ok(handle)
    }

    /// Keeps the errors of a close on the caller's thread.
    #[cold]
    pub(crate) fn failed_here(&self, owner: Owner, errors: Vec<CloseError>) -> Id {
        self.tell_errors(&errors);
        let mut state = self.lock();
        let handle = state.ledger.id();
        state.ledger.keep(owner, handle, errors);
        handle
    }

    /// Starts the worker that was decided on; without it, and with no other, does its work here.
    fn hire(self: &Arc<Self>) {
        let worker = Worker::new(Arc::clone(self));
        // A panic here would take the worker that hires down with it, and its place in the books.
        let started = panicked::caught(|| (self.spawn)(worker)).unwrap_or_else(Err);
        if let Err(error) = started {
            let alive = self.lock().crew.alive;
            self.tell(|observer| observer.spawn_failed(alive, &error));
            self.run_while_alone();
        }
    }

    fn run_while_alone(self: &Arc<Self>) {
        loop {
            let mut state = self.lock();
            if state.crew.alive > 0 {
                return;
            }
            let Some(job) = state.queue.pop_front() else { return };
            drop(state);
            self.run(job);
        }
    }

    /// A worker that was decided on will not work.
    pub(crate) fn worker_lost(&self) {
        let mut state = self.lock();
        state.crew.alive -= 1;
        state.crew.ceiling = state.crew.alive;
        state.stats.spawn_failed += 1;
    }

    /// A worker's life: until the pool ends or wants fewer.
    pub(crate) fn work(self: &Arc<Self>) {
        let me = crate::sync::current().id();
        self.lock().crew.members.push(me);
        while let Some(job) = self.next_job() {
            self.run(job);
            if self.leaves(me, State::is_overstaffed) {
                return;
            }
        }
        self.leaves(me, |_| true);
    }

    /// Takes a worker off the books if `wanted`, under one lock: of three workers that are one too
    /// many, only one may see so.
    fn leaves(&self, me: crate::sync::ThreadId, wanted: impl FnOnce(&State) -> bool) -> bool {
        let mut state = self.lock();
        let leaves = wanted(&state);
        if leaves {
            state.crew.alive -= 1;
            state.crew.members.retain(|member| *member != me);
            drop(state);
            self.settled.notify_all();
        }
        leaves
    }

    fn next_job(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            if state.ending {
                return None;
            }
            state.crew.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.crew.idle -= 1;
        }
    }

    /// Closes one handle, on whatever thread this is.
    fn run(self: &Arc<Self>, job: Job) {
        let Job { handle, path, group, task, .. } = job;
        let Finished { errors, close_took } = task(&path, &group);
        if let Some(took) = close_took {
            self.pace.closed_elsewhere(took);
        }
        self.tell_errors(&errors);
        self.settle(handle, errors, Instant::now());
    }

    fn settle(self: &Arc<Self>, handle: Id, errors: Vec<CloseError>, now: Instant) {
        let mut state = self.lock();
        state.stats.deferred += 1;
        let last = state.ledger.settle(handle, errors);
        let (backlog, open) = (state.queue.len(), state.ledger.len());
        state.crew.elastic.closed(now, backlog, open);
        let hire = backlog > 0 && state.pushed();
        let wake = state.waiting_fine > 0 || (last && state.waiting > 0);
        let progress = state.progress();
        drop(state);
        if wake {
            self.settled.notify_all();
        }
        self.tell(|observer| observer.progress(&progress));
        if hire {
            self.hire();
        }
    }

    /// Blocks until nothing that is waited for is open, closing what is still queued of it, then asks
    /// the ledger.
    pub(crate) fn wait<T>(
        self: &Arc<Self>,
        awaited: &Awaited<'_>,
        ask: impl FnOnce(&mut Ledger) -> T,
    ) -> T {
        let mut state = self.lock();
        loop {
            if state.ledger.is_done(awaited) {
                return ask(&mut state.ledger);
            }
            if let Some(job) = state.take(awaited) {
                drop(state);
                self.run(job);
                state = self.lock();
                continue;
            }
            state = self.sleep(state, awaited.is_fine());
        }
    }

    fn sleep<'a>(&'a self, mut state: MutexGuard<'a, State>, fine: bool) -> MutexGuard<'a, State> {
        let fine = usize::from(fine);
        state.waiting += 1;
        state.waiting_fine += fine;
        let mut state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.waiting_fine -= fine;
        state
    }

    /// Ends the workers and waits until they are gone, unless this is one of them.
    pub(crate) fn end(&self) {
        let me = crate::sync::current().id();
        let mut state = self.lock();
        state.ending = true;
        self.work.notify_all();
        while state.crew.members.iter().any(|member| *member != me) {
            state = self.sleep(state, true);
        }
    }

    /// The numbers of this moment.
    pub(crate) fn progress(&self) -> Progress {
        self.lock().progress()
    }

    /// The numbers since the start.
    pub(crate) fn stats(&self) -> Stats {
        let mut stats = self.lock().stats;
        stats.inline = self.inline.load(Relaxed);
        stats.failed = self.failed.load(Relaxed);
        stats.inline_executable = self.inline_executable.load(Relaxed);
        stats
    }

    fn tell_errors(&self, errors: &[CloseError]) {
        for error in errors {
            self.failed.fetch_add(1, Relaxed);
            self.tell(|observer| observer.failed(error));
        }
    }

    fn tell(&self, what: impl FnOnce(&dyn Observer)) {
        if let Some(observer) = self.observer.as_deref() {
            // A panic in a progress bar must not cost a handle its place in the books.
            let _ignored = panicked::caught(|| what(observer));
        }
    }
}

impl State {
    /// The first queued job that is waited for.
    fn take(&mut self, awaited: &Awaited<'_>) -> Option<Job> {
        let covers = |job: &Job| awaited.covers(job.handle, job.owner, &job.path);
        let at = self.queue.iter().position(covers)?;
        self.queue.remove(at)
    }

    /// Updates the maxima and decides to start a thread.
    fn pushed(&mut self) -> bool {
        let hire = self.crew.hire(self.queue.len());
        self.stats.pending_max = self.stats.pending_max.max(self.ledger.len());
        self.stats.threads_max = self.stats.threads_max.max(self.crew.alive);
        hire
    }

    fn is_overstaffed(&self) -> bool {
        self.crew.alive > self.crew.target().max(1)
    }

    fn progress(&self) -> Progress {
        Progress {
            pending: self.ledger.len(),
            closed: self.stats.deferred,
            threads: self.crew.alive,
        }
    }
}

/// Spawns workers as threads of the standard library.
pub(crate) fn spawn_thread(worker: Worker) -> io::Result<()> {
    worker.spawn_thread()
}
