//! Every interleaving (loom), and thousands of random ones (shuttle), of the queue, the counters, the
//! waits and the end. An execution that cannot go on is a hang, and both report it.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p deferred-close --release --test model
//! RUSTFLAGS="--cfg shuttle" cargo test -p deferred-close --release --test model
//! ```
#![cfg(any(loom, shuttle))]
#![expect(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use deferred_close::{Builder, Closer, Finish, Group, Policy, SpawnLock, Threads, Worker};

#[cfg(loom)]
use loom::thread;
#[cfg(shuttle)]
use shuttle::thread;

#[cfg(loom)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(model);
}

#[cfg(shuttle)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(model, 5_000);
}

/// Counts its end, after a moment in which others may run.
struct Counts(Arc<AtomicUsize>);

impl Finish for Counts {
    fn finish(self) -> io::Result<()> {
        thread::yield_now();
        self.0.fetch_add(1, SeqCst);
        Ok(())
    }
}

struct Fails;

impl Finish for Fails {
    fn finish(self) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

fn eager(threads: usize) -> Builder {
    Closer::builder().policy(Policy::Always).threads(Threads::Fixed(threads)).max_pending(8)
}

/// Fails every start after the first `allowed`.
fn limited(builder: Builder, allowed: usize) -> Builder {
    let started = AtomicUsize::new(0);
    builder.spawn_with(move |worker: Worker| {
        if started.fetch_add(1, SeqCst) >= allowed {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        worker.spawn_thread()
    })
}

fn fill(group: &Group<'_>, handles: usize, ended: &Arc<AtomicUsize>) {
    for _ in 0..handles {
        group.close(Counts(Arc::clone(ended)), "f");
    }
}

/// Two handles through `closer`, and all of them ended when the scope has.
fn joins(closer: Closer) {
    let ended = Arc::new(AtomicUsize::new(0));
    closer.scope(|scope| fill(&scope.group("g"), 2, &ended)).unwrap();
    assert_eq!(ended.load(SeqCst), 2);
    assert_eq!(closer.progress().pending, 0);
}

#[test]
fn a_scope_joins_with_one_worker() {
    check(|| joins(eager(1).build()));
}

#[test]
fn a_scope_joins_with_two_workers() {
    check(|| joins(eager(2).build()));
}

#[test]
fn a_scope_joins_when_one_handle_may_be_pending() {
    check(|| joins(eager(1).max_pending(1).build()));
}

#[test]
fn a_scope_joins_when_no_thread_starts() {
    check(|| joins(limited(eager(2), 0).build()));
}

#[test]
fn a_scope_joins_when_the_second_thread_does_not_start() {
    check(|| joins(limited(eager(2), 1).build()));
}

#[test]
fn a_group_wait_covers_what_came_before_while_another_thread_adds() {
    check(|| {
        let closer = Arc::new(eager(1).build());
        let (mine, theirs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (other, count) = (Arc::clone(&closer), Arc::clone(&theirs));
        let thread = thread::spawn(move || {
            other.scope(|scope| fill(&scope.group("theirs"), 1, &count)).unwrap();
            assert_eq!(count.load(SeqCst), 1);
        });
        closer
            .scope(|scope| {
                let group = scope.group("mine");
                fill(&group, 1, &mine);
                group.wait().unwrap();
                assert_eq!(mine.load(SeqCst), 1);
            })
            .unwrap();
        thread.join().unwrap();
        assert_eq!(theirs.load(SeqCst), 1);
    });
}

#[test]
fn a_ticket_and_a_path_wait_cover_their_handle() {
    check(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        eager(1)
            .build()
            .scope(|scope| {
                let group = scope.group("g");
                let ticket = group.close_ticket(Counts(Arc::clone(&ended)), "a/f");
                ticket.wait().unwrap();
                assert_eq!(ended.load(SeqCst), 1);
                group.close(Counts(Arc::clone(&ended)), "b/f");
                scope.wait_under("b").unwrap();
                assert_eq!(ended.load(SeqCst), 2);
            })
            .unwrap();
    });
}

#[test]
fn an_error_reaches_the_wait_or_the_scope_and_not_both() {
    check(|| {
        let closer = eager(1).build();
        let (told, end) = closer.scope_with(|scope| {
            let (waited, left) = (scope.group("waited"), scope.group("left"));
            waited.close(Fails, "a");
            left.close(Fails, "b");
            waited.wait().unwrap_err().len()
        });
        assert_eq!((told, end.unwrap_err().len()), (1, 1));
    });
}

#[test]
fn a_continuation_with_a_scope_of_its_own_ends_on_the_only_worker() {
    check(|| {
        let closer = Arc::new(eager(1).build());
        let ended = Arc::new(AtomicUsize::new(0));
        let (inner, count) = (Arc::clone(&closer), Arc::clone(&ended));
        closer
            .scope(|scope| {
                scope.group("outer").close_then(Counts(Arc::clone(&ended)), "f", move |_| {
                    inner.scope(|scope| fill(&scope.group("inner"), 1, &count))?;
                    Ok(())
                });
            })
            .unwrap();
        assert_eq!(ended.load(SeqCst), 2);
    });
}

#[test]
fn a_program_that_is_written_and_a_start_never_overlap() {
    check(|| {
        let lock = SpawnLock::new();
        let open = Arc::new(AtomicUsize::new(0));
        let (theirs, count) = (lock.clone(), Arc::clone(&open));
        let writer = thread::spawn(move || {
            let writing = theirs.writing();
            count.fetch_add(1, SeqCst);
            thread::yield_now();
            count.fetch_sub(1, SeqCst);
            drop(writing);
        });
        let spawning = lock.spawning();
        assert_eq!(open.load(SeqCst), 0);
        drop(spawning);
        writer.join().unwrap();
    });
}
