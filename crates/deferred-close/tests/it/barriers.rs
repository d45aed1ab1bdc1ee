//! Nothing returns before what it waits for is closed.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use deferred_close::{Closer, Dropping, Finish, Group};

use crate::fixture::{Behind, Ends, Gate, eager, watched};

/// Counts its own end.
struct Counts(Arc<AtomicUsize>);

impl Finish for Counts {
    fn finish(self) -> io::Result<()> {
        thread::yield_now();
        self.0.fetch_add(1, SeqCst);
        Ok(())
    }
}

#[test]
fn a_scope_joins_on_return() {
    let ended = Arc::new(AtomicUsize::new(0));
    for threads in [1, 4] {
        ended.store(0, SeqCst);
        let closer = eager(threads).build();
        closer
            .scope(|scope| {
                let group = scope.group("g");
                for _ in 0..500 {
                    group.close(Counts(Arc::clone(&ended)), "f");
                }
            })
            .unwrap();
        assert_eq!(ended.load(SeqCst), 500);
        assert_eq!(closer.stats().deferred + closer.stats().inline, 500);
    }
}

#[test]
fn a_scope_joins_on_an_early_return() {
    let ended = Arc::new(AtomicUsize::new(0));
    let work = || -> Result<(), Box<dyn std::error::Error>> {
        eager(2).build().scope(|scope| -> io::Result<()> {
            let group = scope.group("g");
            for _ in 0..50 {
                group.close(Counts(Arc::clone(&ended)), "f");
            }
            File::open("/does/not/exist")?;
            Ok(())
        })??;
        Ok(())
    };
    work().unwrap_err();
    assert_eq!(ended.load(SeqCst), 50);
}

/// Counts its own end, which does not come before the gate is open.
struct CountsBehind(Gate, Counts);

impl Finish for CountsBehind {
    fn finish(self) -> io::Result<()> {
        self.0.pass();
        self.1.finish()
    }
}

#[test]
fn a_scope_joins_on_panic() {
    let (ended, gate) = (Arc::new(AtomicUsize::new(0)), Gate::default());
    let closer = eager(2).build();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _never = closer.scope(|scope| {
            let group = scope.group("g");
            for _ in 0..50 {
                group.close(CountsBehind(gate.clone(), Counts(Arc::clone(&ended))), "f");
            }
            // Opened by the unwinding, just before the scope is dropped: nothing has ended yet.
            let _opener = gate.open_on_drop();
            panic!("caller");
        });
    }));
    assert!(panic.is_err());
    assert_eq!(ended.load(SeqCst), 50);
    assert_eq!(closer.progress().pending, 0);
    closer.scope(|scope| scope.group("again").close(Ends(None), "f").is_inline()).unwrap();
}

#[test]
fn dropping_a_group_and_a_ticket_unwaited_loses_nothing() {
    let ended = Arc::new(AtomicUsize::new(0));
    eager(1)
        .build()
        .scope(|scope| {
            for _ in 0..20 {
                let group = scope.group("g");
                drop(group.close_ticket(Counts(Arc::clone(&ended)), "f"));
            }
        })
        .unwrap();
    assert_eq!(ended.load(SeqCst), 20);
}

#[test]
fn a_group_does_not_wait_for_another() {
    watched(|| {
        let gate = Gate::default();
        let _opener = gate.open_on_drop();
        let closer = eager(2).build();
        closer
            .scope(|scope| {
                let (slow, begun) = Behind::new(&gate);
                let (stuck, quick) = (scope.group("stuck"), scope.group("quick"));
                stuck.close(slow, "slow");
                begun.recv().unwrap();
                quick.close(Ends(None), "f");
                quick.wait().unwrap();
                assert_eq!(closer.progress().pending, 1);
                gate.open();
            })
            .unwrap();
    });
}

/// The only worker is stuck, and what is first in the queue would be stuck as well.
#[test]
fn a_wait_closes_nothing_but_what_it_waits_for() {
    watched(|| {
        let gate = Gate::default();
        let _opener = gate.open_on_drop();
        eager(1)
            .build()
            .scope(|scope| {
                let (stuck, mine) = (scope.group("stuck"), scope.group("mine"));
                for _ in 0..2 {
                    stuck.close(Behind::new(&gate).0, "other/slow");
                }
                mine.close_ticket(Ends(None), "dir/ticket").wait().unwrap();
                mine.close(Ends(None), "dir/group");
                mine.wait().unwrap();
                stuck.close(Ends(None), "dir/path");
                scope.wait_under("dir").unwrap();
                gate.open();
            })
            .unwrap();
    });
}

#[test]
fn a_ticket_waits_for_its_handle_only() {
    watched(|| {
        let gate = Gate::default();
        let _opener = gate.open_on_drop();
        eager(2)
            .build()
            .scope(|scope| {
                let (slow, begun) = Behind::new(&gate);
                let group = scope.group("g");
                let stuck = group.close_ticket(slow, "slow");
                begun.recv().unwrap();
                group.close_ticket(Ends(None), "f").wait().unwrap();
                assert!(!stuck.is_closed());
                gate.open();
                stuck.wait().unwrap();
            })
            .unwrap();
    });
}

#[test]
fn a_path_wait_compares_whole_components() {
    watched(|| {
        let gate = Gate::default();
        let _opener = gate.open_on_drop();
        let closer = eager(2).build();
        closer
            .scope(|scope| {
                let (slow, begun) = Behind::new(&gate);
                let group = scope.group("g");
                group.close(slow, "site/numpy.libs/x");
                begun.recv().unwrap();
                group.close(Ends(None), "site/numpy/x");
                scope.wait_under("site/numpy").unwrap();
                assert_eq!(closer.progress().pending, 1);
                gate.open();
                scope.wait_under("site").unwrap();
                assert_eq!(closer.progress().pending, 0);
            })
            .unwrap();
    });
}

#[test]
fn a_group_waits_for_its_continuations() {
    let order = Arc::new(Mutex::new(Vec::new()));
    eager(4)
        .build()
        .scope(|scope| {
            let group = scope.group("g");
            for number in 0..100 {
                let order = Arc::clone(&order);
                group.close_then(Ends(None), "f", move |closed| {
                    thread::yield_now();
                    order.lock().unwrap().push(number);
                    closed
                });
            }
            group.wait().unwrap();
            assert_eq!(order.lock().unwrap().len(), 100);
        })
        .unwrap();
}

#[test]
fn a_group_may_be_shared_by_threads() {
    let ended = Arc::new(AtomicUsize::new(0));
    let fill = |group: &Group<'_>| {
        for _ in 0..100 {
            group.close(Counts(Arc::clone(&ended)), "f");
        }
    };
    eager(2)
        .build()
        .scope(|scope| {
            let group = scope.group("g");
            thread::scope(|threads| {
                for _ in 0..4 {
                    threads.spawn(|| fill(&group));
                }
            });
            group.wait().unwrap();
            assert_eq!(ended.load(SeqCst), 400);
        })
        .unwrap();
}

#[test]
fn a_continuation_may_have_a_scope_on_the_same_closer() {
    watched(|| {
        let closer = Arc::new(eager(1).build());
        let (inner, ended) = (Arc::clone(&closer), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&ended);
        closer
            .scope(|scope| {
                scope.group("outer").close_then(Ends(None), "f", move |_| {
                    inner.scope(|scope| {
                        let group = scope.group("inner");
                        for _ in 0..10 {
                            group.close(Counts(Arc::clone(&count)), "f");
                        }
                        group.wait()
                    })??;
                    Ok(())
                });
            })
            .unwrap();
        assert_eq!(ended.load(SeqCst), 10);
    });
}

/// Each would run the next one inside its own wait, until the small stack of a worker is full.
#[test]
#[cfg_attr(
    windows,
    expect(
        clippy::missing_const_for_thread_local,
        reason = "it is const, which clippy misses there"
    )
)]
fn continuations_that_wait_do_not_nest() {
    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    watched(|| {
        let closer = Arc::new(eager(2).build());
        let deepest = Arc::new(AtomicUsize::new(0));
        closer
            .scope(|scope| {
                let outer = scope.group("outer");
                for _ in 0..500 {
                    let (inner, deepest) = (Arc::clone(&closer), Arc::clone(&deepest));
                    outer.close_then(Ends(None), "f", move |closed| {
                        deepest.fetch_max(DEPTH.replace(DEPTH.get() + 1), SeqCst);
                        inner.scope(|scope| {
                            scope.group("inner").close(Ends(None), "f").is_inline()
                        })?;
                        DEPTH.set(DEPTH.get() - 1);
                        closed
                    });
                }
            })
            .unwrap();
        assert_eq!(deepest.load(SeqCst), 0);
    });
}

#[test]
fn a_closer_dropped_by_its_own_worker_ends() {
    watched(|| {
        let closer = Arc::new(eager(1).build());
        let last = Arc::clone(&closer);
        let gate = Gate::default();
        let at_gate = gate.clone();
        let outer = eager(1).build();
        outer
            .scope(|scope| {
                let (held, begun) = Behind::new(&at_gate);
                scope.group("hold").close(held, "h");
                begun.recv().unwrap();
                closer.scope(|scope| scope.group("g").close(Ends(None), "f").is_inline()).unwrap();
                scope.group("drop").close(Dropping(last), "closer");
                drop(closer);
                gate.open();
            })
            .unwrap();
    });
}

#[test]
fn a_directory_is_renamed_after_the_group_and_holds_every_byte() {
    let root = tempfile::tempdir().unwrap();
    let (stage, target) = (root.path().join("stage"), root.path().join("target"));
    std::fs::create_dir(&stage).unwrap();
    let closer = Closer::builder().policy(deferred_close::Policy::Always).build();
    closer
        .scope(|scope| {
            let group = scope.group("package");
            for number in 0..200 {
                let path = stage.join(number.to_string());
                let mut writer = io::BufWriter::new(File::create(&path).unwrap());
                write!(writer, "{number}").unwrap();
                group.close(writer, path);
            }
            group.wait().unwrap();
            std::fs::rename(&stage, &target).unwrap();
        })
        .unwrap();
    for number in 0..200 {
        let text = std::fs::read_to_string(target.join(number.to_string())).unwrap();
        assert_eq!(text, number.to_string());
    }
}
