//! What is asked for before it is read.

use crate::basics::{body, folder, open, put};
use index_cache::{Durability, Extent, FILE_NAME, IndexCache, Options, Prefetched, Put};

#[test]
fn prefetch_asks_for_the_records_of_the_keys_and_little_else() {
    let folder = folder();
    let cache = open(&folder);
    let mut batch = cache.batch();
    let long = vec![1; 200_000];
    for key in 0..50 {
        batch.put(&format!("{key}"), &Put::new().body(&long).slice_in_body("s", 0, 5..9)).unwrap();
    }
    let _ = batch.commit(Durability::Fast).unwrap();
    let keys = ["3", "30", "absent"];
    let cache = open(&folder);
    let whole = cache.prefetch(keys).unwrap();
    assert_eq!(whole.found, 2);
    assert!((400_000..500_000).contains(&whole.bytes), "{whole:?}");
    let front = open(&folder).snapshot().prefetch(keys, Extent::Front).unwrap();
    assert!(front.bytes < 10_000 && front.ranges >= 2, "{front:?}");
    assert_eq!(body(&cache, "30").unwrap(), long);
}

#[test]
fn prefetch_follows_a_touched_entry_to_its_content() {
    let folder = folder();
    let cache = open(&folder);
    put(&cache, "a", &vec![1; 300_000]);
    let mut batch = cache.batch();
    batch.touch("a", b"2").unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    assert!(cache.prefetch(["a"]).unwrap().bytes >= 300_000);
}

#[test]
fn prefetch_of_an_empty_cache_asks_for_nothing() {
    let folder = folder();
    assert_eq!(open(&folder).prefetch(["a", "b"]).unwrap(), Prefetched::default());
}

#[test]
fn keys_are_sorted_by_file_and_by_place_in_it() {
    let (folder, base) = (folder(), folder());
    for (lower, upper) in [("m", "z"), ("c", "a"), ("x", "c")] {
        put(&open(&base), lower, b"below");
        put(&open(&folder), upper, b"above");
    }
    let options = Options::new().base(base.path().join(FILE_NAME));
    let cache = IndexCache::open(folder.path().join(FILE_NAME), options).unwrap();
    let mut keys = ["absent", "a", "c", "m", "x", "z"].map(str::to_owned);
    cache.snapshot().sort_as_stored(&mut keys).unwrap();
    assert_eq!(keys, ["z", "a", "c", "m", "x", "absent"]);
}
