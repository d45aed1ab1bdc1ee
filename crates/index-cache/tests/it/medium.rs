//! Media that say no: read-only mounts, full disks, other users, files that are cut under a reader,
//! maps, locks that are held.

use crate::basics::{body, folder, open, put};
use index_cache::{Durability, IndexCache, LockWait, Options, Put, ReadMode, WriteSkipped};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A mounted tmpfs; unmounted when dropped.
struct Tmpfs(TempDir);

impl Tmpfs {
    fn new(options: &str) -> Self {
        let folder = folder();
        let options = std::ffi::CString::new(options).unwrap();
        mount("tmpfs", folder.path(), "tmpfs", MountFlags::empty(), options.as_c_str()).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) {
        mount_remount(self.path(), MountFlags::RDONLY, "").unwrap();
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        unmount(self.path(), UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn a_read_only_mount_is_read_without_sidecars_and_writes_are_skipped() {
    let medium = Tmpfs::new("size=1m");
    let path = medium.path().join("index-v1.ixc");
    put(&IndexCache::open(&path, Options::new()).unwrap(), "serde", b"one");
    fs::remove_file(medium.path().join("index-v1.ixc.lock")).unwrap();
    medium.make_read_only();
    let cache = IndexCache::open(&path, Options::new()).unwrap();
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    let mut batch = cache.batch();
    batch.put("serde", &Put::new().body(b"two")).unwrap();
    let committed = batch.commit(Durability::Durable).unwrap();
    assert_eq!(committed.skipped(), Some(WriteSkipped::ReadOnly));
    assert_eq!(committed.skipped().unwrap().to_string(), "writes skipped: the cache is read-only");
    assert_eq!(body(&cache, "serde").unwrap(), b"one");
    assert_eq!(fs::read_dir(medium.path()).unwrap().count(), 1, "no sidecar");
}

#[test]
fn a_full_disk_leaves_the_old_state_and_room_makes_it_writable_again() {
    let medium = Tmpfs::new("size=256k");
    let path = medium.path().join("index-v1.ixc");
    let cache = IndexCache::open(&path, Options::new()).unwrap();
    put(&cache, "serde", b"one");
    let mut batch = cache.batch();
    batch.put("serde", &Put::new().body(&vec![2; 400_000])).unwrap();
    for durability in [Durability::Fast, Durability::Durable] {
        assert!(batch.commit(durability).unwrap_err().is_storage_full());
        assert_eq!(body(&cache, "serde").unwrap(), b"one");
        assert_eq!(
            body(&IndexCache::open(&path, Options::new()).unwrap(), "serde").unwrap(),
            b"one"
        );
    }
    mount_remount(medium.path(), MountFlags::empty(), "size=4m").unwrap();
    let _ = batch.commit(Durability::Durable).unwrap();
    assert_eq!(body(&cache, "serde").unwrap().len(), 400_000);
}

#[test]
fn a_file_that_is_cut_under_a_reader_gives_errors_and_no_signal() {
    let folder = folder();
    let cache = open(&folder);
    let mut batch = cache.batch();
    for key in 0..300 {
        batch.put(&format!("{key}"), &Put::new().body(&vec![7; 30_000])).unwrap();
    }
    let _ = batch.commit(Durability::Fast).unwrap();
    let cache = open(&folder);
    assert!(cache.get("1").unwrap().is_some());
    let file = OpenOptions::new().write(true).open(folder.path().join("index-v1.ixc")).unwrap();
    file.set_len(8192 + 100_000).unwrap();
    let outcomes: Vec<_> = (0..300)
        .map(|key| {
            cache.get(&format!("{key}")).and_then(|e| e.map(|e| e.body().map(drop)).transpose())
        })
        .collect();
    assert!(outcomes.iter().flatten().all(Option::is_some), "what is there is found");
    let errors: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(errors.len() > 250 && errors.iter().all(|error| error.is_truncated()));
    assert!(cache.verify().unwrap_err().is_truncated());
}

/// The unsafe door, used as its contract says.
#[test]
#[expect(unsafe_code, reason = "the contract of `Options::mapped` is kept: nobody else is here")]
fn all_read_modes_give_the_same_answers() {
    let folder = folder();
    let cache = open(&folder);
    let lens = [0, 1, 4000, 70_000, 300_000];
    let mut batch = cache.batch();
    for len in lens {
        let body = vec![u8::try_from(len % 251).unwrap(); len];
        batch
            .put(&format!("{len}"), &Put::new().body(&body).slice_in_body("s", 0, len / 2..len))
            .unwrap();
    }
    let _ = batch.commit(Durability::Fast).unwrap();
    for mode in [ReadMode::Pread, ReadMode::Auto, ReadMode::Mapped] {
        // SAFETY: the folder is this test's own.
        let options = unsafe { Options::new().mapped(mode) };
        let cache = IndexCache::open(folder.path().join("index-v1.ixc"), options).unwrap();
        assert_eq!(cache.stats().read_mode, mode);
        for len in lens {
            let entry = cache.get(&format!("{len}")).unwrap().unwrap();
            let wanted = vec![u8::try_from(len % 251).unwrap(); len];
            assert_eq!(&entry.slice("s").unwrap().unwrap()[..], &wanted[len / 2..]);
            assert_eq!(entry.body().unwrap(), wanted);
        }
        put(&cache, "new", b"through a handle with a map");
        assert_eq!(body(&cache, "new").unwrap(), b"through a handle with a map");
        assert!(cache.verify().unwrap().is_sound());
    }
}

#[test]
fn a_held_lock_is_waited_for_or_reported() {
    let folder = folder();
    put(&open(&folder), "serde", b"one");
    let path = folder.path().join("index-v1.ixc");
    let holder = File::open(folder.path().join("index-v1.ixc.lock")).unwrap();
    holder.lock().unwrap();
    let cache = IndexCache::open(&path, Options::new().lock_wait(LockWait::Skip)).unwrap();
    let mut batch = cache.batch();
    batch.put("serde", &Put::new()).unwrap();
    assert_eq!(batch.commit(Durability::Fast).unwrap().skipped(), Some(WriteSkipped::Busy));
    assert_eq!(body(&cache, "serde").unwrap(), b"one", "readers do not ask for the lock");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| put(&open(&folder), "serde", b"two"));
        assert_eq!(body(&open(&folder), "serde").unwrap(), b"one");
        drop(holder);
        waiting.join().unwrap();
    });
    assert_eq!(body(&open(&folder), "serde").unwrap(), b"two");
}

const NOBODY: u32 = 65_534;

/// Runs `as_another_user` below in a process of user `NOBODY`.
fn run_as_nobody(path: &Path, wanted: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "medium::as_another_user", "--nocapture"])
        .env("INDEX_CACHE_TEST_PATH", path)
        .env("INDEX_CACHE_TEST_WANTED", wanted)
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains(&format!("outcome: {wanted}")), "the process did its work: {printed}");
}

/// Does nothing unless it was started by another test.
#[test]
fn as_another_user() {
    let Ok(path) = std::env::var("INDEX_CACHE_TEST_PATH") else { return };
    let cache = IndexCache::open(path, Options::new()).unwrap();
    assert_eq!(body(&cache, "serde").unwrap(), b"root's");
    let mut batch = cache.batch();
    batch.put("serde", &Put::new().body(b"nobody's")).unwrap();
    let outcome = match batch.commit(Durability::Fast).unwrap().skipped() {
        Some(WriteSkipped::ReadOnly) => "read-only",
        Some(other) => panic!("{other}"),
        None => "written",
    };
    println!("outcome: {outcome}");
    assert_eq!(outcome, std::env::var("INDEX_CACHE_TEST_WANTED").unwrap());
}

#[test]
fn another_user_reads_what_root_wrote_and_is_told_why_it_cannot_write() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    put(&open(&folder), "serde", b"root's");
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(folder.path(), 0o755);
    run_as_nobody(&path, "read-only");
    // A lock file that root made and a data file that nobody may write.
    chown(&path, Some(NOBODY), None).unwrap();
    chown(folder.path(), Some(NOBODY), None).unwrap();
    run_as_nobody(&path, "written");
    assert_eq!(body(&open(&folder), "serde").unwrap(), b"nobody's");
}
