//! Which names are taken: a set of 62-bit hashes with two bits about each, in 10 to 16 bytes.
//!
//! The standard map takes 17 to 39 bytes for the same and half as much again while it grows. This one
//! is split into shards that grow one at a time and by half, so that there is no moment at which two
//! copies of everything exist. Collisions are probed one after the other; the hashes are keyed, so nobody
//! can make an archive whose names collide.

/// What an entry is, as far as its name matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A folder that exists because something is inside it.
    Parent,
    /// A folder with an entry of its own.
    Folder,
    /// A regular file.
    File,
    /// A link: nothing may be below it, and no hard link may point to it.
    Link,
}

const SHARDS: usize = 16;
const LEN_MIN: usize = 4;
/// The two bits that hold the node.
const NODE: u64 = 0b11;

#[derive(Debug, Default)]
pub(crate) struct Slots {
    shards: [Shard; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    /// Zero is vacant.
    slots: Vec<u64>,
    taken: usize,
}

impl Slots {
    /// Forgets everything; keeps the memory unless most of it was idle.
    pub(crate) fn clear(&mut self) {
        self.shards.iter_mut().for_each(Shard::clear);
    }

    pub(crate) fn get(&self, hash: u64) -> Option<Node> {
        let key = key(hash);
        let shard = &self.shards[shard_of(key)];
        if shard.slots.is_empty() {
            return None;
        }
        node(shard.slots[shard.find(key)])
    }

    /// Takes a name as `new` unless it is taken; returns what it was before.
    pub(crate) fn insert(&mut self, hash: u64, new: Node) -> Option<Node> {
        let key = key(hash);
        let shard = &mut self.shards[shard_of(key)];
        shard.reserve_one();
        let at = shard.find(key);
        let old = node(shard.slots[at]);
        if old.is_none() {
            shard.slots[at] = key | new as u64;
            shard.taken += 1;
        }
        old
    }

    /// Changes what a taken name is.
    pub(crate) fn change(&mut self, hash: u64, new: Node) {
        let key = key(hash);
        let shard = &mut self.shards[shard_of(key)];
        let at = shard.find(key);
        shard.slots[at] = key | new as u64;
    }
}

impl Shard {
    fn clear(&mut self) {
        if self.slots.len() / 16 > self.taken.max(LEN_MIN) {
            self.slots = Vec::new();
        }
        self.slots.fill(0);
        self.taken = 0;
    }

    /// The slot of a key, or the vacant one where it belongs. There always is a vacant one.
    fn find(&self, key: u64) -> usize {
        let mut at = self.home(key);
        while self.slots[at] != 0 && self.slots[at] & !NODE != key {
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        at
    }

    /// Where the search for a key starts: the middle bits of the hash, scaled to the length.
    fn home(&self, key: u64) -> usize {
        let middle = key >> 28 & u64::from(u32::MAX);
        let scaled = (middle * self.slots.len() as u64) >> 32;
        usize::try_from(scaled).unwrap_or(0)
    }

    /// Grows by half when four fifths are taken.
    fn reserve_one(&mut self) {
        let len = self.slots.len();
        if (self.taken + 1) * 5 <= len * 4 {
            return;
        }
        let grown = vec![0; (len + len / 2).max(LEN_MIN)];
        let old = std::mem::replace(&mut self.slots, grown);
        for slot in old.into_iter().filter(|&slot| slot != 0) {
            let at = self.find(slot & !NODE);
            self.slots[at] = slot;
        }
    }
}

/// The hash without the two bits of the node; never that of a vacant slot.
fn key(hash: u64) -> u64 {
    (hash & !NODE).max(NODE + 1)
}

fn shard_of(key: u64) -> usize {
    usize::try_from(key >> 60).unwrap_or(0)
}

fn node(slot: u64) -> Option<Node> {
    let nodes = [Node::Parent, Node::Folder, Node::File, Node::Link];
    (slot != 0).then(|| nodes[usize::try_from(slot & NODE).unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::hash::{BuildHasher as _, RandomState};

    use super::*;

    fn len(slots: &Slots) -> usize {
        slots.shards.iter().map(|shard| shard.taken).sum()
    }

    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut slots, mut map) = (Slots::default(), HashMap::new());
        let random = RandomState::new();
        let nodes = [Node::Parent, Node::Folder, Node::File, Node::Link];
        for round in 0..2 {
            for (number, node) in (0..20_000_u64).zip(nodes.into_iter().cycle()) {
                let hash = random.hash_one((round, number % 15_000));
                let old = map.get(&hash).copied();
                assert_eq!(slots.insert(hash, node), old);
                if old.is_none() {
                    map.insert(hash, node);
                } else if number % 3 == 0 {
                    slots.change(hash, node);
                    map.insert(hash, node);
                }
            }
            assert_eq!(len(&slots), map.len());
            assert!(map.iter().all(|(&hash, &node)| slots.get(hash) == Some(node)));
            assert_eq!(slots.get(random.hash_one("absent")), None);
            slots.clear();
            map.clear();
            assert_eq!(slots.get(random.hash_one((round, 1_u64))), None);
        }
    }

    #[test]
    fn hashes_without_entropy_are_still_told_apart() {
        let mut slots = Slots::default();
        for hash in (0..64).map(|bit| 1 << bit).chain([u64::MAX]) {
            slots.insert(hash, Node::File);
        }
        // The two lowest bits are not compared, and what is left of them is one key.
        assert_eq!(len(&slots), 63);
        assert_eq!(slots.insert(0, Node::Parent), Some(Node::File));
    }

    #[test]
    fn memory_that_was_idle_is_given_back() {
        let mut slots = Slots::default();
        let random = RandomState::new();
        for number in 0..100_000 {
            slots.insert(random.hash_one(number), Node::File);
        }
        let held = |slots: &Slots| slots.shards.iter().map(|s| s.slots.len()).sum::<usize>();
        assert!((100_000..200_000).contains(&held(&slots)));
        slots.clear();
        assert!(held(&slots) > 100_000, "it was in use");
        slots.clear();
        assert_eq!(held(&slots), 0);
    }
}
