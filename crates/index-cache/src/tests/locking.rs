//! Where there are no locks, nothing is written, and the reason is said.

use super::disk::{FakeDisk, Locking};
use super::{Model, PATH, Value, commit, open, read_all};
use crate::batch::Durability;
use crate::cache::IndexCache;
use crate::commit::WriteSkipped;
use crate::compact::Compacted;
use crate::options::Options;
use std::path::Path;
use std::sync::Arc;

fn state(generation: u32) -> Model {
    Model::from([("serde".to_owned(), Value::new("serde", generation, 100))])
}

/// A disk with a file that was written while locks worked.
fn disk(locking: Locking) -> FakeDisk {
    let disk = FakeDisk::default();
    commit(&open(&disk).unwrap(), &state(1), Durability::Durable).unwrap();
    disk.set_locking(locking);
    disk
}

#[test]
fn without_locks_writes_are_skipped_with_a_reason_and_reads_go_on() {
    for locking in [Locking::Unsupported, Locking::Remote] {
        let disk = disk(locking);
        let (before, ops) = (disk.bytes(PATH), disk.ops());
        let cache = open(&disk).unwrap();
        for durability in [Durability::Fast, Durability::Durable] {
            let mut batch = cache.batch();
            state(2)["serde"].put("serde", &mut batch);
            let skipped = batch.commit(durability).unwrap().skipped();
            assert_eq!(skipped, Some(WriteSkipped::NoLocking));
            assert_eq!(skipped.unwrap().to_string(), "writes skipped: no file locking here");
            assert!(batch.is_empty());
        }
        assert_eq!(cache.compact().unwrap(), Compacted::Skipped(WriteSkipped::NoLocking));
        assert_eq!(read_all(&cache, ["serde".to_owned()]).unwrap(), state(1));
        assert_eq!((disk.bytes(PATH), disk.ops()), (before, ops), "nothing was written");
    }
}

#[test]
fn without_locks_not_even_a_first_file_is_made() {
    let disk = FakeDisk::default();
    disk.set_locking(Locking::Unsupported);
    let cache = open(&disk).unwrap();
    let mut batch = cache.batch();
    state(1)["serde"].put("serde", &mut batch);
    let skipped = batch.commit(Durability::Fast).unwrap().skipped();
    assert_eq!((skipped, disk.names()), (Some(WriteSkipped::NoLocking), Vec::new()));
}

#[test]
fn a_caller_may_trust_the_locks_of_a_network_but_not_absent_ones() {
    for (locking, skipped) in
        [(Locking::Remote, None), (Locking::Unsupported, Some(WriteSkipped::NoLocking))]
    {
        let disk = disk(locking);
        let options = Options::new().trust_network_locks(true);
        let cache = IndexCache::on(Arc::new(disk.clone()), Path::new(PATH), options).unwrap();
        let mut batch = cache.batch();
        state(2)["serde"].put("serde", &mut batch);
        assert_eq!(batch.commit(Durability::Fast).unwrap().skipped(), skipped);
        let stored = if skipped.is_none() { state(2) } else { state(1) };
        assert_eq!(read_all(&cache, ["serde".to_owned()]).unwrap(), stored);
    }
}
