//! Files that somebody made to do harm: every check is right, and what the checked bytes say is
//! absurd. Nothing hangs, nothing overflows, nothing grows beyond the file.

use super::disk::FakeDisk;
use super::{Model, PATH, Value, commit, open, read};
use crate::batch::Durability;
use crate::compact::{Compacted, Reclaimed};
use crate::header::{Header, Pointer, branches_for};
use crate::layer::Status;
use crate::layout::{LEAVES_MAX, LOG_START, PAGE_LEN};
use crate::pages::{self, Page};
use crate::put::{Put, wide};
use crate::record::{self, Content, Encoded, Kind};
use crate::slot::{Place, Slot};

/// A file in the making, from its first byte.
pub(super) struct Forged {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
}

impl Forged {
    pub(super) fn new() -> Self {
        let header = Header::empty([1; 16], [2; 16], [0; 32]);
        Self { header, bytes: vec![0; usize::try_from(LOG_START).unwrap()] }
    }

    pub(super) fn slot(&self, key: &str, encoded: &Encoded) -> Slot {
        let hash = crate::hash::hash(&self.header.hash_key, key);
        Slot { hash, check: encoded.check, place: encoded.place(0) }
    }

    fn put(&mut self, key: &str, body: &[u8]) -> Slot {
        let encoded = record::append_put(&mut self.bytes, key, &Put::new().body(body));
        self.slot(key, &encoded)
    }

    /// A record whose content is said to be at `content.at`.
    pub(super) fn refer(&mut self, key: &str, content: Content) -> Slot {
        let encoded = record::append_touch(&mut self.bytes, Kind::Content, key, b"", content);
        self.slot(key, &encoded)
    }

    fn page(&mut self, page: &Page) -> Pointer {
        self.bytes.resize(self.bytes.len().next_multiple_of(PAGE_LEN), 0);
        let offset = wide(self.bytes.len());
        self.bytes.extend_from_slice(page);
        Pointer { offset, check: crate::check::check(page) }
    }

    /// One leaf with `slots`.
    pub(super) fn finish(mut self, slots: &[Slot]) -> FakeDisk {
        let leaf = self.page(&pages::encode_leaf(slots));
        let branch = self.page(&pages::encode_branch(&[leaf]));
        self.header.branches = vec![branch];
        self.disk()
    }

    fn disk(mut self) -> FakeDisk {
        self.bytes.resize(self.bytes.len().next_multiple_of(PAGE_LEN), 0);
        self.header.end = wide(self.bytes.len());
        let page = self.header.encode();
        self.bytes[..PAGE_LEN].copy_from_slice(&page);
        self.bytes[PAGE_LEN..2 * PAGE_LEN].copy_from_slice(&page);
        FakeDisk::with(PATH, self.bytes)
    }
}

fn walked(disk: &FakeDisk) -> usize {
    open(disk).unwrap().snapshot().entries().flatten().count()
}

/// Compacts, and stores and finds an entry before and after it.
fn compacted(disk: &FakeDisk) -> Reclaimed {
    let new = Model::from([("new".to_owned(), Value::new("new", 1, 100))]);
    commit(&open(disk).unwrap(), &new, Durability::Durable).unwrap();
    assert_eq!(read(&open(disk).unwrap(), "new").unwrap().as_ref(), new.get("new"));
    let Compacted::Done(reclaimed) = open(disk).unwrap().compact().unwrap() else { panic!() };
    assert_eq!(read(&open(disk).unwrap(), "new").unwrap().as_ref(), new.get("new"));
    assert!(open(disk).unwrap().verify().unwrap().is_sound());
    reclaimed
}

#[test]
fn a_page_that_stands_for_every_leaf_holds_its_entries_once() {
    let mut file = Forged::new();
    let slot = file.put("serde", &vec![7; 50_000]);
    let leaf = file.page(&pages::encode_leaf(&[slot]));
    let branch = file.page(&pages::encode_branch(&[leaf; 256]));
    file.header.leaves = LEAVES_MAX;
    file.header.branches = vec![branch; branches_for(LEAVES_MAX)];
    let disk = file.disk();
    assert_eq!(walked(&disk), 1);
    let verified = open(&disk).unwrap().verify().unwrap();
    assert_eq!((verified.entries, verified.faults.len()), (1, 1), "the page is named once");
    let reclaimed = compacted(&disk);
    assert_eq!(reclaimed.entries, 2);
    assert!(reclaimed.bytes_after < 100_000, "{reclaimed:?}");
}

#[test]
fn a_record_that_fills_a_leaf_is_one_entry() {
    let mut file = Forged::new();
    let slot = file.put("serde", &vec![7; 50_000]);
    let disk = file.finish(&[slot; pages::LEAF_MAX]);
    assert_eq!(walked(&disk), 1);
    let reclaimed = compacted(&disk);
    assert_eq!(reclaimed.entries, 2);
    assert_eq!(open(&disk).unwrap().stats().layers[0].leaves, 1, "the index did not explode");
}

/// More keys with one hash than a leaf can hold: possible only for somebody who knows the hash key
/// and made the file.
#[test]
fn a_leaf_that_cannot_take_another_slot_is_an_error_and_not_a_lost_write() {
    let mut file = Forged::new();
    let mut slots: Vec<Slot> = (0..254_u8).map(|body| file.put("serde", &[body])).collect();
    let hash = crate::hash::hash(&file.header.hash_key, "new");
    for slot in &mut slots {
        slot.hash = hash;
    }
    let disk = file.finish(&slots);
    let new = Model::from([("new".to_owned(), Value::new("new", 1, 100))]);
    assert!(commit(&open(&disk).unwrap(), &new, Durability::Fast).unwrap_err().is_too_large());
    assert!(matches!(open(&disk).unwrap().compact().unwrap(), Compacted::Done(_)));
    commit(&open(&disk).unwrap(), &new, Durability::Fast).unwrap();
    assert_eq!(read(&open(&disk).unwrap(), "new").unwrap().as_ref(), new.get("new"));
}

#[test]
fn one_key_in_many_records_is_one_entry_after_a_compaction() {
    let mut file = Forged::new();
    let slots: Vec<Slot> = (0..250_u8).map(|body| file.put("serde", &[body])).collect();
    let disk = file.finish(&slots);
    let reclaimed = compacted(&disk);
    assert_eq!(reclaimed.entries, 2);
    assert_eq!(open(&disk).unwrap().stats().layers[0].leaves, 1, "the index did not explode");
}

#[test]
fn records_that_share_a_content_do_not_multiply_it() {
    let mut file = Forged::new();
    let body = vec![7; 300_000];
    let at = wide(file.bytes.len());
    file.bytes.extend_from_slice(&body);
    let content = Content {
        body_len: 300_000,
        body_check: crate::check::check(&body),
        payload_len: 300_000,
        at,
        ..Content::default()
    };
    let slots: Vec<Slot> = (0..200).map(|key| file.refer(&format!("{key}"), content)).collect();
    let disk = file.finish(&slots);
    let len = disk.bytes(PATH).unwrap().len();
    assert!(walked(&disk) < 4);
    assert!(!open(&disk).unwrap().verify().unwrap().is_sound());
    assert!(compacted(&disk).bytes_after < 3 * wide(len));
}

#[test]
fn a_record_under_another_keys_hash_is_no_entry() {
    let mut file = Forged::new();
    let mut slot = file.put("serde", b"body");
    slot.hash ^= 1;
    let disk = file.finish(&[slot]);
    assert_eq!(walked(&disk), 0);
    assert_eq!(open(&disk).unwrap().verify().unwrap().faults.len(), 1);
    assert_eq!(compacted(&disk).entries, 1);
}

#[test]
fn a_key_that_is_no_text_is_no_entry() {
    let mut file = Forged::new();
    let at = file.bytes.len();
    let mut slot = file.put("serde", b"");
    file.bytes[at + 48] = 0xff;
    slot.check = crate::check::check(&file.bytes[at..at + 48 + 5]);
    let disk = file.finish(&[slot]);
    assert_eq!(walked(&disk), 0);
    assert_eq!(compacted(&disk).entries, 1);
}

/// A leaf whose slot names the leaf, and content that lies in the headers or in the index.
#[test]
fn records_and_contents_in_the_wrong_places_are_misses_or_bytes_that_are_there() {
    for from in [0, 8, LOG_START, LOG_START + PAGE_LEN as u64, u64::MAX - 7, 1 << 39] {
        let mut file = Forged::new();
        let hash = crate::hash::hash(&file.header.hash_key, "serde");
        let place = Place::new(from % (1 << 40), 64, 1 << 30, false);
        let content = Content { body_len: 4, payload_len: 4, at: from | 1, ..Content::default() };
        let other = file.refer("other", content);
        let disk = file.finish(&[Slot { hash, check: 7, place }, other]);
        let cache = open(&disk).unwrap();
        assert!(cache.get("serde").unwrap().is_none());
        assert!(cache.get("other").unwrap().unwrap().body().unwrap_err().is_corrupt());
        assert_eq!(compacted(&disk).entries, 1);
    }
}

#[test]
fn pointers_to_anywhere_are_misses_and_are_replaced() {
    let offsets = [1, 8, 4096, LOG_START, LOG_START + 1, u64::MAX, u64::MAX - 4095, 1 << 63];
    for offset in offsets {
        for is_branch in [true, false] {
            let mut file = Forged::new();
            let wild = Pointer { offset, check: 0 };
            let branch = file.page(&pages::encode_branch(&[wild]));
            file.header.branches = vec![if is_branch { wild } else { branch }];
            let disk = file.disk();
            let cache = open(&disk).unwrap();
            assert!(cache.get("serde").unwrap().is_none());
            assert!(!cache.verify().unwrap().is_sound());
            assert!(cache.prefetch(["serde"]).is_ok());
            assert_eq!(compacted(&disk).entries, 1);
        }
    }
}

#[test]
fn counters_at_their_limit_stay_there() {
    let mut file = Forged::new();
    (file.header.entries, file.header.live_bytes) = (u64::MAX, u64::MAX);
    let slot = file.put("serde", b"body");
    let disk = file.finish(&[slot]);
    assert!(!open(&disk).unwrap().stats().layers[0].wants_compaction());
    assert_eq!(compacted(&disk).entries, 2);
}

/// Space for one more commit, and none for its number: whoever made this wants the file to be one that
/// takes every commit and shows none.
#[test]
fn a_file_at_the_last_number_is_replaced_by_a_commit() {
    for below in [1, 2] {
        let mut file = Forged::new();
        file.header.seq = (1 << 62) - below;
        let slot = file.put("serde", b"body");
        let disk = file.finish(&[slot]);
        let cache = open(&disk).unwrap();
        for generation in 1..4 {
            let new = Value::new("new", generation, 100);
            commit(&cache, &Model::from([("new".into(), new.clone())]), Durability::Fast).unwrap();
            assert_eq!(read(&cache, "new").unwrap(), Some(new.clone()), "{below}");
            assert_eq!(read(&open(&disk).unwrap(), "new").unwrap(), Some(new), "{below}");
        }
        assert_eq!(compacted(&disk).entries, 1);
    }
}

/// A sparse file costs its maker nothing.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_ends_where_the_format_ends_takes_no_entry_and_says_so() {
    let mut file = Forged::new();
    file.header.end = crate::slot::OFFSET_END;
    let page = file.header.encode();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.ixc");
    std::fs::write(&path, [page, page].concat()).unwrap();
    let long = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    long.set_len(crate::slot::OFFSET_END).unwrap();
    let cache = crate::cache::IndexCache::open(&path, crate::options::Options::new()).unwrap();
    assert_eq!(cache.status(), Status::Ready);
    let new = Model::from([("new".to_owned(), Value::new("new", 1, 100))]);
    assert!(commit(&cache, &new, Durability::Fast).unwrap_err().is_too_large());
    let Compacted::Done(reclaimed) = cache.compact().unwrap() else { panic!() };
    assert_eq!(reclaimed.entries, 0);
    commit(&cache, &new, Durability::Fast).unwrap();
    assert_eq!(read(&cache, "new").unwrap().as_ref(), new.get("new"));
}

/// An older program beside one that upgraded the file in place.
#[test]
fn a_newer_header_beside_one_of_ours_keeps_the_file_from_being_used_or_written() {
    let disk = FakeDisk::default();
    let old = Model::from([("serde".to_owned(), Value::new("serde", 1, 100))]);
    commit(&open(&disk).unwrap(), &old, Durability::Durable).unwrap();
    let mut bytes = disk.bytes(PATH).unwrap();
    let page = &mut bytes[PAGE_LEN..2 * PAGE_LEN];
    crate::layout::MIN_READER.put(page, &2_u16.to_le_bytes());
    let check = crate::check::check(&page[..crate::layout::HEADER_CHECK.offset]);
    crate::layout::HEADER_CHECK.put(page, &check.to_le_bytes());
    let disk = FakeDisk::with(PATH, bytes.clone());
    let cache = open(&disk).unwrap();
    assert_eq!(
        (cache.status(), cache.get("serde").unwrap().is_some()),
        (Status::NewerFormat, false)
    );
    let mut batch = cache.batch();
    batch.put_negative("serde", b"").unwrap();
    let skipped = batch.commit(Durability::Fast).unwrap().skipped();
    assert_eq!(skipped, Some(crate::commit::WriteSkipped::NewerFormat));
    assert!(matches!(cache.compact().unwrap(), Compacted::Skipped(_)));
    assert_eq!(disk.bytes(PATH).unwrap(), bytes);
}
