//! Whole trees: manifests, placing, what is missing, sweeping.

use std::fs;
use std::time::Duration;

use cas_store::{Digest, Executable, Store, SweepOptions, Tree, TreeBuilder};

use crate::ground::{Ground, names, put};

const FILES: [(&str, &[u8]); 4] =
    [("pkg/__init__.py", b""), ("pkg/a.py", b"a = 1\n"), ("pkg/b.py", b"b = 2\n"), ("top", b"t")];

fn sample() -> Tree {
    let mut tree = TreeBuilder::new();
    for (path, bytes) in FILES {
        tree.file(path, Digest::of(bytes), Executable::No, bytes.len() as u64).unwrap();
    }
    tree.build().unwrap()
}

/// Puts the sample's files and writes its manifest.
fn installed(ground: &Ground, store: &Store, env: &str) {
    let env = ground.env(store, env);
    for (path, bytes) in FILES {
        put(&env, path, bytes);
    }
    store.write_tree("sample", &sample()).unwrap();
}

fn sweep_all() -> SweepOptions {
    SweepOptions::default().grace(Duration::ZERO)
}

#[test]
fn a_tree_is_placed_again_from_its_manifest() {
    let ground = Ground::new();
    let store = ground.store();
    installed(&ground, &store, "one");
    let tree = store.tree("sample").unwrap().unwrap();
    assert_eq!(tree.files(), sample().files());
    let report = tree.place(&ground.env(&store, "two")).unwrap();
    assert_eq!((report.linked, report.private, report.files()), (3, 1, 4));
    for (path, bytes) in FILES {
        assert_eq!(fs::read(ground.path("two").join(path)).unwrap(), bytes);
    }
}

#[test]
fn missing_objects_come_back_as_a_list_and_the_rest_is_placed() {
    let ground = Ground::new();
    let store = ground.store();
    installed(&ground, &store, "one");
    let gone = Digest::of(b"a = 1\n");
    fs::remove_file(store.object_path(gone, Executable::No)).unwrap();
    let env = ground.env(&store, "two");
    let error = store.tree("sample").unwrap().unwrap().place(&env).unwrap_err();
    assert!(error.is_missing());
    let missing = error.missing();
    assert_eq!((missing.len(), missing[0].digest, missing[0].size), (1, gone, 6));
    assert_eq!(missing[0].path, "pkg/a.py");
    assert_eq!(names(&ground.path("two/pkg")), ["__init__.py", "b.py"]);
}

#[cfg(unix)] // Wine takes a file's creation time from its modification time.
#[test]
fn a_sweep_keeps_what_changed_a_moment_ago() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "other"), "lonely", b"only here");
    fs::remove_dir_all(ground.path("other")).unwrap();
    let young = store.sweep(SweepOptions::default()).unwrap();
    assert_eq!((young.objects_removed, young.objects_kept), (0, 1));
    assert_eq!(store.sweep(sweep_all()).unwrap().objects_removed, 1);
}

#[test]
fn a_sweep_removes_what_no_tree_and_no_environment_needs() {
    let ground = Ground::new();
    let store = ground.store();
    installed(&ground, &store, "one");
    put(&ground.env(&store, "other"), "lonely", b"only here");
    fs::remove_dir_all(ground.path("one")).unwrap();
    fs::remove_dir_all(ground.path("other")).unwrap();

    let dry = store.sweep(sweep_all().dry_run(true)).unwrap();
    assert_eq!((dry.objects_removed, dry.objects_kept), (1, 3));
    assert!(store.contains(Digest::of(b"only here"), Executable::No).unwrap());
    assert_eq!(store.sweep(sweep_all()).unwrap(), dry);
    assert!(!store.contains(Digest::of(b"only here"), Executable::No).unwrap());
    store.tree("sample").unwrap().unwrap().place(&ground.env(&store, "two")).unwrap();

    assert!(store.remove_tree("sample").unwrap());
    let kept = store.sweep(sweep_all()).unwrap();
    assert_eq!((kept.objects_removed, kept.objects_kept), (0, 3), "linked objects cost nothing");
    fs::remove_dir_all(ground.path("two")).unwrap();
    assert_eq!(store.sweep(sweep_all()).unwrap().objects_removed, 3);
}

#[test]
fn a_damaged_manifest_is_reported_and_can_be_written_anew() {
    let ground = Ground::new();
    let store = ground.store();
    installed(&ground, &store, "one");
    let folder = store.path().join("trees");
    let path = folder.join(&names(&folder)[0]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[40] ^= 4;
    fs::write(&path, &bytes).unwrap();
    let error = store.tree("sample").unwrap_err();
    assert!(error.is_corrupt());
    assert_eq!(error.path(), Some(&*path));
    assert_eq!(store.trees().unwrap(), [""; 0]);
    assert_eq!(store.sweep(sweep_all()).unwrap().trees_corrupt, 1);
    store.write_tree("sample", &sample()).unwrap();
    assert_eq!(store.trees().unwrap(), ["sample"]);
}

#[test]
fn a_tree_with_two_meanings_for_a_path_is_refused() {
    let digest = Digest::of(b"x");
    for paths in [["a", "a"], ["a", "a/b"], ["a/b/c", "a/b"]] {
        let mut tree = TreeBuilder::new();
        for path in paths {
            tree.file(path, digest, Executable::No, 1).unwrap();
        }
        assert!(tree.build().unwrap_err().is_unsafe_path(), "{paths:?}");
    }
    let mut fine = TreeBuilder::new();
    for path in ["a-b", "a/b", "a.b", "ab"] {
        fine.file(path, digest, Executable::No, 1).unwrap();
    }
    assert_eq!(fine.build().unwrap().files().len(), 4);
}

#[test]
fn equal_trees_have_equal_digests_and_the_executable_bit_counts() {
    let tree = |executable| {
        let mut tree = TreeBuilder::new();
        tree.file("a", Digest::of(b"x"), executable, 1).unwrap();
        tree.build().unwrap().digest()
    };
    assert_eq!(tree(Executable::No), tree(Executable::No));
    assert_ne!(tree(Executable::No), tree(Executable::Yes));
}
