//! One file at a time: hits, misses, variants, and what is refused.

use std::fs;
use std::io::Write;

use cas_store::{Digest, Executable, Lookup, Means, Options, Placed, Store, TreeBuilder, Why};

use crate::ground::{Ground, inode, links, mode, names, put};

const HELLO: &[u8] = b"print('hello')\n";

#[test]
fn the_second_environment_gets_a_link_of_the_first_ones_file() {
    let ground = Ground::new();
    let store = ground.store();
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    assert_eq!(one.means(), Means::Hardlink);
    assert_eq!(put(&one, "pkg/a.py", HELLO), Placed::WroteAndPublished);
    assert_eq!(put(&two, "pkg/b.py", HELLO), Placed::Linked);
    assert_eq!(inode(&ground.path("one/pkg/a.py")), inode(&ground.path("two/pkg/b.py")));
    let object = store.object_path(Digest::of(HELLO), Executable::No);
    assert_eq!(links(&object), 3);
    assert_eq!(fs::read(object).unwrap(), HELLO);
    assert_eq!((one.report().published, two.report().linked), (1, 1));
}

#[test]
fn nothing_but_the_files_is_left_in_a_destination() {
    let ground = Ground::new();
    let store = ground.store();
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    put(&one, "a", HELLO);
    put(&two, "a", HELLO);
    put(&two.replacing(), "a", HELLO);
    put(&two.replacing(), "a", b"other");
    assert_eq!(names(&ground.path("one")), ["a"]);
    assert_eq!(names(&ground.path("two")), ["a"]);
    assert_eq!(names(&store.path().join("tmp")), [""; 0]);
}

#[test]
fn an_executable_is_another_object_with_its_bit() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    let digest = Digest::of(HELLO);
    env.put("plain", HELLO, digest, Executable::No).unwrap();
    env.put("program", HELLO, digest, Executable::Yes).unwrap();
    assert_eq!(mode(&ground.path("env/plain")) & 0o111, 0);
    assert_eq!(mode(&ground.path("env/program")) & 0o100, 0o100);
    let program = store.object_path(digest, Executable::Yes);
    assert_eq!(mode(&program), mode(&ground.path("env/program")));
    assert!(program.to_str().unwrap().ends_with('x'));
}

#[test]
fn empty_files_are_never_shared() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    for name in ["a", "b"] {
        assert_eq!(put(&env, name, b""), Placed::WrotePrivate(Why::Empty));
        assert_eq!(links(&ground.path("env").join(name)), 1);
    }
    assert!(!store.contains(Digest::EMPTY, Executable::No).unwrap());
}

#[test]
fn a_taken_destination_is_an_error_and_stays_as_it_was() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    put(&env, "a", HELLO);
    for bytes in [HELLO, b"other"] {
        let error = env.put("a", bytes, Digest::of(bytes), Executable::No).unwrap_err();
        assert!(error.is_already_exists(), "{error:?}");
    }
    assert_eq!(fs::read(ground.path("env/a")).unwrap(), HELLO);
}

#[test]
fn a_path_that_leaves_the_destination_is_refused() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    for path in ["../a", "/a", "a/../../b", "a//b", ""] {
        let error = env.put(path, HELLO, Digest::of(HELLO), Executable::No).unwrap_err();
        assert!(error.is_unsafe_path(), "{path}: {error:?}");
    }
    fs::create_dir(ground.path("outside")).unwrap();
    std::os::unix::fs::symlink(ground.path("outside"), ground.path("env/link")).unwrap();
    env.put("link/a", HELLO, Digest::of(HELLO), Executable::No).unwrap_err();
    assert_eq!(names(&ground.path("outside")), [""; 0]);
}

#[test]
fn a_streamed_file_becomes_a_link_when_the_store_has_it() {
    let ground = Ground::new();
    let store = ground.store();
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    let mut placed = Vec::new();
    for env in [&one, &two] {
        let mut new = env.create("big", Executable::No).unwrap();
        new.write_all(HELLO).unwrap();
        let (file, publish) = new.finish(Digest::of(HELLO)).unwrap();
        drop(file);
        placed.push(publish.run().unwrap());
    }
    assert_eq!(placed, [Placed::WroteAndPublished, Placed::Linked]);
    assert_eq!(inode(&ground.path("one/big")), inode(&ground.path("two/big")));
}

#[test]
fn publishing_can_run_on_the_thread_that_closed_the_file() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    let digest = Digest::of(HELLO);
    let Lookup::Missing(mut new) = env.place_or_create("a", digest, Executable::No).unwrap() else {
        panic!("the store is empty")
    };
    new.write_all(HELLO).unwrap();
    let (file, publish) = new.into_parts().unwrap();
    assert!(!store.contains(digest, Executable::No).unwrap(), "nothing is published while open");
    let closer = std::thread::spawn(move || {
        drop(file);
        publish.run()
    });
    assert_eq!(closer.join().unwrap().unwrap(), Placed::WroteAndPublished);
    assert!(store.contains(digest, Executable::No).unwrap());
    let found = env.place_or_create("b", digest, Executable::No).unwrap();
    assert!(matches!(found, Lookup::Found(Placed::Linked)));
}

#[test]
fn a_file_that_was_given_up_is_removed() {
    let ground = Ground::new();
    let store = ground.store();
    let env = ground.env(&store, "env");
    let mut new = env.create("half", Executable::No).unwrap();
    new.write_all(HELLO).unwrap();
    drop(new);
    let mut new = env.create("unpublished", Executable::No).unwrap();
    new.write_all(HELLO).unwrap();
    drop(new.finish(Digest::of(HELLO)).unwrap());
    assert_eq!(names(&ground.path("env")), [""; 0]);
}

#[test]
fn a_late_executable_bit_relinks_to_the_other_variant() {
    let ground = Ground::new();
    let store = ground.store();
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    let digest = Digest::of(HELLO);
    for env in [&one, &two] {
        put(env, "bin/tool", HELLO);
        env.set_executable("bin/tool", digest, Executable::Yes).unwrap();
        put(env, "empty", b"");
        env.set_executable("empty", Digest::EMPTY, Executable::Yes).unwrap();
        assert_eq!(names(&env.path().join("bin")), ["tool"]);
        assert_eq!(mode(&env.path().join("empty")) & 0o100, 0o100);
    }
    assert_eq!(inode(&ground.path("one/bin/tool")), inode(&ground.path("two/bin/tool")));
    assert_eq!(mode(&ground.path("two/bin/tool")) & 0o111, 0o111);
    let plain = store.object_path(digest, Executable::No);
    assert_eq!((mode(&plain) & 0o111, links(&plain)), (0, 1));
}

#[test]
fn an_edited_object_is_detected_set_aside_and_made_anew() {
    let ground = Ground::new();
    let store = ground.store();
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    put(&one, "a", HELLO);
    let mut file = fs::OpenOptions::new().append(true).open(ground.path("one/a")).unwrap();
    file.write_all(b"evil()\n").unwrap();
    drop(file);
    assert_eq!(put(&two, "a", HELLO), Placed::WroteAndPublished);
    assert_eq!(fs::read(ground.path("two/a")).unwrap(), HELLO);
    let bad = two.report().quarantined;
    assert_eq!((bad.len(), bad[0].digest, bad[0].other_links), (1, Digest::of(HELLO), 1));
    assert_eq!(names(&store.path().join("quarantine")), [bad[0].file.clone()]);
}

#[test]
fn private_files_share_no_inode_with_their_object() {
    let ground = Ground::new();
    let store = ground.store_with(Options::default().private(|path, _| path == "RECORD"));
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    assert_eq!(put(&one, "RECORD", HELLO), Placed::WroteAndPublished);
    assert_eq!(put(&two, "RECORD", HELLO), Placed::Copied);
    assert_eq!(put(&two, "other", HELLO), Placed::Linked);
    assert_eq!(links(&ground.path("one/RECORD")), 1);
    assert_eq!(links(&ground.path("two/RECORD")), 1);
    fs::write(ground.path("one/RECORD"), "changed").unwrap();
    assert_eq!(fs::read(ground.path("two/other")).unwrap(), HELLO);
}

#[test]
fn a_newer_store_is_refused_untouched() {
    let ground = Ground::new();
    drop(ground.store());
    let config = ground.path("store/v1/config");
    let newer = fs::read_to_string(&config).unwrap().replace("reader = 1", "reader = 2");
    fs::write(&config, &newer).unwrap();
    fs::remove_dir(ground.path("store/v1/trees")).unwrap();
    let error = Store::open(ground.path("store"), Options::default()).unwrap_err();
    assert!(error.is_newer_store(), "{error:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), newer);
    assert!(!ground.path("store/v1/trees").exists(), "the store was not repaired");
}

#[test]
fn what_is_no_regular_file_never_enters_an_environment() {
    let digest = Digest::of(HELLO);
    for kind in ["symlink", "folder", "pipe"] {
        let ground = Ground::new();
        let store = ground.store();
        let object = store.object_path(digest, Executable::No);
        fs::create_dir(object.parent().unwrap()).unwrap();
        match kind {
            "symlink" => std::os::unix::fs::symlink("/etc/passwd", &object).unwrap(),
            "folder" => fs::create_dir(&object).unwrap(),
            _ => assert!(
                std::process::Command::new("mkfifo").arg(&object).status().unwrap().success()
            ),
        }
        assert_eq!(
            put(&ground.env(&store, "env"), "a", HELLO),
            Placed::WroteAndPublished,
            "{kind}"
        );
        let metadata = fs::symlink_metadata(ground.path("env/a")).unwrap();
        assert!(metadata.is_file(), "{kind}");
        assert_eq!(fs::read(object).unwrap(), HELLO, "{kind}");
        let report = store.verify(cas_store::VerifyOptions::default()).unwrap();
        assert_eq!(report.damaged, [], "{kind}");
    }
}

/// The time that an empty object named `digest` would have, as `docs/LAYOUT.md` computes it.
fn time_of_no_bytes(digest: Digest) -> std::time::SystemTime {
    let number = |at: usize| {
        let bytes: [u8; 4] = digest.as_bytes()[at..at + 4].try_into().unwrap();
        u32::from_le_bytes(bytes)
    };
    let seconds = 631_152_000 + u64::from(number(0) % 536_457_600);
    std::time::UNIX_EPOCH + std::time::Duration::new(seconds, number(4) % 10_000_000 * 100)
}

#[test]
fn a_pipe_with_the_time_and_the_mode_of_an_object_is_none() {
    let ground = Ground::new();
    let store = ground.store();
    put(&ground.env(&store, "env"), "other", b"shows the mode of objects");
    let digest = Digest::of(HELLO);
    let object = store.object_path(digest, Executable::No);
    fs::create_dir_all(object.parent().unwrap()).unwrap();
    let mode = format!("{:o}", mode(&ground.path("env/other")));
    let made = std::process::Command::new("mkfifo").args(["-m", &mode]).arg(&object).status();
    assert!(made.unwrap().success());
    // For both directions, so that nobody waits for another end.
    let pipe = fs::OpenOptions::new().read(true).write(true).open(&object).unwrap();
    pipe.set_modified(time_of_no_bytes(digest)).unwrap();
    // The handle that made the store knows what is in it and would not look.
    let env = ground.env(&ground.store(), "env");
    let found = env.place_or_create("a", digest, Executable::No).unwrap();
    assert!(matches!(found, Lookup::Missing(_)), "{found:?}");
}

#[test]
fn set_id_bits_never_survive() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let store = ground.store();
    let digest = Digest::of(HELLO);
    ground.env(&store, "one").put("tool", HELLO, digest, Executable::Yes).unwrap();
    fs::set_permissions(ground.path("one/tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    ground.env(&store, "two").put("tool", HELLO, digest, Executable::Yes).unwrap();
    assert_eq!(mode(&ground.path("two/tool")), 0o755);
}

#[test]
fn a_missing_object_is_made_from_its_other_variant() {
    let ground = Ground::new();
    let store = ground.store();
    let one = ground.env(&store, "one");
    put(&one, "tool", b"#!/bin/sh\n");
    let mut tree = TreeBuilder::new();
    tree.file("tool", Digest::of(b"#!/bin/sh\n"), Executable::Yes, 10).unwrap();
    tree.build().unwrap().place(&ground.env(&store, "two")).unwrap();
    assert_eq!(mode(&ground.path("two/tool")) & 0o111, 0o111);
    assert_eq!(links(&ground.path("two/tool")), 2);
    assert_eq!(names(&store.path().join("tmp")), [""; 0]);
}

#[test]
fn an_object_without_its_last_bytes_is_never_placed_even_when_the_size_is_unknown() {
    let digest = Digest::of(HELLO);
    for left in 0..HELLO.len() as u64 {
        let ground = Ground::new();
        let store = ground.store();
        put(&ground.env(&store, "one"), "a", HELLO);
        let object = store.object_path(digest, Executable::No);
        let time = fs::metadata(&object).unwrap().modified().unwrap();
        let file = fs::OpenOptions::new().write(true).open(&object).unwrap();
        file.set_len(left).unwrap();
        file.set_modified(time).unwrap();
        let two = ground.env(&store, "two");
        let found = two.place_or_create("a", digest, Executable::No).unwrap();
        assert!(matches!(found, Lookup::Missing(_)), "{left} bytes were left");
    }
}

#[test]
fn a_size_decides_about_privacy_also_when_the_caller_does_not_know_it() {
    let ground = Ground::new();
    let store = ground.store_with(Options::default().private(|_, size| size > 10));
    let (one, two) = (ground.env(&store, "one"), ground.env(&store, "two"));
    put(&one, "a", HELLO);
    put(&one, "small", b"small");
    for (path, bytes, expected) in
        [("a", HELLO, Placed::Copied), ("small", b"small", Placed::Linked)]
    {
        let found = two.place_or_create(path, Digest::of(bytes), Executable::No).unwrap();
        assert!(matches!(found, Lookup::Found(placed) if placed == expected), "{path}: {found:?}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_copied_either() {
    let digest = Digest::of(HELLO);
    let ground = Ground::new();
    let store = ground.store_with(Options::default().protection(cas_store::Protection::Cow));
    let object = store.object_path(digest, Executable::No);
    fs::create_dir(object.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &object).unwrap();
    assert_eq!(put(&ground.env(&store, "env"), "a", HELLO), Placed::WroteAndPublished);
    assert_eq!(fs::read(ground.path("env/a")).unwrap(), HELLO);
    assert_eq!(fs::read(object).unwrap(), HELLO);
}
