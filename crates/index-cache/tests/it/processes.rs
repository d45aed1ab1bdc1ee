//! Several real processes on one file: writers, compactors and readers, some of them killed.

use crate::basics::{folder, open, put};
use index_cache::{Durability, IndexCache, Options, Put};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const KEYS: [&str; 12] =
    ["a", "ab", "abc", "serde", "syn", "quote", "libc", "rand", "log", "time", "url", "http"];
const KILLS: u64 = 40;

/// A process that is killed with its test, however that ends.
struct Worker(Child);

impl Worker {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have been killed already; there is nobody left to tell.
        let _killed = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// Starts this very test program as a worker.
fn start(role: &str, path: &Path) -> Worker {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::as_a_worker", "--nocapture"])
        .env("INDEX_CACHE_TEST_ROLE", role)
        .env("INDEX_CACHE_TEST_PATH", path)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn();
    Worker(child.unwrap())
}

/// Does nothing unless it was started by another test; then works until it is killed.
#[test]
fn as_a_worker() {
    let Ok(role) = std::env::var("INDEX_CACHE_TEST_ROLE") else { return };
    let path = std::env::var("INDEX_CACHE_TEST_PATH").unwrap();
    let cache = IndexCache::open(path, Options::new()).unwrap();
    for round in 0_u32.. {
        match role.as_str() {
            "compactor" => drop(cache.compact().unwrap()),
            _ => write_batch(&cache, &format!("{role} {} {round}", std::process::id()), round),
        }
    }
}

/// All keys get the same stamp, in one batch; only the length differs.
fn write_batch(cache: &IndexCache, stamp: &str, round: u32) {
    let mut batch = cache.batch();
    for (key, number) in KEYS.iter().zip(1..) {
        let body =
            format!("{stamp}/").repeat(usize::try_from(round % 7 * 40 + number * 9).unwrap());
        batch.put(key, &Put::new().token(stamp.as_bytes()).body(body.as_bytes())).unwrap();
    }
    let durability = if round.is_multiple_of(5) { Durability::Durable } else { Durability::Fast };
    assert!(batch.commit(durability).unwrap().skipped().is_none());
}

/// Reads all keys from one snapshot; they must be of one batch. Gives its stamp.
fn stamp(cache: &IndexCache) -> String {
    let snapshot = cache.snapshot();
    let stamps: BTreeSet<String> = KEYS
        .iter()
        .map(|key| {
            let entry = snapshot.get(key).unwrap().unwrap_or_else(|| panic!("`{key}` is missing"));
            let stamp = String::from_utf8(entry.token().to_vec()).unwrap();
            let body = entry.body().unwrap();
            assert!(body.chunks(stamp.len() + 1).all(|c| c == format!("{stamp}/").as_bytes()));
            stamp
        })
        .collect();
    assert_eq!(stamps.len(), 1, "keys of one batch are seen together: {stamps:?}");
    stamps.into_iter().next().unwrap()
}

#[test]
fn readers_see_whole_batches_while_writers_and_compactors_are_killed() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    write_batch(&open(&folder), "first", 0);
    let mut workers = ["writer", "writer", "compactor"].map(|role| (role, start(role, &path)));
    let cache = open(&folder);
    let mut seen = BTreeSet::new();
    for kill in 0..KILLS {
        for _ in 0..20 {
            let _ = cache.refresh().unwrap();
            seen.insert(stamp(&cache));
            seen.insert(stamp(&open(&folder)));
        }
        // A little different each time, so that the kill falls on another step of a commit.
        std::thread::sleep(Duration::from_micros(kill * 1_337 % 20_000));
        let (role, worker) = &mut workers[usize::try_from(kill % 3).unwrap()];
        worker.kill();
        *worker = start(role, &path);
    }
    for (_, worker) in &mut workers {
        worker.kill();
    }
    assert!(seen.len() > 10, "the writers were seen at work: {}", seen.len());
    let cache = open(&folder);
    assert!(cache.verify().unwrap().is_sound(), "kills damage nothing");
    write_batch(&cache, "last", 3);
    let _ = cache.compact().unwrap();
    assert_eq!(stamp(&open(&folder)), "last");
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "file and lock; what killed writers left was removed");
}

#[test]
fn threads_share_a_handle_and_each_others_commits() {
    let folder = folder();
    let cache = open(&folder);
    put(&cache, "shared", b"0");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                for round in 0..25 {
                    let key = format!("{thread}-{round}");
                    put(cache, &key, key.as_bytes());
                    let entry = cache.get(&key).unwrap().unwrap();
                    assert_eq!(entry.body().unwrap(), key.as_bytes());
                }
            });
        }
    });
    assert_eq!(cache.snapshot().entries().count(), 101);
    assert_eq!(open(&folder).stats().layers[0].entries, 101);
}

#[test]
fn a_handle_survives_the_removal_of_its_file_and_sees_a_new_one() {
    let folder = folder();
    let reader = open(&folder);
    put(&open(&folder), "serde", b"one");
    reader.refresh().unwrap();
    // Moved first: under Wine the name of a removed file stays taken while somebody has it open.
    let moved = folder.path().join("moved");
    std::fs::rename(folder.path().join("index-v1.ixc"), &moved).unwrap();
    std::fs::remove_file(moved).unwrap();
    assert_eq!(reader.get("serde").unwrap().unwrap().body().unwrap(), b"one");
    assert!(reader.refresh().unwrap());
    assert!(reader.get("serde").unwrap().is_none());
    put(&open(&folder), "serde", b"two");
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.get("serde").unwrap().unwrap().body().unwrap(), b"two");
}
