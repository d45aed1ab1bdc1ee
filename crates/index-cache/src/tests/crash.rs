//! The power is cut behind every single operation, and the medium keeps what it likes of everything
//! that was not synced: nothing, all, one write without the others, half a write, any sectors.

use super::disk::{FakeDisk, Fate};
use super::{Model, Value, commit, open, read_all};
use crate::batch::Durability;
use std::collections::BTreeSet;

/// A header is one page; what is longer is a segment.
const PAGE_SECTORS: usize = 8;

/// One commit of a history.
struct Step {
    durability: Durability,
    /// The state behind it.
    state: Model,
    /// Operations on the disk when it had returned.
    ops: usize,
}

/// Runs commits of `durability` over overlapping sets of keys, with a compaction in the middle.
fn history(durability: impl Fn(u32) -> Durability) -> (FakeDisk, Vec<Step>) {
    let disk = FakeDisk::default();
    let mut state = Model::new();
    let first = Step { durability: Durability::Durable, state: state.clone(), ops: 0 };
    let mut steps = vec![first];
    for generation in 0..7 {
        let cache = open(&disk).unwrap();
        let durability = durability(generation);
        if generation == 4 {
            let _ = cache.compact().unwrap();
            let (durability, ops) = (Durability::Durable, disk.ops());
            steps.push(Step { durability, state: state.clone(), ops });
        }
        let changes: Model = (0..8)
            .filter(|key| (key + generation) % 3 != 0)
            .map(|key| format!("key {key}"))
            .map(|key| (key.clone(), Value::new(&key, generation, 300 * generation as usize + 40)))
            .collect();
        commit(&cache, &changes, durability).unwrap();
        state.extend(changes);
        steps.push(Step { durability, state: state.clone(), ops: disk.ops() });
    }
    (disk, steps)
}

fn keys() -> impl Iterator<Item = String> {
    (0..9).map(|key| format!("key {key}"))
}

/// Ways in which a medium can fail to be orderly, as functions of an unsynced operation.
fn fates() -> Vec<Box<dyn Fn(Fate) -> bool>> {
    let mut fates: Vec<Box<dyn Fn(Fate) -> bool>> = vec![Box::new(|_| false), Box::new(|_| true)];
    for which in 0..6 {
        // Reordered: one write without those before it, or all but one.
        fates.push(Box::new(move |fate| fate.write.is_none_or(|write| write == which)));
        fates.push(Box::new(move |fate| fate.write != Some(which)));
        // Torn: the last write stops half way, or only its end arrives.
        fates.push(Box::new(move |fate| {
            fate.write.is_none_or(|w| w + 1 < fate.writes || fate.sector * 6 < fate.sectors * which)
        }));
        fates.push(Box::new(move |fate| {
            fate.write
                .is_none_or(|w| w + 1 < fate.writes || fate.sector * 6 >= fate.sectors * which)
        }));
    }
    for which in 0..12 {
        // One lost sector in the middle of a commit whose header arrived.
        fates.push(Box::new(move |fate| fate.sectors <= PAGE_SECTORS || fate.sector != which));
    }
    for seed in 1..24_usize {
        fates.push(Box::new(move |fate| {
            let mixed = fate.write.unwrap_or(77) * 31 + fate.sector * 7 + seed * 13;
            (mixed * mixed / 5) % 4 != seed % 4
        }));
    }
    fates
}

/// Calls `check` for every image of every power cut, with the steps that had returned before it and
/// the one that was under way.
fn for_every_crash(
    disk: &FakeDisk,
    steps: &[Step],
    mut check: impl FnMut(&FakeDisk, &[Step], &[Step]),
) {
    let fates = fates();
    for ops in 0..=disk.ops() {
        let returned = steps.iter().filter(|step| step.ops <= ops).count();
        let last_durable = steps[..returned]
            .iter()
            .rposition(|step| step.durability == Durability::Durable)
            .unwrap_or(0);
        let under_way = &steps[last_durable..steps.len().min(returned + 1)];
        for keep in &fates {
            check(&disk.after_power_cut(ops, &**keep), &steps[last_durable..returned], under_way);
        }
    }
}

#[test]
fn a_durable_batch_is_there_or_not_whatever_a_power_cut_leaves() {
    let (disk, steps) = history(|_| Durability::Durable);
    let mut seen = BTreeSet::new();
    for_every_crash(&disk, &steps, |image, returned, possible| {
        let found = read_all(&open(image).unwrap(), keys()).unwrap();
        let which = possible.iter().position(|step| step.state == found);
        assert!(which.is_some(), "a state that was never committed: {found:?}");
        assert!(returned.len() == 1, "each step is durable");
        seen.insert(which);
    });
    assert_eq!(seen.len(), 2, "both outcomes were met: the batch before and the batch after");
}

#[test]
fn after_a_power_cut_an_unsynced_key_is_old_new_or_missing_and_others_are_untouched() {
    let (disk, steps) = history(|n| if n == 2 { Durability::Durable } else { Durability::Fast });
    let mut missing = 0;
    for_every_crash(&disk, &steps, |image, _, possible| {
        missing += check_unsynced(image, possible);
    });
    assert!(missing > 0, "some image lost something, or nothing was tested");
}

/// Gives the number of keys that are missing although every possible state has them.
fn check_unsynced(image: &FakeDisk, possible: &[Step]) -> usize {
    let found = read_all(&open(image).unwrap(), keys()).unwrap();
    let mut missing = 0;
    for key in keys() {
        let values: Vec<_> = possible.iter().map(|step| step.state.get(&key)).collect();
        let is_untouched = values.iter().all(|value| *value == values[0]);
        let value = found.get(&key);
        let is_known = values.contains(&value);
        assert!(is_known || (value.is_none() && !is_untouched), "`{key}`: {value:?} of {values:?}");
        missing += usize::from(!is_known);
    }
    missing
}

#[test]
fn after_any_power_cut_the_cache_can_be_written_again() {
    let (disk, steps) =
        history(|n| if n % 3 == 2 { Durability::Durable } else { Durability::Fast });
    for durability in [Durability::Fast, Durability::Durable] {
        for_every_crash(&disk, &steps, |image, _, possible| {
            let before = read_all(&open(image).unwrap(), keys()).unwrap();
            let new: Model = [("key 3", 90), ("new", 91)]
                .map(|(key, generation)| (key.to_owned(), Value::new(key, generation, 700)))
                .into();
            commit(&open(image).unwrap(), &new, durability).unwrap();
            let after = read_all(&open(image).unwrap(), keys().chain(["new".into()])).unwrap();
            assert_eq!(after.get("new"), new.get("new"));
            assert_eq!(after.get("key 3"), new.get("key 3"));
            for key in keys().filter(|key| key != "key 3") {
                let is_kept = after.get(&key) == before.get(&key);
                let is_touched =
                    possible.iter().any(|s| s.state.get(&key) != possible[0].state.get(&key));
                // A durable commit ends the life of the older snapshot: an unsynced key whose
                // newer record was lost may go with it, never one that nobody touched.
                assert!(is_kept || (is_touched && !after.contains_key(&key)), "`{key}`");
            }
        });
    }
}

/// An index of many leaves: the commit after the power cut touches one of them, and the others must
/// not go down with the damaged page above or beside them.
#[test]
fn a_commit_after_a_power_cut_takes_nothing_with_it_that_nobody_touched() {
    let disk = FakeDisk::default();
    let all: Vec<String> = (0..700).map(|key| format!("key {key}")).collect();
    let of = |keys: &[String], generation| -> Model {
        keys.iter().map(|key| (key.clone(), Value::new(key, generation, 20))).collect()
    };
    commit(&open(&disk).unwrap(), &of(&all, 1), Durability::Durable).unwrap();
    let (touched, untouched) = all.split_at(30);
    commit(&open(&disk).unwrap(), &of(touched, 2), Durability::Fast).unwrap();
    let pages = open(&disk).unwrap().stats().layers[0].leaves as usize + 1;
    assert!(pages > 4, "leaves and a branch");
    for durability in [Durability::Fast, Durability::Durable] {
        for page in 1..=pages {
            // The last pages of the segment: leaves, then the branch.
            let keep = move |fate: Fate| {
                fate.sectors <= PAGE_SECTORS || fate.sector + page * PAGE_SECTORS != fate.sectors
            };
            let image = disk.after_power_cut(disk.ops(), &keep);
            for round in 3..5 {
                let new = of(&[format!("new {round}")], round);
                commit(&open(&image).unwrap(), &new, durability).unwrap();
                let found = read_all(&open(&image).unwrap(), untouched.iter().cloned()).unwrap();
                assert_eq!(found.len(), untouched.len(), "page {page} from the end was lost");
                assert!(found == of(untouched, 1));
            }
        }
    }
}

#[test]
fn a_durable_first_commit_is_there_when_it_has_returned() {
    let disk = FakeDisk::default();
    let changes = Model::from([("a".to_owned(), Value::new("a", 1, 100))]);
    commit(&open(&disk).unwrap(), &changes, Durability::Durable).unwrap();
    let image = disk.after_power_cut(disk.ops(), &|_| false);
    assert_eq!(read_all(&open(&image).unwrap(), ["a".to_owned()]).unwrap(), changes);
}
