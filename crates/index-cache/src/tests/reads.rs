//! How much is read, counted in calls and bytes: opening costs the same for any number of entries.

use super::disk::{FakeDisk, Reads};
use super::open;
use crate::batch::Durability;
use crate::layout::{HEADERS_LEN, PAGE_LEN};
use crate::put::Put;

fn filled(entries: u32) -> FakeDisk {
    let disk = FakeDisk::default();
    let cache = open(&disk).unwrap();
    let mut batch = cache.batch();
    for key in 0..entries {
        batch.put(&format!("{key}"), &Put::new().body(b"b")).unwrap();
    }
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    disk
}

/// What `work` reads, after the disk's earlier reads.
fn reads_of(disk: &FakeDisk, work: impl FnOnce()) -> Reads {
    let before = disk.reads();
    work();
    let after = disk.reads();
    Reads { calls: after.calls - before.calls, bytes: after.bytes - before.bytes }
}

#[test]
fn opening_reads_the_two_headers_for_a_thousand_and_for_a_million_entries() {
    for entries in [0, 1, 1_000, 1_000_000] {
        let disk = filled(entries);
        let mut cache = None;
        let opening = reads_of(&disk, || cache = Some(open(&disk).unwrap()));
        let cache = cache.unwrap();
        assert_eq!(opening, Reads { calls: 1, bytes: HEADERS_LEN }, "{entries} entries");
        if entries > 0 {
            assert_eq!(cache.stats().layers[0].entries, u64::from(entries));
            let first = reads_of(&disk, || assert!(cache.get("0").unwrap().is_some()));
            // Branch page, leaf page, record; one in some thousand keys shares its hash with another.
            assert!(first.calls == 3 || first.calls == 4, "{first:?}");
            assert!(first.bytes < 3 * PAGE_LEN, "{first:?}");
        }
    }
}

/// A document of 200,000 bytes: a hundred versions in one body, the newest last.
fn document() -> FakeDisk {
    let disk = FakeDisk::default();
    let cache = open(&disk).unwrap();
    let body = vec![b'x'; 200_000];
    let versions: Vec<String> = (0..100).map(|version| format!("1.{version}.0")).collect();
    let put = (0..100).fold(Put::new().token(b"etag").body(&body), |put, version| {
        put.slice_in_body(&versions[version], 0, version * 2_000..version * 2_000 + 1_999)
    });
    let mut batch = cache.batch();
    batch.put("serde", &put).unwrap();
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    disk
}

#[test]
fn the_newest_version_of_a_long_document_comes_with_one_read() {
    let disk = document();
    let is_compacted = |disk: &FakeDisk| open(disk).unwrap().compact().is_ok();
    for compacted in [false, true] {
        assert!(!compacted || is_compacted(&disk));
        let cache = open(&disk).unwrap();
        assert!(cache.snapshot().contains("serde").unwrap(), "index pages are in memory now");
        let newest = reads_of(&disk, || {
            let snapshot = cache.snapshot();
            let entry = snapshot.get("serde").unwrap().unwrap();
            assert_eq!(entry.slice("1.99.0").unwrap().unwrap().len(), 1_999);
            assert_eq!(entry.slices().unwrap().count(), 100);
        });
        assert!(newest.calls == 1 && newest.bytes < 2_000 + 100 * 23 + 256, "{newest:?}");
        let older = reads_of(&disk, || {
            let entry = cache.get("serde").unwrap().unwrap();
            assert_eq!(entry.slice("1.42.0").unwrap().unwrap().len(), 1_999);
        });
        assert_eq!(older.calls, 2, "{older:?}");
        let name = reads_of(&disk, || assert!(cache.snapshot().contains("serde").unwrap()));
        assert!(name.calls == 1 && name.bytes <= 256, "{name:?}");
    }
}

#[test]
fn a_long_last_slice_is_read_when_it_is_asked_for() {
    let disk = FakeDisk::default();
    let cache = open(&disk).unwrap();
    let mut batch = cache.batch();
    let long = vec![b'x'; 100_000];
    batch.put("serde", &Put::new().slice("short", 0, b"s").slice("long", 0, &long)).unwrap();
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    assert!(cache.snapshot().contains("serde").unwrap());
    let mut entry = None;
    let found = reads_of(&disk, || entry = cache.get("serde").unwrap());
    assert!(found.calls == 1 && found.bytes < 400, "{found:?}");
    let read = reads_of(&disk, || {
        assert_eq!(entry.unwrap().slice("long").unwrap().unwrap().len(), 100_000);
    });
    assert_eq!((read.calls, read.bytes), (1, 100_000));
}
