//! No error is lost, none is told twice by the scope, and every one has its path.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use deferred_close::{CloseError, Closer, Dropping, Finish, Observer, Policy, Threads};

use crate::fixture::{Ends, eager, watched};

/// Any error: "input/output error", or on Windows "access denied".
const EIO: i32 = 5;
/// The disk is full.
const ENOSPC: i32 = if cfg!(windows) { 112 } else { 28 };

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("bomb {}", 7);
    }
}

fn every_closer() -> Vec<Closer> {
    vec![
        Closer::builder().policy(Policy::Never).build(),
        Closer::builder().threads(Threads::Fixed(0)).policy(Policy::Always).build(),
        Closer::builder().max_pending(0).policy(Policy::Always).build(),
        Closer::builder().max_pending(1).policy(Policy::Always).build(),
        eager(1).build(),
        eager(4).build(),
        Closer::builder().threads(Threads::Auto { max: 4 }).policy(Policy::Always).build(),
        Closer::default(),
    ]
}

#[test]
fn every_failed_close_is_told_with_its_path() {
    for closer in every_closer() {
        let errors = closer
            .scope(|scope| {
                let group = scope.group("g");
                for number in 0..2000 {
                    // One in a hundred, the very last one included.
                    let code = (number % 100 == 99).then_some(EIO);
                    group.close(Ends(code), number.to_string());
                }
            })
            .unwrap_err();
        let told: BTreeSet<PathBuf> = errors.iter().map(|e| e.path().to_path_buf()).collect();
        let failed = (0..20).map(|n| PathBuf::from((n * 100 + 99).to_string())).collect();
        assert_eq!(told, failed, "{closer:?}");
        assert_eq!(errors.len(), 20);
        assert!(errors.iter().all(|e| e.io_error().raw_os_error() == Some(EIO) && e.is_close()));
        assert_eq!(closer.stats().failed, 20);
    }
}

#[test]
fn a_group_tells_each_time_and_the_scope_only_what_nobody_was_told() {
    for closer in every_closer() {
        let (waited, end) = closer.scope_with(|scope| {
            let (first, second) = (scope.group("first"), scope.group("second"));
            first.close(Ends(Some(ENOSPC)), "a");
            second.close(Ends(Some(EIO)), "b");
            let told = first.wait().unwrap_err();
            assert_eq!(first.wait().unwrap_err().len(), 1);
            told
        });
        assert_eq!(waited.first().path(), Path::new("a"));
        assert_eq!(waited.first().group(), "first");
        assert!(waited.first().is_storage_full());
        let end = end.unwrap_err();
        assert_eq!(end.len(), 1);
        assert_eq!(end.first().path(), Path::new("b"));
    }
}

#[test]
fn a_ticket_and_a_path_wait_tell_their_own() {
    for closer in every_closer() {
        closer
            .scope(|scope| {
                let group = scope.group("g");
                let bad = group.close_ticket(Ends(Some(EIO)), "d/bad");
                let good = group.close_ticket(Ends(None), "d/good");
                group.close(Ends(Some(EIO)), "other/bad");
                good.wait().unwrap();
                assert_eq!(bad.wait().unwrap_err().first().path(), Path::new("d/bad"));
                assert_eq!(scope.wait_under("d").unwrap_err().len(), 1);
                scope.wait_under("nowhere").unwrap();
                assert_eq!(scope.wait().unwrap_err().len(), 2);
            })
            .unwrap();
    }
}

#[test]
fn a_panic_in_a_close_is_an_error_of_that_handle() {
    for closer in every_closer() {
        let errors = watched(move || {
            closer
                .scope(|scope| {
                    let group = scope.group("g");
                    for _ in 0..20 {
                        group.close(Dropping(Bomb), "bomb");
                        group.close(Ends(None), "good");
                    }
                })
                .unwrap_err()
        });
        assert_eq!(errors.len(), 20);
        assert!(errors.iter().all(|e| e.is_panic() && e.is_close()));
        assert_eq!(errors.first().io_error().to_string(), "panicked: bomb 7");
    }
}

/// Panics with a value that panics once more when it is dropped.
struct DoubleBomb;

impl Finish for DoubleBomb {
    fn finish(self) -> io::Result<()> {
        std::panic::panic_any(Bomb)
    }
}

#[test]
fn a_panic_whose_value_panics_as_well_is_one_error_and_ends_no_worker() {
    for closer in every_closer() {
        let errors = watched(move || {
            closer
                .scope(|scope| {
                    let group = scope.group("g");
                    group.close(DoubleBomb, "f");
                    group.close_then(Ends(None), "then", |_| std::panic::panic_any(Bomb));
                    for _ in 0..20 {
                        group.close(Ends(None), "good");
                    }
                })
                .unwrap_err()
        });
        assert_eq!(errors.len(), 2);
        assert_eq!(errors.first().io_error().to_string(), "panicked: no message");
    }
}

#[test]
fn a_panic_in_a_continuation_is_an_error_of_that_handle() {
    for closer in every_closer() {
        let errors = closer
            .scope(|scope| {
                scope.group("g").close_then(Ends(None), "f", |_| panic!("then"));
            })
            .unwrap_err();
        assert_eq!(errors.len(), 1);
        assert!(errors.first().is_panic() && errors.first().is_continuation());
    }
}

#[test]
fn a_continuation_sees_the_answer_of_the_close() {
    for closer in every_closer() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let _two_errors = closer.scope(|scope| {
            let group = scope.group("g");
            for code in [None, Some(ENOSPC)] {
                let seen = Arc::clone(&seen);
                group.close_then(Ends(code), "f", move |closed| {
                    seen.lock().unwrap().push(closed.as_ref().err().map(io::Error::kind));
                    closed
                });
                let _told = group.wait();
            }
        });
        assert_eq!(*seen.lock().unwrap(), [None, Some(io::ErrorKind::StorageFull)]);
    }
}

#[test]
fn a_failed_close_is_told_once_if_handed_back_and_also_if_swallowed() {
    for closer in every_closer() {
        let (told, end) = closer.scope_with(|scope| {
            let (back, swallowed) = (scope.group("back"), scope.group("swallowed"));
            let (both, panicked) = (scope.group("both"), scope.group("panicked"));
            back.close_then(Ends(Some(EIO)), "f", |closed| closed);
            swallowed.close_then(Ends(Some(EIO)), "f", |_| Ok(()));
            both.close_then(Ends(Some(EIO)), "f", |_| Err(io::Error::other("undo")));
            panicked.close_then(Dropping(Bomb), "f", |closed| closed);
            [back, swallowed, both, panicked].map(|group| group.wait().unwrap_err().len())
        });
        assert_eq!(told, [1, 1, 2, 1]);
        end.unwrap();
    }
}

#[test]
fn a_loop_can_stop_at_the_first_error() {
    for closer in every_closer() {
        let (stopped, end) = closer.scope_with(|scope| {
            let (group, other) = (scope.group("g"), scope.group("other"));
            other.close(Ends(None), "f").fail_fast().unwrap();
            group.close(Ends(Some(EIO)), "f");
            scope.wait_under("nothing/here").unwrap();
            while group.close(Ends(None), "g").fail_fast().is_ok() {}
            other.close(Ends(None), "f").fail_fast()
        });
        stopped.unwrap();
        // Peeking told nobody.
        assert_eq!(end.unwrap_err().len(), 1);
    }
}

#[test]
fn the_observer_hears_of_errors_even_when_the_caller_panics() {
    #[derive(Default)]
    struct Hears(Mutex<Vec<CloseError>>);
    impl Observer for Hears {
        fn failed(&self, error: &CloseError) {
            self.0.lock().unwrap().push(error.clone());
            panic!("an observer that panics harms nobody");
        }
    }
    let hears = Arc::new(Hears::default());
    let closer = eager(1).observer(Arc::clone(&hears) as Arc<dyn Observer>).build();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _never = closer.scope(|scope| {
            scope.group("g").close(Ends(Some(EIO)), "f");
            panic!("caller");
        });
    }));
    assert!(panic.is_err());
    assert_eq!(hears.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).len(), 1);
}

#[test]
fn the_text_names_the_file_and_leaves_the_cause_to_source() {
    let errors = eager(1)
        .build()
        .scope(|scope| {
            let group = scope.group("g");
            group.close(Ends(Some(ENOSPC)), "dir/a");
            group.close(Ends(Some(ENOSPC)), "dir/a");
        })
        .unwrap_err();
    assert_eq!(errors.to_string(), "failed to close `dir/a` and 1 more");
    assert_eq!(errors.first().to_string(), "failed to close `dir/a`");
    let cause = errors.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(cause.raw_os_error(), Some(ENOSPC));
    assert_eq!(io::Error::from(errors).kind(), io::ErrorKind::StorageFull);
}
