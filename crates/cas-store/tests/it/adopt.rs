//! Sharing a folder that was filled without the store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use cas_store::{AdoptOptions, Digest, Executable, Placed};

use crate::ground::{Ground, inode, links, put};

const BIG: &[u8] = &[7; 10_000];

fn settled() -> AdoptOptions {
    // Files of a test are never older than a moment.
    AdoptOptions::default().settled_for(Duration::ZERO)
}

fn two_copies(ground: &Ground) {
    for env in ["one", "two"] {
        fs::create_dir_all(ground.path(env).join("pkg")).unwrap();
        fs::write(ground.path(env).join("pkg/big"), BIG).unwrap();
        fs::write(ground.path(env).join("pkg/empty"), b"").unwrap();
        fs::write(ground.path(env).join(env), env).unwrap();
    }
}

#[test]
fn equal_files_of_a_tree_become_one() {
    let ground = Ground::new();
    let store = ground.store();
    two_copies(&ground);
    let dry = store.adopt(ground.path("one"), settled().dry_run(true)).unwrap();
    assert_eq!((dry.files, dry.added, dry.linked), (3, 2, 0));
    assert_eq!(links(&ground.path("one/pkg/big")), 1);

    let first = store.adopt(ground.path("one"), settled()).unwrap();
    let second = store.adopt(ground.path("two"), settled()).unwrap();
    assert_eq!((first.added, first.linked, first.skipped.empty), (2, 0, 1));
    assert_eq!((second.added, second.linked), (1, 1));
    assert!(second.bytes_freed >= 10_000, "{second:?}");
    assert_eq!(inode(&ground.path("one/pkg/big")), inode(&ground.path("two/pkg/big")));
    assert_eq!(fs::read(ground.path("two/pkg/big")).unwrap(), BIG);
    let again = store.adopt(ground.path("two"), settled()).unwrap();
    assert_eq!((again.added, again.linked, again.shared_already), (0, 0, 2));
    assert_eq!(put(&ground.env(&store, "three"), "big", BIG), Placed::Linked);
}

#[test]
fn what_somebody_could_miss_is_passed_over() {
    let ground = Ground::new();
    let store = ground.store();
    fs::create_dir(ground.path("env")).unwrap();
    let write = |name: &str, mode| {
        let path = ground.path("env").join(name);
        fs::write(&path, name).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    write("plain", 0o644);
    write("set-id", 0o4755);
    write("secret", 0o600);
    write("asked", 0o644);
    fs::hard_link(ground.path("env/plain"), ground.path("env/plain-too")).unwrap();
    std::os::unix::fs::symlink("plain", ground.path("env/link")).unwrap();
    let options = settled().skip(|path| path.ends_with("asked"));
    let report = store.adopt(ground.path("env"), options).unwrap();
    assert_eq!((report.files, report.added, report.linked), (5, 0, 0), "{report:?}");
    assert_eq!((report.skipped.special, report.skipped.asked), (4, 1));
    let fresh = store.adopt(ground.path("env"), AdoptOptions::default()).unwrap();
    assert!(fresh.skipped.busy > 0, "files of this moment may still be open");
}

#[test]
fn an_adopted_program_keeps_its_bit() {
    let ground = Ground::new();
    let store = ground.store();
    fs::create_dir(ground.path("env")).unwrap();
    fs::write(ground.path("env/tool"), BIG).unwrap();
    fs::set_permissions(ground.path("env/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(store.adopt(ground.path("env"), settled()).unwrap().added, 1);
    assert!(store.contains(Digest::of(BIG), Executable::Yes).unwrap());
    assert!(!store.contains(Digest::of(BIG), Executable::No).unwrap());
}
