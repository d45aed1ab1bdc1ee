//! What Windows does differently, as far as it can be shown under Wine.
//!
//! Holders here share nothing, so that Wine and Windows agree on what is refused.

use std::fs::{self, File, OpenOptions};
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cas_store::{Digest, Executable, Placed, Store, SweepOptions};

use crate::ground::{Ground, names, put};

const HELLO: &[u8] = b"print('hello')\n";

/// Opens a file so that nobody else may read, replace or delete it meanwhile.
fn hold(path: &Path) -> File {
    OpenOptions::new().read(true).share_mode(0).open(path).unwrap()
}

fn sweep_all() -> SweepOptions {
    SweepOptions::default().grace(Duration::ZERO)
}

fn object(store: &Store) -> std::path::PathBuf {
    store.object_path(Digest::of(HELLO), Executable::No)
}

#[test]
fn an_installed_file_that_a_program_holds_can_still_be_linked_elsewhere() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "one"), "a", HELLO);
    let holder = hold(&ground.path("one/a"));
    assert_eq!(put(&ground.env(&store, "two"), "a", HELLO), Placed::Linked);
    assert_eq!(store.stats().unwrap().most_links, 3);
    drop(holder);
    assert_eq!(fs::read(ground.path("two/a")).unwrap(), HELLO);
}

#[test]
fn an_object_that_a_scanner_holds_is_kept_by_a_sweep_and_removed_by_the_next() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    put(&env, "a", HELLO);
    put(&env, "b", b"something else");
    fs::remove_file(ground.path("env/a")).unwrap();
    fs::remove_file(ground.path("env/b")).unwrap();
    let holder = hold(&object(&store));
    let report = store.sweep(sweep_all()).unwrap();
    assert_eq!((report.objects_removed, report.objects_kept), (1, 1));
    drop(holder);
    assert_eq!(store.sweep(sweep_all()).unwrap().objects_removed, 1);
    assert_eq!(store.stats().unwrap().objects, 0);
}

#[test]
fn a_second_sweep_meets_the_lock_of_the_first_and_placers_do_not() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    put(&env, "a", HELLO);
    store.sweep(sweep_all()).unwrap();
    let lock = ground.path("store").join("v1/sweep.lock");
    let holder = OpenOptions::new().write(true).open(lock).unwrap();
    holder.lock().unwrap();
    assert!(store.sweep(sweep_all()).unwrap_err().is_locked());
    assert_eq!(put(&env, "b", HELLO), Placed::Linked);
    drop(holder);
    store.sweep(sweep_all()).unwrap();
}

#[test]
fn the_read_only_attribute_of_one_link_is_of_all_and_stops_neither_links_nor_sweeps() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "one"), "a", HELLO);
    let mut permissions = fs::metadata(ground.path("one/a")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(ground.path("one/a"), permissions).unwrap();
    assert_eq!(put(&ground.env(&store, "two"), "a", HELLO), Placed::Linked);
    assert!(fs::metadata(ground.path("two/a")).unwrap().permissions().readonly());
    for env in ["one", "two"] {
        fs::remove_dir_all(ground.path(env)).unwrap();
    }
    assert_eq!(store.sweep(sweep_all()).unwrap().objects_removed, 1);
}

#[test]
fn names_of_devices_and_second_names_are_refused_before_anything_is_opened() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    for path in ["nul", "pkg/aux.py", "COM1.txt", "a.", "a ", "a:stream", "b\\c"] {
        let error = env.put(path, HELLO, Digest::of(HELLO), Executable::No).unwrap_err();
        assert!(error.is_unsafe_path(), "{path}: {error}");
    }
    assert!(names(&ground.path("env")).is_empty());
}

#[test]
fn paths_longer_than_260_characters_are_placed_linked_and_swept() {
    let ground = Ground::new();
    let store = ground.store();
    let folder = ["a folder with a name of thirty"; 10].join("/");
    for env in ["one", "two"] {
        let env = ground.env(&store, env);
        put(&env, &format!("{folder}/a"), HELLO);
        put(&env.replacing(), &format!("{folder}/a"), b"replaced");
        assert_eq!(fs::read(env.path().join(&folder).join("a")).unwrap(), b"replaced");
    }
    assert_eq!(store.stats().unwrap().most_links, 3);
    assert_eq!(store.sweep(sweep_all()).unwrap().objects_removed, 1);
}

/// Does nothing unless it was started by another test; then it is a program that runs for a while.
#[test]
fn as_a_program_that_waits_for_its_input() {
    if std::env::var_os("CAS_STORE_TEST_WAITS").is_some() {
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
}

#[test]
fn a_running_program_is_linked_elsewhere_but_not_replaced_until_it_ends() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    let bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
    put(&env, "tool.exe", &bytes);
    let mut child = Command::new(ground.path("env/tool.exe"))
        .args(["--exact", "windows::as_a_program_that_waits_for_its_input"])
        .env("CAS_STORE_TEST_WAITS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert_eq!(put(&ground.env(&store, "two"), "tool.exe", &bytes), Placed::Linked);
    let replacing = env.replacing();
    let error = replacing.put("tool.exe", HELLO, Digest::of(HELLO), Executable::No).unwrap_err();
    assert!(!error.is_unsafe_path() && error.path().is_some(), "{error}");
    assert_eq!(names(&ground.path("env")), ["tool.exe"], "no rest of the attempt");
    assert!(child.wait().unwrap().success());
    put(&replacing, "tool.exe", HELLO);
    assert_eq!(fs::read(ground.path("env/tool.exe")).unwrap(), HELLO);
    assert_eq!(fs::read(ground.path("two/tool.exe")).unwrap(), bytes);
}
