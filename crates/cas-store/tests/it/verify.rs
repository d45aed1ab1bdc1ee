//! Verification, statistics, and what a person can check without this crate.

use std::fs;
use std::ops::ControlFlow;
use std::process::Command;

use cas_store::{Depth, Digest, Executable, Selection, VerifyOptions};

use crate::ground::{Ground, can_run, put};

#[test]
fn an_object_can_be_checked_with_b3sum() {
    if !can_run(false, &["b3sum"]) {
        return;
    }
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "env"), "a", b"checked by somebody else\n");
    let path = store.object_path(Digest::of(b"checked by somebody else\n"), Executable::No);
    let output = Command::new("b3sum").arg(&path).output();
    let output = output.unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let shard = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let name = format!("{shard}{}", path.file_name().unwrap().to_str().unwrap());
    assert_eq!(printed.split_whitespace().next(), Some(&*name));
}

#[test]
fn a_touched_object_is_set_right_and_not_thrown_away() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "env"), "a", b"bytes");
    let file = fs::OpenOptions::new().write(true).open(ground.path("env/a")).unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    for depth in [Depth::Fingerprint, Depth::Content] {
        let report = store.verify(VerifyOptions::default().depth(depth)).unwrap();
        let restamped = u64::from(depth == Depth::Fingerprint);
        assert_eq!((report.restamped, report.damaged.len()), (restamped, 0), "{depth:?}");
    }
    let placed = put(&ground.env(&store, "two"), "a", b"bytes");
    assert_eq!(placed, cas_store::Placed::Linked);
}

#[test]
fn a_cheap_verification_reads_nothing_when_all_is_well() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "env"), "a", b"bytes");
    let cheap = store.verify(VerifyOptions::default().depth(Depth::Fingerprint)).unwrap();
    let full = store.verify(VerifyOptions::default()).unwrap();
    assert_eq!((cheap.objects, cheap.bytes_read), (1, 0));
    assert_eq!((full.objects, full.bytes_read), (1, 5));
}

#[test]
fn a_watcher_sees_progress_and_can_stop() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    for number in 0..10_u8 {
        put(&env, &format!("{number}"), &[number; 3]);
    }
    let stop = |at| {
        VerifyOptions::default().watch(move |progress| {
            assert_eq!(progress.bytes, progress.files * 3);
            if progress.files == at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    };
    assert!(store.verify(stop(4)).unwrap_err().is_cancelled());
    assert_eq!(store.verify(stop(11)).unwrap().objects, 10);
}

#[test]
fn statistics_count_inodes_once() {
    let ground = Ground::new();
    let store = ground.store();
    for env in ["one", "two", "three"] {
        put(&ground.env(&store, env), "a", b"1234567");
    }
    let one = ground.env(&store, "one");
    one.put("b", b"12345", Digest::of(b"12345"), Executable::Yes).unwrap();
    fs::remove_file(ground.path("one/b")).unwrap();
    let stats = store.stats().unwrap();
    assert_eq!((stats.objects, stats.executables, stats.unlinked), (2, 1, 1));
    assert_eq!((stats.bytes, stats.shared_bytes, stats.most_links), (12, 14, 4));
}

#[test]
fn savings_are_counted_over_trees() {
    let ground = Ground::new();
    let store = ground.store();
    for key in ["a-1", "a-2"] {
        let mut tree = cas_store::TreeBuilder::new();
        tree.file("same", Digest::of(b"same"), Executable::No, 2048).unwrap();
        tree.file("own", Digest::of(key.as_bytes()), Executable::No, 10).unwrap();
        store.write_tree(key, &tree.build().unwrap()).unwrap();
    }
    let savings = store.savings().unwrap();
    let row = savings.row(Selection::AtLeast(1024));
    assert_eq!((row.saved_bytes, row.files, row.objects, row.most_links), (2048, 2, 1, 2));
    assert_eq!(savings.row(Selection::NonEmpty).files, 4);
}
