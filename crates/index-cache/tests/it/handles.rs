//! One handle in several hands: forked processes, duplicated descriptors, and what happens to locks
//! that are inherited.

#![expect(unsafe_code, reason = "`pre_exec` is the standard library's way to run code after fork")]

use crate::basics::{body, folder, open, put};
use index_cache::{Durability, IndexCache, LockWait, Options, Put, WriteSkipped};
use std::fs::File;
use std::io::{Error, Result};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const ENTRIES: usize = 200;

fn stored(key: usize) -> Vec<u8> {
    format!("{key}/").repeat(key * 17 + 1).into_bytes()
}

fn fill(cache: &IndexCache) {
    let mut batch = cache.batch();
    for key in 0..ENTRIES {
        let body = stored(key);
        let put = Put::new().body(&body).slice_in_body("half", 1, 0..body.len() / 2);
        batch.put(&key.to_string(), &put).unwrap();
    }
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
}

fn is_right(cache: &IndexCache, key: usize) -> bool {
    let Ok(Some(entry)) = cache.get(&key.to_string()) else { return false };
    let wanted = stored(key);
    entry.slice("half").is_ok_and(|half| half.as_deref() == Some(&wanted[..wanted.len() / 2]))
        && entry.body().is_ok_and(|body| body == wanted)
}

/// Runs one of the two tests below, which fork, in a process where nothing else is going on.
fn run_alone(test: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("handles::{test}"), "--nocapture", "--test-threads=1"])
        .env("INDEX_CACHE_TEST_FORK", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("test result: ok. 1 passed"), "the process did its work: {printed}");
}

/// Lets `work` run in a child of this process between fork and exec; fails when it gives false.
fn in_a_child(work: impl Fn() -> bool + Send + Sync + 'static) {
    let mut command = Command::new("true");
    let closure = move || -> Result<()> {
        // Any raw error reaches the parent through the pipe that reports a failed exec.
        if work() { Ok(()) } else { Err(Error::from_raw_os_error(33)) }
    };
    // SAFETY: the closure allocates, which glibc allows after a fork, and takes locks of the cache,
    // which no other thread of this process holds now: see the callers.
    unsafe { command.pre_exec(closure) };
    assert!(command.status().unwrap().success());
}

#[test]
fn a_forked_child_reads_through_its_parents_handle_while_the_parent_does() {
    run_alone("fork_and_read");
}

#[test]
fn fork_and_read() {
    if std::env::var_os("INDEX_CACHE_TEST_FORK").is_none() {
        return;
    }
    let folder = folder();
    let cache = Arc::new(open(&folder));
    fill(&cache);
    assert!(is_right(&cache, 7), "pages are loaded and buffers are in use before the fork");
    let (child, done) = (Arc::clone(&cache), AtomicBool::new(false));
    let forked = folder.path().join("forked");
    let seen = forked.clone();
    std::thread::scope(|scope| {
        // Reads while the child does, and not before, so that it holds no lock when the child is
        // forked. Both share the file's one position; nobody may use it.
        let reader = scope.spawn(|| {
            while !seen.exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut rounds = 0;
            while !done.load(Relaxed) || rounds < 3 {
                assert!((0..ENTRIES).all(|key| is_right(&cache, key)));
                rounds += 1;
            }
        });
        in_a_child(move || {
            File::create(&forked).is_ok()
                && (0..20).all(|_| (0..ENTRIES).rev().all(|key| is_right(&child, key)))
        });
        done.store(true, Relaxed);
        reader.join().unwrap();
    });
}

#[test]
fn a_forked_child_commits_through_its_parents_handle() {
    run_alone("fork_and_commit");
}

#[test]
fn fork_and_commit() {
    if std::env::var_os("INDEX_CACHE_TEST_FORK").is_none() {
        return;
    }
    let folder = folder();
    let cache = Arc::new(open(&folder));
    put(&cache, "parent", b"before");
    let child = Arc::clone(&cache);
    in_a_child(move || {
        let mut batch = child.batch();
        let is_put = batch.put("child", &Put::new().body(b"of the child")).is_ok();
        is_put && batch.commit(Durability::Fast).is_ok_and(|done| done.skipped().is_none())
    });
    put(&cache, "parent", b"after");
    assert_eq!(body(&cache, "child").unwrap(), b"of the child");
    assert_eq!(body(&cache, "parent").unwrap(), b"after");
    assert!(cache.verify().unwrap().is_sound());
}

fn commit_now(path: &Path) -> Option<WriteSkipped> {
    let cache = IndexCache::open(path, Options::new().lock_wait(LockWait::Skip)).unwrap();
    let mut batch = cache.batch();
    batch.put("serde", &Put::new().body(b"new")).unwrap();
    batch.commit(Durability::Fast).unwrap().skipped()
}

/// `flock` belongs to the open file description: to all copies of a descriptor together.
#[test]
fn a_lock_lives_as_long_as_any_copy_of_its_descriptor() {
    let folder = folder();
    put(&open(&folder), "serde", b"old");
    let path = folder.path().join("index-v1.ixc");
    let lock = File::open(folder.path().join("index-v1.ixc.lock")).unwrap();
    lock.lock().unwrap();
    let copy = lock.try_clone().unwrap();
    drop(lock);
    assert_eq!(commit_now(&path), Some(WriteSkipped::Busy), "the copy holds it");
    // Inherited by a child, as by one that was forked in the middle of a commit.
    let mut child = Command::new("sleep").arg("600").stdin(Stdio::from(copy)).spawn().unwrap();
    assert_eq!(commit_now(&path), Some(WriteSkipped::Busy), "the child holds it");
    assert_eq!(body(&open(&folder), "serde").unwrap(), b"old", "readers do not care");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(commit_now(&path), None);
}

/// What this crate opens is closed by exec, so no child keeps its lock or file by accident.
#[test]
fn a_child_that_was_started_by_exec_inherits_no_descriptor() {
    let folder = folder();
    let cache = open(&folder);
    put(&cache, "serde", b"body");
    let held = cache.get("serde").unwrap().unwrap();
    let output = Command::new("ls").args(["-l", "/proc/self/fd"]).output().unwrap();
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(listed.contains("/proc/") && !listed.contains("index-v1.ixc"), "{listed}");
    assert_eq!(held.body().unwrap(), b"body");
}
