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
