//! The demonstration: one edit in one environment must not reach another.
//!
//! With a store that links blindly, text appended to an installed file turns up in every package that
//! has the same file, also in packages that were never installed before.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use cas_store::{
    Digest, Executable, HealedFrom, Options, Placed, Protection, Store, TreeBuilder, VerifyOptions,
};

use crate::ground::{Ground, inode, names, put};

const LICENSE: &[u8] = b"Permission is hereby granted, free of charge\n";

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Changes bytes and puts size and time back, as no ordinary editor does.
fn forge(path: &Path) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[0] ^= 1;
    fs::write(path, bytes).unwrap();
    OpenOptions::new().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn write_tree(store: &Store, key: &str, path: &str) {
    let mut tree = TreeBuilder::new();
    tree.file(path, Digest::of(LICENSE), Executable::No, LICENSE.len() as u64).unwrap();
    store.write_tree(key, &tree.build().unwrap()).unwrap();
}

#[test]
fn an_edit_in_one_environment_does_not_reach_a_package_that_was_never_installed() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "v1"), "first/LICENSE", LICENSE);
    append(&ground.path("v1/first/LICENSE"), b"evil\n");

    let v2 = ground.env(&store, "v2");
    let placed = put(&v2, "second/LICENSE", LICENSE);
    assert_eq!(placed, Placed::WroteAndPublished, "detected and healed with the bytes in hand");
    assert_eq!(fs::read(ground.path("v2/second/LICENSE")).unwrap(), LICENSE);

    let bad = v2.report().quarantined;
    assert_eq!(bad.len(), 1);
    let sharers = store.sharers(&bad, &[ground.path("v1"), ground.path("v2")]).unwrap();
    assert_eq!(sharers.len(), 1, "only the first environment has the bad inode");
    assert_eq!(sharers[0].environment, ground.path("v1"));
    assert_eq!(sharers[0].path, ground.path("v1/first/LICENSE"));

    put(&ground.env(&store, "v3"), "LICENSE", LICENSE);
    let object = store.object_path(Digest::of(LICENSE), Executable::No);
    assert_eq!(inode(&ground.path("v3/LICENSE")), inode(&object), "sharing goes on");
}

#[test]
fn an_edit_is_found_when_a_tree_is_placed_and_the_tree_says_what_to_fetch() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "v1"), "LICENSE", LICENSE);
    write_tree(&store, "package", "LICENSE");
    append(&ground.path("v1/LICENSE"), b"evil\n");
    let v2 = ground.env(&store, "v2");
    let error = store.tree("package").unwrap().unwrap().place(&v2).unwrap_err();
    assert_eq!(error.missing()[0].digest, Digest::of(LICENSE));
    assert_eq!(names(&ground.path("v2")), [""; 0], "nothing bad was handed out");
    assert_eq!(v2.report().quarantined.len(), 1);
}

#[test]
fn an_edit_is_healed_from_the_other_variant_when_a_tree_is_placed() {
    let ground = Ground::new();
    let store = ground.store();
    let v1 = ground.env(&store, "v1");
    put(&v1, "LICENSE", LICENSE);
    v1.put("program", LICENSE, Digest::of(LICENSE), Executable::Yes).unwrap();
    write_tree(&store, "package", "LICENSE");
    append(&ground.path("v1/LICENSE"), b"evil\n");
    store.tree("package").unwrap().unwrap().place(&ground.env(&store, "v2")).unwrap();
    assert_eq!(fs::read(ground.path("v2/LICENSE")).unwrap(), LICENSE);
}

type Edit = fn(&Path);

#[test]
fn every_ordinary_edit_is_detected() {
    let edits: [(&str, Edit); 6] = [
        ("append", |path| append(path, b"x")),
        ("overwrite", |path| fs::write(path, [b'x'; 45]).unwrap()),
        ("truncate", |path| OpenOptions::new().write(true).open(path).unwrap().set_len(3).unwrap()),
        ("write one byte", |path| {
            OpenOptions::new().write(true).open(path).unwrap().write_all(b"X").unwrap();
        }),
        ("touch", |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_modified(std::time::SystemTime::now()).unwrap();
        }),
        ("change the mode", |path| {
            let mut permissions = fs::metadata(path).unwrap().permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o777);
            fs::set_permissions(path, permissions).unwrap();
        }),
    ];
    for (name, edit) in edits {
        let ground = Ground::new();
        let store = ground.store();
        put(&ground.env(&store, "v1"), "a", LICENSE);
        edit(&ground.path("v1/a"));
        let v2 = ground.env(&store, "v2");
        assert_eq!(put(&v2, "a", LICENSE), Placed::WroteAndPublished, "{name}");
        assert_eq!(fs::read(ground.path("v2/a")).unwrap(), LICENSE, "{name}");
        assert_eq!(v2.report().quarantined.len(), 1, "{name}");
    }
}

#[test]
fn a_forged_time_is_found_by_full_verification_only() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "v1"), "a", LICENSE);
    forge(&ground.path("v1/a"));
    assert_eq!(put(&ground.env(&store, "detect"), "a", LICENSE), Placed::Linked, "the limit");

    let careful = ground.store_with(Options::default().protection(Protection::Verify));
    let v2 = ground.env(&careful, "v2");
    assert_eq!(put(&v2, "a", LICENSE), Placed::WroteAndPublished);
    assert_eq!(fs::read(ground.path("v2/a")).unwrap(), LICENSE);
}

#[test]
fn verify_finds_heals_and_names_the_environment() {
    let ground = Ground::new();
    let store = ground.store();
    let v1 = ground.env(&store, "v1");
    put(&v1, "a", LICENSE);
    put(&v1, "b", b"fine\n");
    write_tree(&store, "package", "a");
    forge(&ground.path("v1/a"));
    fs::create_dir(ground.path("copies")).unwrap();
    fs::write(ground.path("copies/decoy"), [b'x'; LICENSE.len()]).unwrap();
    fs::write(ground.path("copies/good"), LICENSE).unwrap();

    let options =
        VerifyOptions::default().environment(ground.path("v1")).environment(ground.path("copies"));
    let looked = store.verify(options.clone().report_only(true)).unwrap();
    assert_eq!((looked.objects, looked.damaged.len()), (2, 1));
    assert_eq!(looked.damaged[0].quarantined, None);

    let report = store.verify(options.clone()).unwrap();
    let damage = &report.damaged[0];
    assert_eq!(damage.digest, Digest::of(LICENSE));
    assert_eq!(damage.shared_with, [ground.path("v1/a")]);
    assert_eq!(damage.healed, Some(HealedFrom::File(ground.path("copies/good"))));
    assert!(damage.quarantined.is_some());
    assert_eq!(store.verify(options).unwrap().damaged, []);
    store.tree("package").unwrap().unwrap().place(&ground.env(&store, "v2")).unwrap();
    assert_eq!(fs::read(ground.path("v2/a")).unwrap(), LICENSE);
}
