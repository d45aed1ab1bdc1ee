//! Threads that cannot be started, and bounds.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use deferred_close::{Builder, Closer, Policy, Stats, Threads, Worker};

use crate::fixture::{Behind, Ends, Gate, eager, watched};

/// Fails every start after the first `allowed`.
fn limited(builder: Builder, allowed: usize) -> Builder {
    let started = AtomicUsize::new(0);
    builder.spawn_with(move |worker: Worker| {
        if started.fetch_add(1, SeqCst) >= allowed {
            return Err(io::Error::from_raw_os_error(11));
        }
        worker.spawn_thread()
    })
}

#[test]
fn a_thread_that_does_not_start_after_k_others_loses_no_handle_for_every_k() {
    for allowed in 0..=8 {
        watched(move || {
            let closer = limited(eager(8), allowed).build();
            let errors = closer
                .scope(|scope| {
                    let group = scope.group("g");
                    for number in 0..400 {
                        group.close(Ends((number % 100 == 0).then_some(5)), "f");
                    }
                })
                .unwrap_err();
            let stats = settled(&closer, allowed);
            assert_eq!(errors.len(), 4);
            assert_eq!(stats.inline + stats.deferred, 400, "{stats:?}");
            // Counted from the decision to start one; two threads may decide before one start fails.
            let failed = usize::try_from(stats.spawn_failed).unwrap();
            assert!(stats.threads_max <= allowed + failed, "{stats:?}");
        });
    }
}

/// The numbers once no start is under way: one that panics takes a while to be counted as failed, and
/// handles are closed without it meanwhile.
fn settled(closer: &Closer, allowed: usize) -> Stats {
    while closer.progress().threads > allowed {
        std::thread::yield_now();
    }
    closer.stats()
}

/// From the second start on, which a worker decides on as often as the caller does.
#[test]
fn a_start_that_panics_is_a_thread_that_did_not_start() {
    for allowed in 0..=2 {
        watched(move || {
            let started = AtomicUsize::new(0);
            let builder = eager(8).spawn_with(move |worker: Worker| {
                assert!(started.fetch_add(1, SeqCst) < allowed, "no more threads");
                worker.spawn_thread()
            });
            let closer = builder.build();
            closer
                .scope(|scope| {
                    let group = scope.group("g");
                    for _ in 0..400 {
                        group.close(Ends(None), "f");
                    }
                })
                .unwrap();
            let stats = settled(&closer, allowed);
            let failed = usize::try_from(stats.spawn_failed).unwrap();
            assert!(stats.threads_max <= allowed + failed, "{stats:?}");
            assert_eq!(closer.progress().pending, 0);
        });
    }
}

#[test]
fn with_no_thread_at_all_everything_is_closed_on_the_callers_thread() {
    let me = std::thread::current().id();
    let closer = limited(eager(4), 0).build();
    closer
        .scope(|scope| {
            let group = scope.group("g");
            for _ in 0..100 {
                group.close_then(Ends(None), "f", move |closed| {
                    assert_eq!(std::thread::current().id(), me);
                    closed
                });
                assert_eq!(closer.progress().pending, 0, "before any wait");
            }
        })
        .unwrap();
    assert_eq!(closer.stats().spawn_failed, 1);
}

#[test]
fn a_worker_that_is_kept_but_never_run_hangs_nothing() {
    watched(|| {
        let kept = Arc::new(std::sync::Mutex::new(Vec::new()));
        let keep = Arc::clone(&kept);
        let closer = eager(2)
            .spawn_with(move |worker| {
                keep.lock().unwrap().push(worker);
                Ok(())
            })
            .build();
        closer
            .scope(|scope| {
                let group = scope.group("g");
                for _ in 0..10 {
                    group.close(Ends(None), "f");
                }
                group.wait().unwrap();
            })
            .unwrap();
        drop(closer);
        // Taken out: a worker holds its pool, which holds this list.
        let kept = std::mem::take(&mut *kept.lock().unwrap());
        assert!(!kept.is_empty());
    });
}

#[test]
fn no_more_handles_are_pending_than_allowed() {
    for bound in [0, 1, 7] {
        watched(move || {
            let gate = Gate::default();
            let _opener = gate.open_on_drop();
            let closer = eager(1).max_pending(bound).build();
            closer
                .scope(|scope| {
                    let group = scope.group("g");
                    for _ in 0..bound {
                        let (slow, _begun) = Behind::new(&gate);
                        assert!(!group.close(slow, "slow").is_inline());
                    }
                    // The queue is full and its only worker stuck: the caller closes, and goes on.
                    for _ in 0..50 {
                        assert!(group.close(Ends(None), "f").is_inline());
                    }
                    gate.open();
                })
                .unwrap();
            assert_eq!(closer.stats().pending_max, bound);
            assert_eq!(closer.stats().inline_full, 50);
        });
    }
}

#[test]
fn zero_threads_of_any_kind_mean_inline() {
    for threads in [Threads::Inline, Threads::Fixed(0), Threads::Auto { max: 0 }] {
        let closer = Closer::builder().threads(threads).policy(Policy::Always).build();
        let inline = closer.scope(|scope| scope.group("g").close(Ends(None), "f").is_inline());
        assert!(inline.unwrap());
        assert_eq!(closer.stats().threads_max, 0);
    }
}
