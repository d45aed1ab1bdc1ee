//! What Windows does differently, as far as it can be shown under Wine.
//!
//! Wine refuses to rename over any open file; Windows 10 and later allow it when everybody shares
//! deletion, as std does. Both answers are accepted where they may differ, and the test's name says so.

use crate::basics::{body, folder, open, put};
use index_cache::{
    Compacted, Durability, IndexCache, LockWait, Options, Put, ReadMode, WriteSkipped,
};
use std::fs::{self, File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

const FILE_SHARE_READ: u32 = 1;

/// Opens the file and lets others share it only so far.
fn hold(path: &Path, share: u32) -> File {
    OpenOptions::new().read(true).share_mode(share).open(path).unwrap()
}

fn commit(cache: &IndexCache, value: &[u8]) -> Option<WriteSkipped> {
    let mut batch = cache.batch();
    batch.put("serde", &Put::new().body(value)).unwrap();
    batch.commit(Durability::Fast).unwrap().skipped()
}

fn set_read_only(path: &Path, read_only: bool) {
    let mut permissions = path.metadata().unwrap().permissions();
    permissions.set_readonly(read_only);
    fs::set_permissions(path, permissions).unwrap();
}

#[test]
fn a_file_that_a_scanner_holds_is_read_and_its_writes_are_skipped_until_it_lets_go() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    put(&open(&folder), "serde", b"one");
    let scanner = hold(&path, FILE_SHARE_READ);
    let cache = open(&folder);
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    assert_eq!(commit(&cache, b"two"), Some(WriteSkipped::InUse));
    assert_eq!(cache.compact().unwrap(), Compacted::Skipped(WriteSkipped::InUse));
    drop(scanner);
    assert_eq!(commit(&cache, b"two"), None);
    assert_eq!(body(&open(&folder), "serde").unwrap(), b"two");
}

/// `LockFileEx` keeps others from reading what it locks: on the data file it would stop every reader.
/// (Wine lets them read all the same, so what is checked is which file the lock is on.)
#[test]
fn the_lock_is_on_a_file_of_its_own_and_readers_never_meet_it() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    put(&open(&folder), "serde", b"one");
    let holder = OpenOptions::new().write(true).open(path.with_extension("ixc.lock")).unwrap();
    holder.lock().unwrap();
    let cache = IndexCache::open(&path, Options::new().lock_wait(LockWait::Skip)).unwrap();
    assert_eq!(commit(&cache, b"two"), Some(WriteSkipped::Busy));
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    let data = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    data.try_lock().expect("no lock is on the data file");
    drop((data, holder));
    assert_eq!(commit(&cache, b"two"), None, "a closed handle lets go of its lock");
}

#[test]
fn a_compaction_over_an_open_file_is_done_by_windows_skipped_under_wine_and_harms_neither() {
    let folder = folder();
    let reader = open(&folder);
    for value in [&b"one"[..], b"two", b"three"] {
        put(&open(&folder), "serde", value);
    }
    assert!(reader.refresh().unwrap());
    match open(&folder).compact().unwrap() {
        Compacted::Done(_) | Compacted::Skipped(WriteSkipped::InUse) => {}
        other => panic!("{other:?}"),
    }
    for cache in [&reader, &open(&folder)] {
        assert_eq!(body(cache, "serde").unwrap(), b"three");
        assert!(cache.verify().unwrap().is_sound());
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "file and lock, no rest of a compaction: {names:?}");
}

#[test]
#[expect(unsafe_code, reason = "the contract of `Options::mapped` is kept: nobody else is here")]
fn a_map_that_is_asked_for_becomes_positioned_reads_so_that_the_file_can_still_be_cut() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    put(&open(&folder), "serde", &vec![7; 300_000]);
    // SAFETY: the folder is this test's own.
    let options = unsafe { Options::new().mapped(ReadMode::Mapped) };
    let cache = IndexCache::open(&path, options).unwrap();
    assert_eq!(cache.stats().read_mode, ReadMode::Pread);
    assert_eq!(body(&cache, "serde").unwrap().len(), 300_000);
    // With a map this is refused: ERROR_USER_MAPPED_FILE.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(20_000).unwrap();
    let read = cache.get("serde").and_then(|entry| entry.unwrap().body().map(drop));
    assert!(read.unwrap_err().is_truncated());
}

#[test]
fn the_read_only_attribute_is_told_as_read_only_and_goes_away_with_it() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    put(&open(&folder), "serde", b"one");
    set_read_only(&path, true);
    let cache = open(&folder);
    assert_eq!(commit(&cache, b"two"), Some(WriteSkipped::ReadOnly));
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    set_read_only(&path, false);
    assert_eq!(commit(&cache, b"two"), None);
}

#[test]
fn a_path_longer_than_260_characters_works() {
    let folder = folder();
    let mut path = folder.path().to_path_buf();
    while path.as_os_str().len() < 400 {
        path.push("a folder with a name of thirty");
    }
    let path = path.join("index-v1.ixc");
    put(&IndexCache::open(&path, Options::new()).unwrap(), "serde", b"one");
    let cache = IndexCache::open(&path, Options::new()).unwrap();
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    let _ = cache.compact().unwrap();
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
}
