//! Storing, finding, replacing, removing.

use index_cache::{
    Committed, Durability, IndexCache, Options, Put, Status, WriteSkipped, schema_of,
};
use std::fs;
use tempfile::TempDir;

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub(crate) fn open(folder: &TempDir) -> IndexCache {
    IndexCache::open(folder.path().join("index-v1.ixc"), Options::new()).unwrap()
}

pub(crate) fn put(cache: &IndexCache, key: &str, body: &[u8]) {
    let mut batch = cache.batch();
    batch.put(key, &Put::new().token(b"t").body(body)).unwrap();
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
}

pub(crate) fn body(cache: &IndexCache, key: &str) -> Option<Vec<u8>> {
    cache.get(key).unwrap().map(|entry| entry.body().unwrap().to_vec())
}

#[test]
fn what_was_stored_is_found_by_this_and_by_another_handle() {
    let folder = folder();
    let cache = open(&folder);
    put(&cache, "serde", b"one");
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    assert_eq!(body(&open(&folder), "serde").unwrap(), b"one");
    assert_eq!(body(&cache, "sered"), None);
}

/// What a backup or a build server's cache does: the same file as it was, or as it became elsewhere.
#[cfg(unix)] // Renames over a file that is open.
#[test]
fn a_handle_takes_up_a_file_that_was_put_back_and_shows_what_it_then_stores() {
    let (folder, elsewhere) = (folder(), folder());
    let cache = open(&folder);
    put(&cache, "serde", b"one");
    fs::copy(cache.path(), elsewhere.path().join("index-v1.ixc")).unwrap();
    put(&cache, "serde", b"two");
    put(&open(&elsewhere), "serde", b"two, elsewhere");
    let before = cache.snapshot();
    for file in [&elsewhere, &folder] {
        fs::copy(open(file).path(), folder.path().join("copy")).unwrap();
        put(&open(&folder), "serde", b"three");
        assert!(cache.refresh().unwrap());
        assert_eq!(body(&cache, "serde").unwrap(), b"three");
        fs::rename(folder.path().join("copy"), cache.path()).unwrap();
        assert_eq!(body(&cache, "serde").unwrap(), b"three", "until it is asked to look");
        assert!(cache.refresh().unwrap() && !cache.refresh().unwrap());
        assert_eq!(body(&cache, "serde").unwrap(), b"two, elsewhere");
        let new = file.path().as_os_str().as_encoded_bytes();
        put(&cache, "syn", new);
        assert_eq!(body(&cache, "syn").unwrap(), new, "what is stored is shown");
    }
    fs::remove_file(cache.path()).unwrap();
    assert!(cache.refresh().unwrap() && cache.status() == Status::Absent);
    put(&cache, "serde", b"four");
    assert_eq!(body(&cache, "serde").unwrap(), b"four");
    assert_eq!(before.get("serde").unwrap().unwrap().body().unwrap(), b"two");
}

#[test]
fn a_later_put_replaces_and_a_remove_removes() {
    let folder = folder();
    let cache = open(&folder);
    put(&cache, "serde", b"one");
    put(&cache, "serde", b"two, longer");
    assert_eq!(body(&cache, "serde").unwrap(), b"two, longer");
    let mut batch = cache.batch();
    batch.remove("serde").unwrap();
    batch.remove("never there").unwrap();
    let Committed::Written(written) = batch.commit(Durability::Durable).unwrap() else { panic!() };
    assert_eq!(written.entries, 0);
    assert_eq!(body(&open(&folder), "serde"), None);
}

#[test]
fn a_refresh_shows_what_another_handle_committed_and_a_snapshot_does_not() {
    let folder = folder();
    let (reader, writer) = (open(&folder), open(&folder));
    assert!(!reader.refresh().unwrap());
    put(&writer, "serde", b"one");
    let before = reader.snapshot();
    assert!(reader.refresh().unwrap());
    assert!(!reader.refresh().unwrap());
    assert_eq!(body(&reader, "serde").unwrap(), b"one");
    assert!(before.get("serde").unwrap().is_none());
}

#[test]
fn thousands_of_keys_grow_the_index() {
    let folder = folder();
    let cache = open(&folder);
    for round in 0..3 {
        let mut batch = cache.batch();
        for key in 0..3000 {
            let (key, body) = (format!("{round}-{key}"), format!("{key}"));
            batch.put(&key, &Put::new().body(body.as_bytes())).unwrap();
        }
        let _ = batch.commit(Durability::Fast).unwrap();
    }
    let cache = open(&folder);
    for round in 0..3 {
        for key in 0..3000 {
            assert_eq!(
                body(&cache, &format!("{round}-{key}")).unwrap(),
                key.to_string().as_bytes()
            );
        }
    }
}

#[test]
fn a_touch_changes_the_token_and_keeps_the_content() {
    let folder = folder();
    let cache = open(&folder);
    let mut batch = cache.batch();
    let long = vec![7; 100_000];
    batch.put("serde", &Put::new().token(b"1").body(&long).slice_in_body("a", 5, 10..20)).unwrap();
    batch.put_negative("sered", b"404").unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    for token in [&b"2"[..], b"a longer token", b""] {
        batch.touch("serde", token).unwrap();
        batch.touch("sered", token).unwrap();
        batch.touch("nobody", token).unwrap();
        let Committed::Written(written) = batch.commit(Durability::Fast).unwrap() else { panic!() };
        assert_eq!(written.touches_missed, 1);
        assert!(written.appended_bytes < 40_000, "the content was not copied");
        let entry = cache.get("serde").unwrap().unwrap();
        assert_eq!((entry.token(), entry.body().unwrap()), (token, &long[..]));
        assert_eq!(entry.slice("a").unwrap().unwrap(), &[7; 10][..]);
        let negative = cache.get("sered").unwrap().unwrap();
        assert!(negative.is_negative() && negative.token() == token);
    }
}

#[test]
fn operations_on_one_key_of_a_batch_replace_each_other() {
    let folder = folder();
    let cache = open(&folder);
    let mut batch = cache.batch();
    batch.put("a", &Put::new().token(b"1").body(b"first")).unwrap();
    batch.put("a", &Put::new().token(b"1").body(b"second").slice("s", 1, b"apart")).unwrap();
    batch.touch("a", b"2").unwrap();
    batch.put("b", &Put::new()).unwrap();
    batch.remove("b").unwrap();
    batch.touch("b", b"3").unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    let entry = cache.get("a").unwrap().unwrap();
    assert_eq!((entry.token(), entry.body().unwrap()), (&b"2"[..], &b"second"[..]));
    assert_eq!(entry.slice("s").unwrap().unwrap(), &b"apart"[..]);
    assert!(cache.get("b").unwrap().is_none());
}

#[test]
fn many_slices_of_one_entry_are_read_and_unknown_ones_are_not_there() {
    let folder = folder();
    let cache = open(&folder);
    let names: Vec<_> = (0..40).map(|n| format!("1.{n}.0")).collect();
    let data: Vec<_> = (0..40_u8).map(|n| vec![n; 3000]).collect();
    let put =
        names.iter().zip(&data).fold(Put::new(), |put, (name, bytes)| put.slice(name, 3, bytes));
    let mut batch = cache.batch();
    batch.put("serde", &put).unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    let entry = cache.get("serde").unwrap().unwrap();
    for (name, bytes) in names.iter().zip(&data) {
        assert_eq!(entry.slice(name).unwrap().unwrap(), &bytes[..]);
    }
    assert!(entry.slice("2.0.0").unwrap().is_none());
    assert!(entry.slices().unwrap().all(|slice| slice.flags == 3 && slice.len == 3000));
    assert_eq!(entry.slices().unwrap().count(), 40);
    assert!(entry.body().unwrap().is_empty());
}

#[test]
fn arguments_that_the_format_cannot_hold_are_refused_and_change_nothing() {
    let folder = folder();
    let cache = open(&folder);
    let mut batch = cache.batch();
    let long = "k".repeat(65_536);
    assert!(batch.put(&long, &Put::new()).unwrap_err().is_too_large());
    assert!(batch.put("k", &Put::new().token(long.as_bytes())).unwrap_err().is_too_large());
    let twice = Put::new().slice("a", 0, b"").slice("a", 0, b"");
    assert!(batch.put("k", &twice).unwrap_err().is_invalid_input());
    let outside = Put::new().body(b"abc").slice_in_body("a", 0, 2..4);
    assert!(batch.put("k", &outside).unwrap_err().is_invalid_input());
    assert!(batch.is_empty() && batch.bytes() == 0);
    batch.put(&long[1..], &Put::new().token(&long.as_bytes()[1..])).unwrap();
    let _ = batch.commit(Durability::Fast).unwrap();
    assert!(cache.get(&long[1..]).unwrap().is_some());
}

#[test]
fn a_foreign_file_counts_as_empty_and_is_not_touched() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    fs::write(&path, "somebody's notes").unwrap();
    let cache = open(&folder);
    assert_eq!(cache.status(), Status::Foreign);
    let mut batch = cache.batch();
    batch.put("serde", &Put::new()).unwrap();
    let committed = batch.commit(Durability::Fast).unwrap();
    assert_eq!(committed.skipped(), Some(WriteSkipped::Foreign));
    assert_eq!(fs::read(&path).unwrap(), b"somebody's notes");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "not even a lock file appeared");
}

#[test]
fn another_schema_counts_as_empty_and_is_replaced() {
    let folder = folder();
    put(&open(&folder), "serde", b"old meaning");
    let path = folder.path().join("index-v1.ixc");
    let cache = IndexCache::open(&path, Options::new().schema([1; 32])).unwrap();
    assert_eq!((cache.status(), body(&cache, "serde")), (Status::OtherSchema, None));
    put(&cache, "other", b"new meaning");
    assert_eq!((cache.status(), body(&cache, "serde")), (Status::Ready, None));
    assert_eq!(body(&cache, "other").unwrap(), b"new meaning");
}

#[test]
fn a_batch_that_was_dropped_leaves_no_file() {
    let folder = folder();
    let cache = open(&folder);
    let mut batch = cache.batch();
    batch.put("serde", &Put::new()).unwrap();
    drop(batch);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_schema_tag_of_a_file_can_be_read_without_knowing_it() {
    let folder = folder();
    let path = folder.path().join("tagged.ixc");
    let missing = schema_of(&path).unwrap_err();
    assert!(missing.is_io() && missing.io_kind() == Some(std::io::ErrorKind::NotFound));
    let tag = *b"a tag of exactly 32 bytes, no c.";
    let cache = IndexCache::open(&path, Options::new().schema(tag)).unwrap();
    let mut batch = cache.batch();
    batch.put("serde", &Put::new().body(b"document")).unwrap();
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    assert_eq!(schema_of(&path).unwrap(), Some(tag));
    let cache = IndexCache::open(&path, Options::new().schema(schema_of(&path).unwrap().unwrap()));
    assert!(cache.unwrap().get("serde").unwrap().is_some());
    // Foreign, damaged in both headers, empty.
    let mut damaged = fs::read(&path).unwrap();
    damaged[1000] ^= 1;
    damaged[5000] ^= 1;
    for bytes in [&[b'x'; 9000][..], &damaged, b""] {
        fs::write(&path, bytes).unwrap();
        assert_eq!(schema_of(&path).unwrap(), None);
    }
}
