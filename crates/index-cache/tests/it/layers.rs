//! A writable file over read-only ones.

use crate::basics::{body, folder, put};
use index_cache::{Committed, Durability, IndexCache, Options, Put, Status};
use std::collections::BTreeSet;
use tempfile::TempDir;

fn open(folder: &TempDir) -> IndexCache {
    let path = |name: &str| folder.path().join(name);
    let options = Options::new().base(path("upper")).base(path("lower"));
    IndexCache::open(path("top"), options).unwrap()
}

/// `a` and `b` in the lower base, `b` and `c` in the upper one.
fn bases() -> TempDir {
    let folder = folder();
    for (name, keys) in [("lower", ["a", "b"]), ("upper", ["b", "c"])] {
        let cache = IndexCache::open(folder.path().join(name), Options::new()).unwrap();
        for key in keys {
            put(&cache, key, name.as_bytes());
        }
    }
    folder
}

fn keys(cache: &IndexCache) -> BTreeSet<String> {
    cache.snapshot().entries().map(|entry| entry.unwrap().key().to_owned()).collect()
}

#[test]
fn the_first_layer_that_knows_a_key_answers() {
    let folder = bases();
    let cache = open(&folder);
    assert_eq!(cache.status(), Status::Absent);
    assert_eq!(body(&cache, "a").unwrap(), b"lower");
    assert_eq!(body(&cache, "b").unwrap(), b"upper");
    put(&cache, "b", b"top");
    assert_eq!(body(&cache, "b").unwrap(), b"top");
    assert_eq!(body(&cache, "c").unwrap(), b"upper");
    assert_eq!(keys(&cache), ["a", "b", "c"].map(str::to_owned).into());
}

#[test]
fn removing_covers_the_bases_and_survives_a_compaction() {
    let folder = bases();
    let cache = open(&folder);
    let mut batch = cache.batch();
    batch.remove("a").unwrap();
    batch.remove("b").unwrap();
    batch.remove("nobody").unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    let _ = cache.compact().unwrap();
    let cache = open(&folder);
    assert_eq!((body(&cache, "a"), body(&cache, "b")), (None, None));
    assert!(!cache.snapshot().contains("a").unwrap());
    assert_eq!(keys(&cache), ["c".to_owned()].into());
    assert_eq!(cache.stats().layers[0].entries, 2, "nothing covers a key that no base has");
    put(&cache, "a", b"back");
    assert_eq!(body(&cache, "a").unwrap(), b"back");
}

#[test]
fn a_touch_copies_the_entry_up_with_its_slices() {
    let folder = folder();
    let lower = IndexCache::open(folder.path().join("lower"), Options::new()).unwrap();
    let mut batch = lower.batch();
    batch.put("a", &Put::new().token(b"1").body(b"body").slice("s", 9, b"slice")).unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    let cache = open(&folder);
    let mut batch = cache.batch();
    batch.touch("a", b"2").unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    std::fs::remove_file(folder.path().join("lower")).unwrap();
    let entry = open(&folder).get("a").unwrap().unwrap();
    assert_eq!((entry.token(), entry.body().unwrap()), (&b"2"[..], &b"body"[..]));
    assert_eq!(entry.slice("s").unwrap().unwrap(), &b"slice"[..]);
}

#[test]
fn a_touch_of_an_entry_that_is_damaged_in_a_base_is_missed_and_keeps_no_batch_from_its_commit() {
    let folder = bases();
    let lower = folder.path().join("lower");
    let mut bytes = std::fs::read(&lower).unwrap();
    let at = bytes.windows(5).position(|window| window == b"lower").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&lower, bytes).unwrap();
    let cache = open(&folder);
    let mut batch = cache.batch();
    batch.touch("a", b"2").unwrap();
    batch.put("new", &Put::new().body(b"top")).unwrap();
    let Committed::Written(written) = batch.commit(Durability::Fast).unwrap() else { panic!() };
    assert_eq!((written.touches_missed, written.entries), (1, 1));
    assert_eq!(body(&cache, "new").unwrap(), b"top");
    put(&cache, "a", b"healed");
    assert_eq!(body(&cache, "a").unwrap(), b"healed");
}

/// The caller saw the newer document above; its new token must not get the older one from below.
#[test]
fn a_touch_does_not_look_through_a_damaged_layer() {
    let folder = bases();
    let top = folder.path().join("top");
    put(&open(&folder), "a", b"top");
    let whole = std::fs::read(&top).unwrap();
    let mut lost = 0;
    for at in (8192..whole.len()).filter(|at| whole[*at] != 0) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        std::fs::write(&top, bytes).unwrap();
        let cache = open(&folder);
        lost += usize::from(cache.get("a").unwrap().is_none());
        let mut batch = cache.batch();
        batch.touch("a", b"2").unwrap();
        let _ = batch.commit(Durability::Fast).unwrap();
        if let Some(entry) = open(&folder).get("a").unwrap().filter(|entry| entry.token() == b"2") {
            assert_ne!(entry.body().ok(), Some(&b"lower"[..]), "byte {at}");
        }
    }
    assert!(lost > 20, "{lost}");
}

#[test]
fn bases_that_cannot_be_used_count_as_empty_and_are_named() {
    let folder = bases();
    std::fs::write(folder.path().join("upper"), "notes").unwrap();
    let cache = open(&folder);
    assert_eq!(body(&cache, "b").unwrap(), b"lower");
    assert_eq!(body(&cache, "c"), None);
    let status: Vec<_> = cache.stats().layers.iter().map(|layer| layer.status).collect();
    assert_eq!(status, [Status::Absent, Status::Foreign, Status::Ready]);
}

#[test]
fn a_base_is_never_written() {
    let folder = bases();
    let before = std::fs::read(folder.path().join("upper")).unwrap();
    let cache = open(&folder);
    for key in ["a", "b", "c", "d"] {
        put(&cache, key, b"top");
    }
    let _ = cache.compact().unwrap();
    assert_eq!(std::fs::read(folder.path().join("upper")).unwrap(), before);
}
