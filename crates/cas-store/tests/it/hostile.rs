//! What somebody who can write to the store, or to the caller's input, may leave there for us.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use cas_store::{
    Access, Digest, Executable, Options, Placed, Store, SweepOptions, TreeBuilder, VerifyOptions,
    Why,
};

use crate::ground::{Ground, names, put};

const HELLO: &[u8] = b"print('hello')\n";

/// Everything may go, at once.
fn ruthless() -> SweepOptions {
    let now = Duration::ZERO;
    SweepOptions::default().grace(now).unfinished_for(now).quarantine_for(now)
}

fn shard_of(digest: Digest) -> String {
    digest.to_string()[..2].to_owned()
}

/// Moves `folder` away and leaves a link to `victim` in its place.
fn plant(folder: &Path, victim: &Path) {
    fs::rename(folder, folder.with_extension("away")).unwrap();
    symlink(victim, folder).unwrap();
}

#[test]
fn a_sweep_removes_nothing_behind_a_link_planted_in_the_store() {
    for folder in ["tmp", "quarantine", "trees", "objects"] {
        let ground = Ground::new();
        let store = ground.store();
        let victim = ground.path("victim");
        fs::create_dir_all(victim.join("photos/2026")).unwrap();
        fs::write(victim.join("thesis"), HELLO).unwrap();
        plant(&ground.path("store/v1").join(folder), &victim);
        // The open handle of `objects` still leads to the real one.
        let swept = store.sweep(ruthless());
        assert_eq!(swept.is_ok(), folder == "objects", "{folder}: {swept:?}");
        assert_eq!(names(&victim), ["photos", "thesis"], "{folder}");
        let opened = Store::open(ground.path("store"), Options::default());
        assert!(opened.is_err(), "{folder} is a link and was opened");
    }
}

#[test]
fn a_link_inside_a_folder_that_is_cleared_is_removed_itself() {
    let ground = Ground::new();
    let (store, victim) = (ground.store(), ground.path("victim"));
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("thesis"), HELLO).unwrap();
    let rubbish = ground.path("store/v1/tmp/rubbish");
    fs::create_dir_all(rubbish.join("a/b")).unwrap();
    symlink(&victim, rubbish.join("a/link")).unwrap();
    symlink(&victim, ground.path("store/v1/tmp/link")).unwrap();
    assert_eq!(store.sweep(ruthless()).unwrap().temporaries_removed, 2);
    assert_eq!(names(&ground.path("store/v1/tmp")), [""; 0]);
    assert_eq!(names(&victim), ["thesis"]);
}

#[test]
fn a_sweep_removes_nothing_behind_a_shard_that_is_a_link() {
    let ground = Ground::new();
    let (store, digest) = (ground.store(), Digest::of(HELLO));
    let victim = ground.path("victim");
    fs::create_dir(&victim).unwrap();
    let object = victim.join(&digest.to_string()[2..]);
    fs::write(&object, HELLO).unwrap();
    symlink(&victim, ground.path("store/v1/objects").join(shard_of(digest))).unwrap();
    assert_eq!(store.sweep(ruthless()).unwrap().objects_removed, 0);
    assert!(object.exists());
    assert_eq!(store.verify(VerifyOptions::default()).unwrap().objects, 0);
    assert_eq!(store.stats().unwrap().objects, 0);
}

#[test]
fn a_tag_that_is_a_dangling_link_makes_no_file_elsewhere() {
    let ground = Ground::new();
    let elsewhere = ground.path("elsewhere");
    fs::create_dir(ground.path("store")).unwrap();
    symlink(&elsewhere, ground.path("store/CACHEDIR.TAG")).unwrap();
    ground.store();
    assert!(!elsewhere.exists());
}

#[test]
fn a_named_pipe_in_place_of_a_file_does_not_make_us_wait() {
    let ground = Ground::new();
    let store = ground.store();
    let pipe = |name: &str| {
        let path = ground.path("store/v1").join(name);
        fs::remove_file(&path).unwrap_or(());
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    pipe("sweep.lock");
    store.sweep(ruthless()).unwrap();
    pipe("config");
    let opened = Store::open(ground.path("store"), Options::default());
    assert!(opened.unwrap_err().is_corrupt());
}

#[test]
fn a_shard_that_is_no_folder_costs_sharing_and_nothing_else() {
    let ground = Ground::new();
    ground.store();
    let (store, digest) = (ground.store(), Digest::of(HELLO));
    fs::write(ground.path("store/v1/objects").join(shard_of(digest)), b"?").unwrap();
    let placed = put(&ground.env(&store, "env"), "pkg/a", HELLO);
    assert!(matches!(placed, Placed::WrotePrivate(Why::Refused(_))), "{placed:?}");
    assert_eq!(fs::read(ground.path("env/pkg/a")).unwrap(), HELLO);
    let mut tree = TreeBuilder::new();
    tree.file("a", digest, Executable::No, HELLO.len() as u64).unwrap();
    let error = tree.build().unwrap().place(&ground.env(&store, "two")).unwrap_err();
    assert_eq!(error.missing().len(), 1, "{error:?}");
    store.sweep(ruthless()).unwrap();
    store.verify(VerifyOptions::default()).unwrap();
}

#[test]
fn a_tree_with_wrong_sizes_places_what_its_digests_say_and_costs_no_object() {
    let ground = Ground::new();
    let (store, digest) = (ground.store(), Digest::of(HELLO));
    put(&ground.env(&store, "one"), "a", HELLO);
    for (number, size) in [0, 1, u64::MAX].into_iter().enumerate() {
        let mut tree = TreeBuilder::new();
        tree.file("a", digest, Executable::No, size).unwrap();
        tree.file("empty", Digest::EMPTY, Executable::No, size).unwrap();
        let env = ground.env(&store, &format!("wrong{number}"));
        let report = tree.build().unwrap().place(&env).unwrap();
        assert_eq!((report.linked, report.private, report.quarantined.len()), (1, 1, 0), "{size}");
        assert_eq!(fs::read(env.path().join("a")).unwrap(), HELLO);
        assert_eq!(fs::read(env.path().join("empty")).unwrap(), b"");
    }
    assert_eq!(store.stats().unwrap().quarantined, 0);
}

/// A shard that leads elsewhere: files there are neither handed out, nor moved, nor added to.
#[test]
fn a_shard_that_is_a_link_is_not_followed_by_those_who_place() {
    let ground = Ground::new();
    let (store, digest) = (ground.store(), Digest::of(HELLO));
    let victim = ground.path("victim");
    fs::create_dir(&victim).unwrap();
    let theirs = victim.join(&digest.to_string()[2..]);
    fs::write(&theirs, "not what the name says").unwrap();
    symlink(&victim, ground.path("store/v1/objects").join(shard_of(digest))).unwrap();
    let env = ground.env(&ground.store(), "env");
    let placed = put(&env, "a", HELLO);
    assert!(matches!(placed, Placed::WrotePrivate(Why::Refused(_))), "{placed:?}");
    assert_eq!(fs::read(ground.path("env/a")).unwrap(), HELLO);
    assert_eq!(fs::read(&theirs).unwrap(), b"not what the name says");
    assert_eq!(names(&victim).len(), 1);
    assert_eq!(names(&ground.path("store/v1/quarantine")), [""; 0]);
    drop(store);
}

#[test]
fn sizes_beyond_all_sums_are_counted() {
    let mut tree = TreeBuilder::new();
    for name in ["a", "b", "c"] {
        tree.file(name, Digest::of(HELLO), Executable::No, u64::MAX).unwrap();
    }
    let ground = Ground::new();
    let store = ground.store();
    store.write_tree("huge", &tree.build().unwrap()).unwrap();
    assert_eq!(store.savings().unwrap().bytes(), u64::MAX);
}

#[cfg(target_os = "linux")]
#[test]
fn a_sparse_object_as_long_as_it_likes_is_counted_and_set_aside() {
    let ground = Ground::in_memory();
    let (store, digest) = (ground.store(), Digest::of(HELLO));
    put(&ground.env(&store, "one"), "a", HELLO);
    let object = store.object_path(digest, Executable::No);
    fs::remove_file(&object).unwrap();
    fs::File::create(&object).unwrap().set_len(1 << 62).unwrap();
    for name in 0..8 {
        fs::hard_link(&object, ground.path(&format!("link{name}"))).unwrap();
    }
    assert_eq!(store.stats().unwrap().shared_bytes, u64::MAX);
    let two = ground.env(&store, "two");
    assert_eq!(put(&two, "a", HELLO), Placed::WroteAndPublished);
    assert_eq!(two.report().quarantined.len(), 1);
}

#[test]
fn a_path_longer_than_the_system_takes_makes_no_folder() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    for path in ["d/".repeat(2048) + "a", "d/".repeat(1 << 20) + "a"] {
        let refused = env.put(&path, HELLO, Digest::of(HELLO), Executable::No).unwrap_err();
        assert!(refused.is_unsafe_path(), "{refused}");
        let mut tree = TreeBuilder::new();
        let refused = tree.file(&path, Digest::of(HELLO), Executable::No, 1).unwrap_err();
        assert!(refused.is_unsafe_path());
    }
    assert_eq!(names(&ground.path("env")), [""; 0]);
}

#[test]
fn a_store_that_another_took_the_place_of_is_swept_by_its_own_trees() {
    let ground = Ground::new();
    let (store, digest) = (ground.store(), Digest::of(HELLO));
    let fill = |store: &Store| {
        put(&ground.env(store, "env"), "a", HELLO);
        fs::remove_dir_all(ground.path("env")).unwrap();
    };
    fill(&store);
    let mut tree = TreeBuilder::new();
    tree.file("a", digest, Executable::No, HELLO.len() as u64).unwrap();
    let tree = tree.build().unwrap();
    store.write_tree("hello", &tree).unwrap();
    fs::rename(ground.path("store"), ground.path("away")).unwrap();
    fill(&ground.store());
    let swept = store.sweep(ruthless()).unwrap();
    assert_eq!((swept.trees_kept, swept.objects_kept, swept.objects_removed), (1, 1, 0));
    assert_eq!(tree.place(&ground.env(&store, "two")).unwrap().linked, 1);
}

#[cfg(target_os = "linux")]
#[test]
fn no_handle_outlives_what_failed() {
    let ground = Ground::new();
    let root = ground.root.path().canonicalize().unwrap();
    let open = || {
        let entries = fs::read_dir("/proc/self/fd").unwrap();
        let targets = entries.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        targets.filter(|target| target.starts_with(&root)).count()
    };
    let store = ground.store();
    let env = ground.env(&store, "env");
    put(&env, "a", HELLO);
    let before = open();
    for _ in 0..50 {
        assert!(env.put("a", HELLO, Digest::of(HELLO), Executable::No).is_err());
        drop(env.create("b", Executable::No).unwrap());
        let other = env.place_or_create("c", Digest::of(b"c"), Executable::No).unwrap();
        drop(other);
        assert!(
            Store::open(ground.path("env"), Options::default().access(Access::ReadOnly)).is_err()
        );
        store.sweep(ruthless()).unwrap();
        store.verify(VerifyOptions::default()).unwrap();
    }
    assert_eq!(open(), before);
    assert_eq!(names(&ground.path("env")), ["a"]);
}
