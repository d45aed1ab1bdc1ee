//! What holds on every platform, told without inodes and modes.

use std::fs;
use std::io::Write;

use cas_store::{Digest, Executable, Lookup, Options, Placed, Store, VerifyOptions};

use crate::ground::{Ground, names, put};

const HELLO: &[u8] = b"print('hello')\n";

#[test]
fn a_known_file_is_linked() {
    let ground = Ground::new();
    let store = ground.store();
    for (env, expected) in
        [("one", Placed::WroteAndPublished), ("two", Placed::Linked), ("three", Placed::Linked)]
    {
        assert_eq!(put(&ground.env(&store, env), "pkg/a.py", HELLO), expected);
        assert_eq!(fs::read(ground.path(env).join("pkg/a.py")).unwrap(), HELLO);
    }
    let stats = store.stats().unwrap();
    assert_eq!((stats.objects, stats.most_links, stats.unlinked), (1, 4, 0));
}

#[test]
fn an_edit_is_found_and_healed() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "one"), "a", HELLO);
    let mut file = fs::OpenOptions::new().append(true).open(ground.path("one").join("a")).unwrap();
    file.write_all(b"evil()\n").unwrap();
    drop(file);
    let two = ground.env(&store, "two");
    assert_eq!(put(&two, "a", HELLO), Placed::WroteAndPublished);
    assert_eq!(fs::read(ground.path("two").join("a")).unwrap(), HELLO);
    let bad = two.report().quarantined;
    let sharers = store.sharers(&bad, &[ground.path("one"), ground.path("two")]).unwrap();
    assert_eq!(sharers.len(), 1);
    assert_eq!(sharers[0].path, ground.path("one").join("a"));
    assert_eq!(store.verify(VerifyOptions::default()).unwrap().damaged, []);
}

#[test]
fn both_variants_exist_side_by_side() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    let digest = Digest::of(HELLO);
    for (path, executable) in [("plain", Executable::No), ("program", Executable::Yes)] {
        env.put(path, HELLO, digest, executable).unwrap();
        assert!(store.contains(digest, executable).unwrap());
    }
    put(&env, "late", HELLO);
    env.set_executable("late", digest, Executable::Yes).unwrap();
    assert_eq!(fs::read(ground.path("env").join("late")).unwrap(), HELLO);
    assert_eq!(names(&ground.path("env")), ["late", "plain", "program"]);
}

#[test]
fn a_file_is_published_after_its_close_on_any_thread() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    let digest = Digest::of(HELLO);
    let Lookup::Missing(mut new) = env.place_or_create("a", digest, Executable::No).unwrap() else {
        panic!("the store is empty")
    };
    new.write_all(HELLO).unwrap();
    let (file, publish) = new.into_parts().unwrap();
    let closer = std::thread::spawn(move || {
        drop(file);
        publish.run()
    });
    assert_eq!(closer.join().unwrap().unwrap(), Placed::WroteAndPublished);
    assert_eq!(put(&env, "b", HELLO), Placed::Linked);
}

#[test]
fn a_taken_path_is_refused_or_replaced() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    put(&env, "a", HELLO);
    let error = env.put("a", b"new", Digest::of(b"new"), Executable::No).unwrap_err();
    assert!(error.is_already_exists(), "{error:?}");
    for bytes in [&b"new"[..], b"new", b"", HELLO] {
        put(&env.replacing(), "a", bytes);
        assert_eq!(fs::read(ground.path("env").join("a")).unwrap(), bytes);
        assert_eq!(names(&ground.path("env")), ["a"]);
    }
}

#[test]
fn an_error_that_main_returns_is_a_sentence_with_its_cause() {
    let ground = Ground::new();
    let absent = ground.path("absent");
    let error = ground.store().destination(&absent).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    let wanted =
        format!("Error(failed to prepare the destination `{}`: {cause})", absent.display());
    assert_eq!(format!("{error:?}"), wanted);
}

#[test]
fn a_damaged_config_is_an_error_that_names_it() {
    let ground = Ground::new();
    drop(ground.store());
    let config = ground.path("store").join("v1").join("config");
    fs::write(&config, "hello").unwrap();
    let error = Store::open(ground.path("store"), Options::default()).unwrap_err();
    assert!(error.is_corrupt());
    assert_eq!(error.path(), Some(&*config));
}

#[test]
fn two_handles_that_fill_one_new_store_share_everything() {
    let ground = Ground::new();
    let (first, second) = (ground.store(), ground.store());
    let (one, two) = (ground.env(&first, "one"), ground.env(&second, "two"));
    for number in 0..600 {
        let (path, bytes) = (number.to_string(), format!("content {number}"));
        put(&one, &path, bytes.as_bytes());
        let placed = put(&two, &path, bytes.as_bytes());
        assert_eq!(placed, Placed::Linked, "{number}: found, or found out when publishing");
        assert_eq!(fs::read_to_string(ground.path("two").join(&path)).unwrap(), bytes);
    }
    let stats = first.stats().unwrap();
    assert_eq!((stats.objects, stats.unlinked, stats.most_links), (600, 0, 3));
}
