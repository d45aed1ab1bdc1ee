//! Random operations against a plain map: batches, other handles, reopening, compaction, snapshots
//! that must not change.

use super::disk::FakeDisk;
use super::{Model, Value, open, read, read_all};
use crate::batch::Durability;
use crate::cache::IndexCache;
use crate::snapshot::Snapshot;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// Operations of one batch, then commit through handle 0 or 1.
    Batch {
        handle: usize,
        durable: bool,
        ops: Vec<(u8, BatchOp)>,
    },
    Reopen {
        handle: usize,
    },
    Refresh {
        handle: usize,
    },
    Compact {
        handle: usize,
    },
    /// Holds the handle's snapshot from here on.
    Hold {
        handle: usize,
    },
}

#[derive(Clone, Debug)]
enum BatchOp {
    Put { generation: u32, len: usize },
    Negative { generation: u32 },
    Touch { generation: u32 },
    Remove,
}

fn batch_op() -> impl Strategy<Value = BatchOp> {
    prop_oneof![
        4 => (0_u32..1000, prop_oneof![0_usize..50, 16_000_usize..17_000])
            .prop_map(|(generation, len)| BatchOp::Put { generation, len }),
        1 => (0_u32..1000).prop_map(|generation| BatchOp::Negative { generation }),
        2 => (0_u32..1000).prop_map(|generation| BatchOp::Touch { generation }),
        2 => Just(BatchOp::Remove),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let ops = prop::collection::vec((0_u8..12, batch_op()), 0..6);
    prop_oneof![
        5 => (0_usize..2, any::<bool>(), ops)
            .prop_map(|(handle, durable, ops)| Step::Batch { handle, durable, ops }),
        1 => (0_usize..2).prop_map(|handle| Step::Reopen { handle }),
        2 => (0_usize..2).prop_map(|handle| Step::Refresh { handle }),
        1 => (0_usize..2).prop_map(|handle| Step::Compact { handle }),
        1 => (0_usize..2).prop_map(|handle| Step::Hold { handle }),
    ]
}

fn key(number: u8) -> String {
    format!("key {number}")
}

fn keys() -> impl Iterator<Item = String> {
    (0..12).map(key)
}

/// A handle with what it must show: its snapshot is from its last commit, refresh or opening.
struct Handle {
    cache: IndexCache,
    shows: Model,
}

/// The caches under test and what they should hold.
struct World {
    disk: FakeDisk,
    stored: Model,
    handles: Vec<Handle>,
    held: Vec<(Snapshot, Model)>,
}

impl World {
    fn new() -> Self {
        let disk = FakeDisk::default();
        let handle = || Handle { cache: open(&disk).unwrap(), shows: Model::new() };
        let handles = vec![handle(), handle()];
        Self { disk, stored: Model::new(), handles, held: Vec::new() }
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Batch { handle, durable, ops } => self.batch(handle, durable, &ops),
            Step::Reopen { handle } => {
                let cache = open(&self.disk).unwrap();
                self.handles[handle] = Handle { cache, shows: self.stored.clone() };
            }
            Step::Refresh { handle } => {
                let handle = &mut self.handles[handle];
                let _ = handle.cache.refresh().unwrap();
                handle.shows = self.stored.clone();
            }
            Step::Compact { handle } => {
                let handle = &mut self.handles[handle];
                let _ = handle.cache.compact().unwrap();
                handle.shows = self.stored.clone();
            }
            Step::Hold { handle } => {
                let handle = &self.handles[handle];
                self.held.push((handle.cache.snapshot(), handle.shows.clone()));
            }
        }
    }

    fn batch(&mut self, handle: usize, durable: bool, ops: &[(u8, BatchOp)]) {
        let handle = &mut self.handles[handle];
        let mut batch = handle.cache.batch();
        for (number, op) in ops {
            let key = key(*number);
            match op {
                BatchOp::Put { generation, len } => {
                    let value = Value::new(&key, *generation, *len);
                    value.put(&key, &mut batch);
                    self.stored.insert(key, value);
                }
                BatchOp::Negative { generation } => {
                    let token = format!("token {generation}").into_bytes();
                    let value = Value { token, body: None };
                    value.put(&key, &mut batch);
                    self.stored.insert(key, value);
                }
                BatchOp::Touch { generation } => {
                    let token = format!("token {generation}").into_bytes();
                    batch.touch(&key, &token).unwrap();
                    self.stored.entry(key).and_modify(|value| value.token = token);
                }
                BatchOp::Remove => {
                    batch.remove(&key).unwrap();
                    self.stored.remove(&key);
                }
            }
        }
        let durability = if durable { Durability::Durable } else { Durability::Fast };
        assert_eq!(batch.commit(durability).unwrap().skipped(), None);
        handle.shows = self.stored.clone();
    }

    fn check(&self) {
        for handle in &self.handles {
            assert_eq!(read_all(&handle.cache, keys()).unwrap(), handle.shows);
            let snapshot = handle.cache.snapshot();
            let walked = snapshot.entries().map(|entry| entry.unwrap().key().to_owned());
            let walked: std::collections::BTreeSet<_> = walked.collect();
            assert!(walked.iter().eq(handle.shows.keys()));
        }
        for (snapshot, shows) in &self.held {
            for key in keys() {
                let entry = snapshot.get(&key).unwrap();
                assert_eq!(
                    entry.map(|e| e.token().to_vec()),
                    shows.get(&key).map(|v| v.token.clone())
                );
            }
        }
        assert!(self.handles[0].cache.verify().unwrap().is_sound());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn the_cache_behaves_like_a_map(steps in prop::collection::vec(step(), 1..24)) {
        let mut world = World::new();
        for step in steps {
            world.run(step);
            world.check();
        }
    }
}

#[test]
fn a_touched_entry_keeps_its_content_through_a_compaction() {
    let mut world = World::new();
    let put = BatchOp::Put { generation: 1, len: 20_000 };
    world.run(Step::Batch { handle: 0, durable: false, ops: vec![(1, put)] });
    world.run(Step::Batch {
        handle: 0,
        durable: false,
        ops: vec![(1, BatchOp::Touch { generation: 2 })],
    });
    world.run(Step::Compact { handle: 0 });
    world.check();
    let value = read(&world.handles[0].cache, &key(1)).unwrap().unwrap();
    assert_eq!((value.token.as_slice(), value.body.unwrap().len()), (&b"token 2"[..], 20_000));
}

/// Two keys with one hash, under the file's own hash key.
fn colliding(disk: &FakeDisk) -> [String; 2] {
    use crate::header::{Slots, Verdict};
    let bytes = disk.bytes(super::PATH).unwrap();
    let slots = Slots::decode(&bytes, crate::put::wide(bytes.len()));
    let Verdict::Current(header) = slots.verdict() else { panic!("there is a snapshot") };
    let mut seen = std::collections::HashMap::new();
    for number in 0_u32.. {
        let key = format!("crate-{number}");
        if let Some(other) = seen.insert(crate::hash::hash(&header.hash_key, &key), key.clone()) {
            return [other, key];
        }
    }
    unreachable!("some pair of a hundred thousand collides")
}

#[test]
fn keys_with_equal_hashes_live_side_by_side() {
    for one_batch in [true, false] {
        let disk = FakeDisk::default();
        let cache = open(&disk).unwrap();
        super::commit(&cache, &Model::from([(key(1), Value::new("x", 1, 9))]), Durability::Fast)
            .unwrap();
        let keys = colliding(&disk);
        let values: Model =
            keys.clone().map(|key| (key.clone(), Value::new(&key, 1, 40))).into_iter().collect();
        if one_batch {
            super::commit(&cache, &values, Durability::Fast).unwrap();
        } else {
            for (key, value) in values.clone() {
                super::commit(&cache, &Model::from([(key, value)]), Durability::Fast).unwrap();
            }
        }
        assert_eq!(read_all(&cache, keys.clone()).unwrap(), values);
        let mut batch = cache.batch();
        batch.remove(&keys[0]).unwrap();
        let _ = batch.commit(Durability::Fast).unwrap();
        assert_eq!(read(&cache, &keys[0]).unwrap(), None);
        assert_eq!(read(&cache, &keys[1]).unwrap().as_ref(), values.get(&keys[1]));
    }
}
