//! Every call to the disk fails once, at every position, in every way that matters: the operation
//! reports it, the cache holds its state before or after, and goes on when the disk does.

use super::disk::FakeDisk;
use super::{Model, Value, commit, open, read_all};
use crate::batch::Durability;
use crate::error::Result;
use std::io::ErrorKind;

const KINDS: [ErrorKind; 3] = [ErrorKind::Other, ErrorKind::StorageFull, ErrorKind::Interrupted];

fn changes(generation: u32) -> Model {
    (0..5)
        .map(|key| format!("key {key}"))
        .map(|key| (key.clone(), Value::new(&key, generation, 500)))
        .collect()
}

fn all(disk: &FakeDisk) -> Model {
    read_all(&open(disk).unwrap(), (0..9).map(|key| format!("key {key}"))).unwrap()
}

/// Lets every call of `operation` fail on a disk that `prepare` made. Gives the number of failures
/// that were reported.
fn for_every_call(
    prepare: impl Fn() -> FakeDisk,
    operation: impl Fn(&FakeDisk) -> Result<()>,
    states: &[Model],
) -> usize {
    let calls = {
        let disk = prepare();
        let before = disk.calls();
        operation(&disk).unwrap();
        disk.calls() - before
    };
    let mut reported = 0;
    for call in 1..=calls {
        for (kind, for_good) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            let disk = prepare();
            disk.fail_at(call, kind, for_good);
            let outcome = operation(&disk);
            disk.heal();
            let found = all(&disk);
            assert!(states.contains(&found), "call {call} ({kind}): {found:?}");
            if let Err(error) = outcome {
                assert!(error.is_io() || error.is_corrupt(), "{error:?}");
                assert!(kind != ErrorKind::StorageFull || error.is_storage_full(), "{error:?}");
                reported += 1;
            } else {
                assert_eq!(Some(&found), states.last(), "call {call}: success was reported");
            }
            operation(&disk).unwrap();
            assert_eq!(Some(&all(&disk)), states.last());
            let leftovers = disk.names().into_iter().filter(|name| is_temporary(name)).count();
            assert_eq!(leftovers, 0, "call {call}: a temporary file stayed");
        }
    }
    reported
}

fn is_temporary(name: &std::path::Path) -> bool {
    name.to_string_lossy().contains(".tmp-")
}

fn prepared() -> FakeDisk {
    let disk = FakeDisk::default();
    for generation in 1..=2 {
        commit(&open(&disk).unwrap(), &changes(generation), Durability::Durable).unwrap();
    }
    disk
}

#[test]
fn a_first_commit_that_fails_anywhere_leaves_nothing_or_everything() {
    for durability in [Durability::Fast, Durability::Durable] {
        let operation = |disk: &FakeDisk| commit(&open(disk)?, &changes(1), durability);
        let states = [Model::new(), changes(1)];
        assert!(for_every_call(FakeDisk::default, operation, &states) > 20);
    }
}

#[test]
fn a_commit_that_fails_anywhere_leaves_the_state_before_or_after() {
    for durability in [Durability::Fast, Durability::Durable] {
        let operation = |disk: &FakeDisk| commit(&open(disk)?, &changes(3), durability);
        assert!(for_every_call(prepared, operation, &[changes(2), changes(3)]) > 20);
    }
}

#[test]
fn a_compaction_that_fails_anywhere_changes_no_entry() {
    let operation = |disk: &FakeDisk| open(disk)?.compact().map(drop);
    assert!(for_every_call(prepared, operation, &[changes(2)]) > 20);
}

#[test]
fn a_touch_that_fails_anywhere_leaves_the_token_before_or_after() {
    let mut touched = changes(2);
    touched.get_mut("key 1").unwrap().token = b"token touched".to_vec();
    let operation = |disk: &FakeDisk| {
        let cache = open(disk)?;
        let mut batch = cache.batch();
        batch.touch("key 1", b"token touched")?;
        batch.commit(Durability::Durable).map(drop)
    };
    assert!(for_every_call(prepared, operation, &[changes(2), touched]) > 10);
}

#[test]
fn a_read_that_fails_is_an_error_and_not_a_miss() {
    let disk = prepared();
    let mut errors = 0;
    for call in 1..20 {
        let cache = open(&disk).unwrap();
        disk.fail_at(call, ErrorKind::Other, false);
        let outcome = super::read(&cache, "key 1");
        disk.heal();
        match outcome {
            Err(error) => {
                assert!(error.is_io());
                errors += 1;
            }
            Ok(found) => assert_eq!(found.as_ref(), changes(2).get("key 1")),
        }
    }
    assert!(errors >= 3, "branch, leaf and record are read: {errors}");
}

#[test]
fn a_batch_that_could_not_be_written_can_be_committed_again() {
    let disk = prepared();
    let cache = open(&disk).unwrap();
    let mut batch = cache.batch();
    for (key, value) in &changes(3) {
        value.put(key, &mut batch);
    }
    batch.touch("key 9", b"nobody").unwrap();
    disk.fail_at(1, ErrorKind::StorageFull, true);
    assert!(batch.commit(Durability::Fast).unwrap_err().is_storage_full());
    disk.heal();
    assert_eq!(batch.len(), 6);
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    assert!(batch.is_empty());
    assert_eq!(all(&disk), changes(3));
}
