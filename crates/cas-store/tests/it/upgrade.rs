//! Two versions of a package, then the first removed and swept, in both ways of keeping alive.

use std::fs;
use std::time::Duration;

use cas_store::{Digest, Executable, PlaceReport, Store, SweepOptions, Tree, TreeBuilder};

use crate::ground::{Ground, links, names};

type Version = [(&'static str, &'static [u8], Executable); 4];

const OLD: Version = [
    ("pkg/__init__.py", b"", Executable::No),
    ("pkg/core.py", b"version = 1\n", Executable::No),
    ("pkg/same.py", b"unchanged\n", Executable::No),
    ("pkg/lib.so", b"\x7fELF", Executable::Yes),
];
const NEW: Version = [
    ("pkg/__init__.py", b"", Executable::No),
    ("pkg/core.py", b"version = 2\n", Executable::No),
    ("pkg/same.py", b"unchanged\n", Executable::No),
    ("pkg/lib.so", b"\x7fELF", Executable::Yes),
];

fn tree(version: &Version) -> Tree {
    let mut tree = TreeBuilder::new();
    for (path, bytes, executable) in version {
        tree.file(path, Digest::of(bytes), *executable, bytes.len() as u64).unwrap();
    }
    tree.build().unwrap()
}

fn install(destination: &cas_store::Destination, version: &Version) -> PlaceReport {
    for (path, bytes, executable) in version {
        destination.put(path, bytes, Digest::of(bytes), *executable).unwrap();
    }
    destination.report()
}

fn assert_installed(ground: &Ground, env: &str, version: &Version) {
    for (path, bytes, executable) in version {
        let path = ground.path(env).join(path);
        assert_eq!(fs::read(&path).unwrap(), *bytes);
        let is_executable = crate::ground::mode(&path) & 0o111 != 0;
        assert_eq!(is_executable, bool::from(*executable), "{}", path.display());
    }
}

fn sweep(store: &Store) -> (u64, u64) {
    let report = store.sweep(SweepOptions::default().grace(Duration::ZERO)).unwrap();
    (report.objects_removed, report.objects_kept)
}

#[test]
fn with_manifests() {
    let ground = Ground::new();
    let store = ground.store();
    install(&ground.env(&store, "one"), &OLD);
    store.write_tree("pkg 1", &tree(&OLD)).unwrap();
    let upgrade = install(&ground.env(&store, "two"), &NEW);
    store.write_tree("pkg 2", &tree(&NEW)).unwrap();
    assert_eq!((upgrade.linked, upgrade.published, upgrade.private), (2, 1, 1));

    fs::remove_dir_all(ground.path("one")).unwrap();
    assert_eq!(sweep(&store), (0, 4), "the manifest of the old version keeps it");
    assert!(store.remove_tree("pkg 1").unwrap());
    assert_eq!(sweep(&store), (1, 3), "only what the new version has not");
    assert_installed(&ground, "two", &NEW);

    fs::remove_dir_all(ground.path("two")).unwrap();
    assert_eq!(sweep(&store), (0, 3), "the manifest of the new version keeps it");
    store.tree("pkg 2").unwrap().unwrap().place(&ground.env(&store, "three")).unwrap();
    assert_installed(&ground, "three", &NEW);
}

#[test]
fn with_archives_of_hard_links() {
    let ground = Ground::new();
    let store = ground.store();
    for (key, version) in [("pkg 1", &OLD), ("pkg 2", &NEW)] {
        let builder = store.begin_archive(key).unwrap();
        install(builder.destination(), version);
        assert!(builder.commit(&tree(version)).unwrap());
    }
    let archive = store.archive("pkg 1").unwrap().unwrap();
    archive.place(&ground.env(&store, "one")).unwrap();
    assert_installed(&ground, "one", &OLD);
    let same = store.object_path(Digest::of(b"unchanged\n"), Executable::No);
    assert_eq!(links(&same), 4, "the store, two archives, one environment");
    assert_eq!(store.trees().unwrap(), [""; 0], "no manifest is needed");

    fs::remove_dir_all(ground.path("one")).unwrap();
    assert_eq!(sweep(&store), (0, 4), "the archive's links keep the old version");
    assert!(store.remove_archive("pkg 1").unwrap());
    assert!(!store.remove_archive("pkg 1").unwrap());
    assert_eq!(sweep(&store), (1, 3));
    let archive = store.archive("pkg 2").unwrap().unwrap();
    archive.place(&ground.env(&store, "two")).unwrap();
    assert_installed(&ground, "two", &NEW);
    assert_eq!(names(&store.path().join("tmp")), [""; 0]);
}

#[test]
fn an_archive_names_objects_again_that_the_store_lost() {
    let ground = Ground::new();
    let store = ground.store();
    let builder = store.begin_archive("pkg").unwrap();
    install(builder.destination(), &OLD);
    builder.commit(&tree(&OLD)).unwrap();
    let lost = store.object_path(Digest::of(b"version = 1\n"), Executable::No);
    fs::remove_file(&lost).unwrap();
    store.archive("pkg").unwrap().unwrap().place(&ground.env(&store, "env")).unwrap();
    assert_installed(&ground, "env", &OLD);
    assert_eq!(links(&lost), 3);
}

#[test]
fn the_first_of_two_archives_with_one_key_stays() {
    let ground = Ground::new();
    let store = ground.store();
    let builders: Vec<_> = (0..2).map(|_| store.begin_archive("pkg").unwrap()).collect();
    let mut won = Vec::new();
    for builder in builders {
        install(builder.destination(), &OLD);
        won.push(builder.commit(&tree(&OLD)).unwrap());
    }
    assert_eq!(won, [true, false]);
    assert_eq!(names(&store.path().join("archives")).len(), 1);
    assert_eq!(names(&store.path().join("tmp")), [""; 0]);
}

#[test]
fn an_archive_that_is_given_up_leaves_nothing() {
    let ground = Ground::new();
    let store = ground.store();
    let builder = store.begin_archive("pkg").unwrap();
    install(builder.destination(), &OLD);
    drop(builder);
    assert!(store.archive("pkg").unwrap().is_none());
    assert_eq!(names(&store.path().join("tmp")), [""; 0]);
}

#[test]
fn a_budget_forgets_the_trees_that_were_not_used_for_longest() {
    let ground = Ground::new();
    let store = ground.store();
    for key in ["old", "middle", "new"] {
        let bytes = key.repeat(10_000).into_bytes();
        let env = ground.env(&store, key);
        env.put("a", &bytes, Digest::of(&bytes), Executable::No).unwrap();
        let mut tree = TreeBuilder::new();
        tree.file("a", Digest::of(&bytes), Executable::No, bytes.len() as u64).unwrap();
        store.write_tree(key, &tree.build().unwrap()).unwrap();
    }
    for (index, key) in ["old", "middle", "new"].iter().enumerate() {
        let name = format!("trees/{}.tree", Digest::of(key.as_bytes()));
        let file = fs::OpenOptions::new().append(true).open(store.path().join(name)).unwrap();
        let used = std::time::SystemTime::now() - Duration::from_secs(1000 - index as u64 * 100);
        file.set_modified(used).unwrap();
    }
    let sweep = SweepOptions::default().grace(Duration::ZERO);
    let report = store.sweep(sweep.clone().most_bytes(0)).unwrap();
    assert_eq!((report.trees_removed, report.objects_removed), (3, 0), "environments link to all");
    for key in ["old", "middle", "new"] {
        let bytes = key.repeat(10_000).into_bytes();
        let mut tree = TreeBuilder::new();
        tree.file("a", Digest::of(&bytes), Executable::No, bytes.len() as u64).unwrap();
        store.write_tree(key, &tree.build().unwrap()).unwrap();
        fs::remove_dir_all(ground.path(key)).unwrap();
        let name = format!("trees/{}.tree", Digest::of(key.as_bytes()));
        let file = fs::OpenOptions::new().append(true).open(store.path().join(name)).unwrap();
        let age = Duration::from_secs(if key == "middle" { 1000 } else { 500 });
        file.set_modified(std::time::SystemTime::now() - age).unwrap();
    }
    let all = store.sweep(sweep.clone().dry_run(true)).unwrap();
    assert_eq!(all.objects_kept, 3);
    let report = store.sweep(sweep.clone().most_bytes(all.bytes_kept - 1)).unwrap();
    assert_eq!((report.trees_removed, report.objects_removed, report.objects_kept), (1, 1, 2));
    assert_eq!(store.trees().unwrap(), ["new", "old"], "the one in the middle was oldest");
    let report = store.sweep(sweep.unused_for(Duration::from_secs(400))).unwrap();
    assert_eq!((report.trees_removed, report.objects_removed), (2, 2));
}

#[test]
fn a_tree_that_was_replaced_while_a_sweep_looked_keeps_its_objects() {
    let ground = Ground::new();
    let store = ground.store();
    install(&ground.env(&store, "old"), &OLD);
    install(&ground.env(&store, "new"), &NEW);
    store.write_tree("pkg", &tree(&OLD)).unwrap();
    fs::remove_dir_all(ground.path("old")).unwrap();
    fs::remove_dir_all(ground.path("new")).unwrap();
    let (writer, once) = (store.clone(), std::sync::Once::new());
    let options = SweepOptions::default().grace(Duration::ZERO).watch(move |_| {
        once.call_once(|| writer.write_tree("pkg", &tree(&NEW)).unwrap());
        std::ops::ControlFlow::Continue(())
    });
    store.sweep(options).unwrap();
    let report = store.tree("pkg").unwrap().unwrap().place(&ground.env(&store, "env")).unwrap();
    assert_eq!(report.linked, 3);
    assert_installed(&ground, "env", &NEW);
}

#[test]
fn a_tree_that_was_placed_while_a_sweep_looked_is_not_forgotten() {
    let ground = Ground::new();
    let store = ground.store();
    install(&ground.env(&store, "one"), &OLD);
    store.write_tree("pkg", &tree(&OLD)).unwrap();
    let manifest = ground.path("store/v1/trees").join(&names(&ground.path("store/v1/trees"))[0]);
    let month_ago = std::time::SystemTime::now() - Duration::from_secs(30 * 24 * 60 * 60);
    fs::File::open(manifest).unwrap().set_modified(month_ago).unwrap();
    let two = ground.env(&store, "two");
    let (reader, once) = (store.clone(), std::sync::Once::new());
    let options = SweepOptions::default().most_bytes(0).watch(move |_| {
        once.call_once(|| {
            reader.tree("pkg").unwrap().unwrap().place(&two).unwrap();
        });
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(store.sweep(options).unwrap().trees_removed, 0);
    assert_eq!(store.trees().unwrap(), ["pkg"]);
}
