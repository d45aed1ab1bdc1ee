//! Options: protection, sharing, access, durability.

use std::fs;
use std::io::Write;

use cas_store::{
    Access, Digest, Executable, Means, Options, Placed, Protection, Sharing, Store, TreeBuilder,
    Why,
};

use crate::ground::{Ground, links, mode, put};

#[test]
fn a_read_only_object_store_takes_the_write_bits_away() {
    let ground = Ground::new();
    let store = ground.store_with(Options::default().protection(Protection::ReadOnly));
    put(&ground.env(&store, "one"), "a", b"bytes");
    assert_eq!(put(&ground.env(&store, "two"), "a", b"bytes"), Placed::Linked);
    assert_eq!(mode(&ground.path("two/a")) & 0o222, 0);
    drop(store);
    let plain = Ground::new();
    drop(plain.store());
    let options = Options::default().protection(Protection::ReadOnly);
    let error = Store::open(plain.path("store"), options).unwrap_err();
    assert!(error.is_different_settings(), "{error}");
}

#[test]
fn copy_on_write_shares_no_inode() {
    let ground = Ground::new();
    let store = ground.store_with(Options::default().protection(Protection::Cow));
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    assert_ne!(one.means(), Means::Hardlink);
    assert_eq!(put(&one, "a", b"bytes"), Placed::WroteAndPublished);
    let placed = put(&two, "a", b"bytes");
    assert!(matches!(placed, Placed::Reflinked | Placed::Copied), "{placed:?}");
    let object = store.object_path(Digest::of(b"bytes"), Executable::No);
    assert_eq!((links(&ground.path("one/a")), links(&object)), (1, 1));
    fs::write(ground.path("one/a"), "edited").unwrap();
    assert_eq!(fs::read(object).unwrap(), b"bytes");
}

#[test]
fn a_store_opened_read_only_is_used_and_not_changed() {
    let ground = Ground::new();
    put(&ground.env(&ground.store(), "one"), "a", b"bytes");
    let before = tree_of(&ground);
    let store = ground.store_with(Options::default().access(Access::ReadOnly));
    let env = ground.env(&store, "two");
    assert_eq!(put(&env, "a", b"bytes"), Placed::Linked);
    assert_eq!(put(&env, "b", b"other"), Placed::WrotePrivate(Why::ReadOnlyStore));
    assert_eq!(tree_of(&ground), before);
    let absent = Options::default().access(Access::ReadOnly);
    let error = Store::open(ground.path("nothing"), absent).unwrap_err();
    assert!(error.is_not_found() && !ground.path("nothing").exists());
}

/// Every file of the store.
fn tree_of(ground: &Ground) -> Vec<std::path::PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![ground.path("store")]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn a_bad_object_of_a_read_only_store_is_not_handed_out() {
    let ground = Ground::new();
    put(&ground.env(&ground.store(), "one"), "a", b"bytes");
    let mut file = fs::OpenOptions::new().append(true).open(ground.path("one/a")).unwrap();
    file.write_all(b"!").unwrap();
    drop(file);
    let before = tree_of(&ground);
    let store = ground.store_with(Options::default().access(Access::ReadOnly));
    let env = ground.env(&store, "two");
    assert_eq!(put(&env, "a", b"bytes"), Placed::WrotePrivate(Why::ReadOnlyStore));
    assert_eq!(fs::read(ground.path("two/a")).unwrap(), b"bytes");
    assert_eq!(tree_of(&ground), before);
}

#[test]
fn a_group_store_is_writable_by_the_group_whatever_the_umask() {
    let ground = Ground::new();
    let store = ground.store_with(Options::default().sharing(Sharing::Group));
    let env = ground.env(&store, "one");
    put(&env, "a", b"bytes");
    env.put("tool", b"bytes", Digest::of(b"bytes"), Executable::Yes).unwrap();
    assert_eq!(mode(&ground.path("one/a")) & 0o664, 0o664);
    assert_eq!(mode(&ground.path("one/tool")) & 0o775, 0o775);
    let object = store.object_path(Digest::of(b"bytes"), Executable::No);
    assert_eq!(mode(object.parent().unwrap()), 0o2775);
    assert_eq!(put(&ground.env(&store, "two"), "a", b"bytes"), Placed::Linked);
}

#[test]
fn a_durable_store_keeps_the_same_promises() {
    let ground = Ground::new();
    let options = Options::default().durability(cas_store::Durability::Durable);
    let store = ground.store_with(options);
    put(&ground.env(&store, "one"), "a", b"bytes");
    let mut tree = TreeBuilder::new();
    tree.file("a", Digest::of(b"bytes"), Executable::No, 5).unwrap();
    store.write_tree("key", &tree.build().unwrap()).unwrap();
    store.tree("key").unwrap().unwrap().place(&ground.env(&store, "two")).unwrap();
}

#[test]
fn parts_of_a_tree_are_placed_by_several_threads() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "one");
    let mut tree = TreeBuilder::new();
    for number in 0..200_u32 {
        let (path, bytes) = (format!("d{}/f{number}", number % 7), number.to_string());
        put(&env, &path, bytes.as_bytes());
        let digest = Digest::of(bytes.as_bytes());
        tree.file(&path, digest, Executable::No, bytes.len() as u64).unwrap();
    }
    let tree = tree.build().unwrap();
    for count in [1, 3, 8, 1000] {
        let parts = tree.parts(count);
        assert!(parts.len() <= count, "{} parts of {count}", parts.len());
        let two = &ground.env(&store, &format!("env{count}"));
        std::thread::scope(|scope| {
            for part in parts {
                scope.spawn(move || part.place(two).unwrap());
            }
        });
        assert_eq!(two.report().linked, 200);
    }
}

#[test]
fn two_creators_of_one_store_agree() {
    let ground = Ground::new();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let ground = &ground;
            scope.spawn(move || {
                let store = ground.store();
                put(&ground.env(&store, name), "x", b"bytes");
            });
        }
    });
    let object = ground.store().object_path(Digest::of(b"bytes"), Executable::No);
    assert_eq!(links(&object), 5);
}
