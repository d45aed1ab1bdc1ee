//! What a slot says about lengths is a hint: with any other numbers there the answers are the same.
//! What it says about the place is believed only as far as the check reaches.

use super::disk::FakeDisk;
use super::hostile::Forged;
use super::{PATH, Value, open, put, read};
use crate::batch::Durability;
use crate::cache::IndexCache;
use crate::compact::Compacted;
use crate::error::Result;
use crate::layout::LOG_START;
use crate::options::{Options, ReadMode};
use crate::prefetch::Extent;
use crate::put::wide;
use crate::record::{self, Content, Kind};
use crate::slot::Slot;

const KEYS: [&str; 4] = ["first", "touched", "long", "last"];
/// Bits of a slot's place that are hints: front, elsewhere, span.
const HINTS: [u64; 8] = [
    0,
    0x7fff << 40,
    0xff << 56,
    1 << 55,
    (1 << 40) | (1 << 56),
    (0x7fff << 40) | (1 << 55),
    (0x7fff << 40) | (0xff << 56),
    u64::MAX << 40,
];

fn value(key: &str) -> Value {
    Value::new(key, 1, if key == "long" { 90_000 } else { 60 })
}

/// The slot with other numbers in its place.
fn changed(slot: Slot, change: impl Fn(u64) -> u64) -> Slot {
    let mut bytes = [0; 16];
    slot.encode(&mut bytes);
    let place = change(u64::from_le_bytes(bytes[8..].try_into().unwrap()));
    bytes[8..].copy_from_slice(&place.to_le_bytes());
    Slot::decode(&bytes).unwrap()
}

fn hinted(slot: Slot, hint: u64) -> Slot {
    changed(slot, |place| (place & ((1 << 40) - 1)) | hint)
}

/// One entry for each of `KEYS`; the content of `touched` lies elsewhere.
fn forged() -> (Forged, Vec<Slot>) {
    let mut file = Forged::new();
    let slots = KEYS.map(|key| {
        let Value { token, body } = value(key);
        let encoded =
            record::append_put(&mut file.bytes, key, &put(&token, body.as_deref().unwrap()));
        if key != "touched" {
            return file.slot(key, &encoded);
        }
        let head = record::Head::decode(&file.bytes[encoded.at..]).unwrap();
        let content = Content { at: head.content_at(wide(encoded.at)), ..head.content() };
        let encoded = record::append_touch(&mut file.bytes, Kind::Content, key, &token, content);
        file.slot(key, &encoded)
    });
    (file, slots.to_vec())
}

fn all_is_there(cache: &IndexCache) {
    for key in KEYS {
        assert_eq!(read(cache, key).unwrap(), Some(value(key)), "{key}");
        assert!(cache.snapshot().contains(key).unwrap());
    }
    for extent in [Extent::Front, Extent::Whole] {
        assert_eq!(cache.snapshot().prefetch(KEYS, extent).unwrap().found, 4);
    }
    let mut keys = ["none", "last", "long", "touched", "first"];
    cache.snapshot().sort_as_stored(&mut keys).unwrap();
    assert_eq!(keys[4], "none");
}

#[test]
fn any_hint_in_a_slot_leads_to_the_same_entries() {
    for hint in HINTS {
        let (file, slots) = forged();
        let slots: Vec<_> = slots.into_iter().map(|slot| hinted(slot, hint)).collect();
        let disk = file.finish(&slots);
        all_is_there(&open(&disk).unwrap());
        let cache = open(&disk).unwrap();
        let mut batch = cache.batch();
        for key in KEYS {
            batch.touch(key, b"token 1").unwrap();
        }
        assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
        all_is_there(&open(&disk).unwrap());
    }
}

#[test]
fn any_hint_leads_to_the_same_entries_through_a_map() {
    let folder = tempfile::tempdir().unwrap();
    for (number, hint) in HINTS.into_iter().enumerate() {
        let (file, slots) = forged();
        let slots: Vec<_> = slots.into_iter().map(|slot| hinted(slot, hint)).collect();
        let path = folder.path().join(format!("{number}.ixc"));
        std::fs::write(&path, file.finish(&slots).bytes(PATH).unwrap()).unwrap();
        for mode in [ReadMode::Pread, ReadMode::Auto, ReadMode::Mapped] {
            all_is_there(&mapped(&path, mode).unwrap());
        }
    }
}

#[expect(unsafe_code, reason = "the contract of a map: nobody else writes to this file")]
fn mapped(path: &std::path::Path, mode: ReadMode) -> Result<IndexCache> {
    // SAFETY: the folder is this test's own.
    IndexCache::open(path, unsafe { Options::new().mapped(mode) })
}

#[test]
fn a_slot_that_names_another_record_or_no_record_is_a_miss() {
    let (file, slots) = forged();
    let end = wide(file.finish(&slots).bytes(PATH).unwrap().len());
    let offsets = [0, 8, LOG_START, end - 56, end - 48, end - 8, end, end + 8, (1 << 43) - 8];
    let others = slots[1..].iter().map(|slot| slot.place.offset());
    for offset in others.chain(offsets) {
        for hint in HINTS.into_iter().filter(|hint| offset | hint != 0) {
            let (file, mut slots) = forged();
            slots[0] = changed(slots[0], |_| (offset / 8) | hint);
            let cache = open(&file.finish(&slots)).unwrap();
            assert_eq!(read(&cache, "first").unwrap(), None, "{offset} {hint:x}");
            assert_eq!(read(&cache, "last").unwrap(), Some(value("last")));
            drop((cache.verify().unwrap(), cache.snapshot().entries().count()));
        }
    }
    // The other record's check does not help: it has another key.
    let (file, mut slots) = forged();
    slots[0] = Slot { hash: slots[0].hash, ..slots[3] };
    let cache = open(&file.finish(&slots)).unwrap();
    assert_eq!(read(&cache, "first").unwrap(), None);
}

/// Files of an unreleased layout had the content behind the head.
fn content_behind_its_head() -> FakeDisk {
    let (mut file, mut slots) = forged();
    for (key, slot) in KEYS.iter().zip(&mut slots) {
        let mut content = Vec::new();
        let Value { token, body } = value(key);
        let encoded = record::append_put(&mut content, key, &put(&token, &body.unwrap()));
        let described = record::Head::decode(&content[encoded.at..]).unwrap().content();
        *slot = file.refer(key, described);
        content.truncate(encoded.at);
        file.bytes.extend_from_slice(&content);
    }
    file.finish(&slots)
}

#[test]
fn content_behind_its_head_is_damage_and_heals_by_being_written() {
    let disk = content_behind_its_head();
    let cache = open(&disk).unwrap();
    for key in KEYS {
        assert_eq!(cache.get(key).unwrap().unwrap().body().ok(), None, "{key}");
    }
    assert_eq!(cache.verify().unwrap().faults.len(), KEYS.len());
    let mut batch = cache.batch();
    // A token does not mend a content.
    batch.touch("first", b"token 2").unwrap();
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    assert_eq!(read(&cache, "first").unwrap(), None);
    for key in KEYS {
        value(key).put(key, &mut batch);
    }
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    for key in KEYS {
        assert_eq!(read(&cache, key).unwrap(), Some(value(key)));
    }
    assert!(cache.verify().unwrap().is_sound());
}

#[test]
fn a_compaction_drops_content_behind_its_head() {
    let disk = content_behind_its_head();
    let Compacted::Done(reclaimed) = open(&disk).unwrap().compact().unwrap() else { panic!() };
    assert_eq!((reclaimed.entries, reclaimed.damaged), (0, 4));
    assert!(open(&disk).unwrap().verify().unwrap().is_sound());
}
