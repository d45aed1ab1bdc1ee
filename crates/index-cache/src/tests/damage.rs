//! Every bit of a file flipped, every length cut, every page zeroed or swapped: an entry is read as
//! it was stored, as it was in an older snapshot, or not at all.

use super::disk::FakeDisk;
use super::{Model, PATH, Value, commit, open, read, read_all};
use crate::batch::Durability;
use crate::layout::PAGE_LEN;

const KEYS: [&str; 3] = ["a", "serde", "no such crate"];

fn state(generation: u32) -> Model {
    let negative = Value { token: format!("token {generation}").into_bytes(), body: None };
    let mut state: Model =
        KEYS[..2].iter().map(|key| ((*key).to_owned(), Value::new(key, generation, 60))).collect();
    state.insert(KEYS[2].to_owned(), negative);
    state
}

/// A small file with one snapshot for each of `generations`.
fn file(generations: &[u32]) -> Vec<u8> {
    let disk = FakeDisk::default();
    for generation in generations {
        commit(&open(&disk).unwrap(), &state(*generation), Durability::Fast).unwrap();
    }
    disk.bytes(PATH).unwrap()
}

/// Reads `key` from damaged bytes; anything that was never stored fails the test.
fn check(bytes: Vec<u8>, key: &str, what: &dyn Fn() -> String) -> bool {
    let disk = FakeDisk::with(PATH, bytes);
    let cache = open(&disk).unwrap();
    match read(&cache, key) {
        Ok(Some(value)) => {
            let stored = [1, 2].iter().any(|generation| state(*generation)[key] == value);
            assert!(stored, "{}: `{key}` reads {value:?}", what());
            state(2)[key] == value
        }
        Ok(None) => false,
        Err(error) => panic!("{}: {error:?}", what()),
    }
}

#[test]
fn no_flipped_bit_changes_an_answer() {
    let file = file(&[2]);
    let mut lost = 0;
    for bit in 0..file.len() * 8 {
        let mut bytes = file.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let key = KEYS[bit % KEYS.len()];
        lost += usize::from(!check(bytes, key, &|| format!("bit {bit}")));
    }
    // Each flip in branch and leaf page is noticed; in one of two equal headers it does no harm.
    assert!(lost >= 2 * PAGE_LEN * 8, "{lost}");
}

#[test]
fn no_flipped_bit_beside_an_older_snapshot_changes_an_answer() {
    let file = file(&[1, 2]);
    for bit in (0..file.len() * 8).step_by(11) {
        let mut bytes = file.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        check(bytes, KEYS[bit % KEYS.len()], &|| format!("bit {bit}"));
    }
}

#[test]
fn every_flipped_bit_of_a_record_is_noticed_by_its_own_entry() {
    let file = file(&[1, 2]);
    let value = &state(2)["serde"];
    let body = value.body.as_deref().unwrap();
    let at = file.windows(body.len()).position(|window| window == body).unwrap();
    for bit in at * 8..(at + body.len()) * 8 {
        let mut bytes = file.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let disk = FakeDisk::with(PATH, bytes);
        let cache = open(&disk).unwrap();
        assert_eq!(read(&cache, "serde").unwrap(), None, "bit {bit}");
        assert!(cache.stats().damaged_reads > 0);
        assert!(!cache.verify().unwrap().is_sound());
        assert_eq!(read(&cache, "a").unwrap().as_ref(), state(2).get("a"));
    }
}

#[test]
fn no_cut_length_changes_an_answer() {
    let file = file(&[1, 2]);
    for len in 0..file.len() {
        for key in KEYS {
            check(file[..len].to_vec(), key, &|| format!("length {len}"));
        }
    }
}

#[test]
fn zeroed_and_swapped_pages_are_noticed() {
    let file = file(&[1, 2]);
    let pages = file.len() / PAGE_LEN;
    for page in 0..pages {
        for other in 0..=pages {
            let mut bytes = file.clone();
            let (to, from) = (page * PAGE_LEN, other * PAGE_LEN);
            if other == pages {
                bytes[to..to + PAGE_LEN].fill(0);
            } else {
                bytes[to..to + PAGE_LEN].copy_from_slice(&file[from..from + PAGE_LEN]);
            }
            for key in KEYS {
                check(bytes.clone(), key, &|| format!("page {page} is page {other}"));
            }
        }
    }
}

#[test]
fn a_damaged_cache_heals_by_being_written() {
    let file = file(&[1, 2]);
    for at in (0..file.len()).step_by(97) {
        let mut bytes = file.clone();
        bytes[at] ^= 0xff;
        let disk = FakeDisk::with(PATH, bytes);
        commit(&open(&disk).unwrap(), &state(3), Durability::Durable).unwrap();
        let cache = open(&disk).unwrap();
        assert_eq!(read_all(&cache, KEYS.map(str::to_owned)).unwrap(), state(3), "byte {at}");
        let _ = cache.compact().unwrap();
        let cache = open(&disk).unwrap();
        assert_eq!(read_all(&cache, KEYS.map(str::to_owned)).unwrap(), state(3), "byte {at}");
        assert!(cache.verify().unwrap().is_sound(), "byte {at}");
    }
}

/// Checks are right and contents are wild: what somebody with write permission can do.
#[test]
fn hostile_lengths_lead_to_no_panic_and_no_allocation_beyond_the_file() {
    let file = file(&[1, 2]);
    let header = file.len() - PAGE_LEN;
    assert!(header > 0);
    for field in 0..48 {
        for value in [0x01, 0x7f, 0x80, 0xff] {
            let bytes = hostile(&file, field, value);
            let disk = FakeDisk::with(PATH, bytes);
            let cache = open(&disk).unwrap();
            if let Ok(Some(entry)) = cache.get("serde") {
                drop(entry.body());
                drop(entry.slices().map(Iterator::count));
                drop(entry.slice("second"));
                let _ = (entry.key().len(), entry.token().len());
            }
            drop(cache.verify());
            let _ = cache.snapshot().entries().count();
            drop(cache.compact());
        }
    }
}

/// Sets a byte of the newest record head of `serde` and makes all checks above it right again.
fn hostile(file: &[u8], field: usize, value: u8) -> Vec<u8> {
    use crate::header::{Header, Pointer, Slots, Verdict};
    use crate::pages::{self, Page};
    use crate::put::wide;
    use crate::record::Head;
    let Verdict::Current(header) = Slots::decode(file, wide(file.len())).verdict() else {
        panic!()
    };
    let mut bytes = file.to_vec();
    let page = |bytes: &[u8], pointer: Pointer| -> Page {
        let from = usize::try_from(pointer.offset).unwrap();
        bytes[from..from + PAGE_LEN].try_into().unwrap()
    };
    let branch = page(file, header.branches[0]);
    let leaf_pointer = pages::child(&branch, 0);
    let hash = crate::hash::hash(&header.hash_key, "serde");
    let leaf = page(file, leaf_pointer);
    let slots: Vec<_> = pages::slots(&leaf)
        .map(|mut slot| {
            if slot.hash == hash {
                let at = usize::try_from(slot.place.offset()).unwrap();
                let len = Head::decode(&file[at..]).unwrap().named_len();
                bytes[at + field] = value;
                slot.check = crate::check::check(&bytes[at..at + len]);
            }
            slot
        })
        .collect();
    let leaf = pages::encode_leaf(&slots);
    let from = usize::try_from(leaf_pointer.offset).unwrap();
    bytes[from..from + PAGE_LEN].copy_from_slice(&leaf);
    let pointer = Pointer { offset: leaf_pointer.offset, check: crate::check::check(&leaf) };
    let branch = pages::encode_branch(&[pointer]);
    let from = usize::try_from(header.branches[0].offset).unwrap();
    bytes[from..from + PAGE_LEN].copy_from_slice(&branch);
    let pointer =
        Pointer { offset: header.branches[0].offset, check: crate::check::check(&branch) };
    let header = Header { branches: vec![pointer], ..header };
    for slot in [0, PAGE_LEN] {
        bytes[slot..slot + PAGE_LEN].copy_from_slice(&header.encode());
    }
    bytes
}
