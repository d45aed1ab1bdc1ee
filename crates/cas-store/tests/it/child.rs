//! Other processes: this test binary, started again with a role.
//!
//! A role is a word and arguments in one variable. Without it the same test runs the roles here, one
//! after the other, so it can fail on its own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use cas_store::{Digest, Executable, Options, Placed, Store, SweepOptions, TreeBuilder};

use crate::ground::{Ground, can_run, links, mode};

const ROLE: &str = "CAS_STORE_TEST_ROLE";

/// Starts this binary as `role`, under `umask` and as `user` when given.
pub(crate) fn command(role: &[&str], umask: Option<&str>, user: Option<u32>) -> Command {
    let me = std::env::current_exe().unwrap();
    let mut command = Command::new("sh");
    let script = format!("umask {}; exec \"$0\" \"$@\"", umask.unwrap_or("022"));
    command.args(["-c", &script]).arg(me);
    command.args(["--exact", "child::every_role_does_its_work", "--nocapture"]);
    command.env(ROLE, role.join("\n"));
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    command.stdout(std::process::Stdio::null());
    command
}

pub(crate) fn spawn(role: &[&str]) -> Child {
    command(role, None, None).spawn().unwrap()
}

pub(crate) fn run(role: &[&str], umask: Option<&str>, user: Option<u32>) {
    let output = command(role, umask, user).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{role:?} failed: {text}");
}

/// The content of file number `seed`: a few sizes, also beyond one buffer.
pub(crate) fn content(seed: u64) -> Vec<u8> {
    let length = [40, 700, 3000, 70_000][usize::try_from(seed % 4).unwrap()];
    let line = format!("content {seed}\n");
    line.as_bytes().iter().copied().cycle().take(length).collect()
}

/// A small generator, so that a role can be repeated.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[test]
fn every_role_does_its_work() {
    if let Ok(role) = std::env::var(ROLE) {
        play(&role.split('\n').collect::<Vec<_>>());
        return;
    }
    let ground = Ground::new();
    let store = ground.path("store");
    let store = store.to_str().unwrap();
    let env = ground.path("env");
    play(&["install", store, env.to_str().unwrap(), "7", "200"]);
    play(&["put", store, ground.path("one").to_str().unwrap(), "WroteAndPublished"]);
    play(&["put", store, ground.path("two").to_str().unwrap(), "Linked"]);
    play(&["sweep", store, "3"]);
    assert!(check_journal(&env) > 10, "the installer wrote a journal");
}

fn play(role: &[&str]) {
    match role {
        ["install", store, env, seed, steps] => {
            install(
                Path::new(store),
                Path::new(env),
                seed.parse().unwrap(),
                steps.parse().unwrap(),
            );
        }
        ["sweep", store, rounds] => sweep(Path::new(store), rounds.parse().unwrap()),
        ["put", store, env, expected] => put(Path::new(store), Path::new(env), expected),
        ["race", store, env, stop] => race(Path::new(store), Path::new(env), stop),
        ["drop first", store, env, stop] => drop_first(Path::new(store), Path::new(env), stop),
        other => panic!("no such role: {other:?}"),
    }
}

/// How many different files the storm is about: few, so that everybody meets.
pub(crate) const CONTENTS: u64 = 48;

/// Installs, places trees, and deletes, at random. Each finished file gets a line in a journal.
fn install(store: &Path, env: &Path, seed: u64, steps: u64) {
    let store = Store::open(store, Options::default()).unwrap();
    let mut random = Random(seed | 1);
    fs::create_dir_all(env).unwrap();
    let mut journal = File::options().create(true).append(true).open(env.join("journal")).unwrap();
    // Ends the half line of a process that was killed.
    journal.write_all(b"\n").unwrap();
    // A line counts when it has its end mark; it is written by one call.
    let mut note = move |line: String| journal.write_all(format!("{line} .\n").as_bytes()).unwrap();
    let mut open = BTreeSet::new();
    for step in 0..steps {
        let folder = format!("{seed}-{step}");
        let path = env.join(&folder);
        fs::create_dir(&path).unwrap();
        let destination = store.destination(&path).unwrap();
        let mut tree = TreeBuilder::new();
        for number in 0..=random.below(12) {
            let content_seed = random.below(CONTENTS);
            let (bytes, executable) = (content(content_seed), random.below(4) == 0);
            let (digest, executable) = (Digest::of(&bytes), Executable::from(executable));
            let name = number.to_string();
            if random.below(3) == 0 {
                let mut new = destination.create(&name, executable).unwrap();
                new.write_all(&bytes).unwrap();
                let (file, publish) = new.finish(digest).unwrap();
                drop(file);
                publish.run().unwrap();
            } else {
                destination.put(&name, &bytes, digest, executable).unwrap();
            }
            tree.file(&name, digest, executable, bytes.len() as u64).unwrap();
            note(format!("{folder}/{number} {content_seed}"));
        }
        let key = format!("tree {}", random.below(6));
        match random.below(6) {
            0 => store.write_tree(&key, &tree.build().unwrap()).unwrap(),
            1 => drop(store.remove_tree(&key).unwrap()),
            2 => place_tree(&store, &key, &env.join(format!("{folder}-placed"))),
            _ => {}
        }
        open.insert(folder);
        if random.below(2) == 0 {
            let oldest = open.pop_first().unwrap();
            note(format!("{oldest} gone"));
            fs::remove_dir_all(env.join(oldest)).unwrap();
        }
    }
}

/// Places a tree if there is one. What is missing is said so; what is placed is right.
fn place_tree(store: &Store, key: &str, folder: &Path) {
    let Some(tree) = store.tree(key).unwrap() else { return };
    fs::create_dir(folder).unwrap();
    let missing = match tree.place(&store.destination(folder).unwrap()) {
        Ok(_) => Vec::new(),
        Err(error) => {
            assert!(error.is_missing(), "{error}");
            error.missing().iter().map(|missing| missing.path.clone()).collect()
        }
    };
    for file in tree.files().iter().filter(|file| !missing.contains(&file.path)) {
        let bytes = fs::read(folder.join(&file.path)).unwrap();
        assert_eq!(Digest::of(&bytes), file.digest, "{}", file.path);
    }
    fs::remove_dir_all(folder).unwrap();
}

/// Checks every file that a journal says was finished and not deleted; returns how many.
pub(crate) fn check_journal(env: &Path) -> u64 {
    let journal = fs::read_to_string(env.join("journal")).unwrap_or_default();
    let lines = || journal.lines().filter_map(|line| line.strip_suffix(" ."));
    let gone: BTreeSet<_> = lines().filter_map(|line| line.strip_suffix(" gone")).collect();
    let mut checked = 0;
    for line in lines().filter(|line| !line.ends_with(" gone")) {
        let (path, seed) = line.split_once(' ').unwrap();
        let (folder, _) = path.split_once('/').unwrap();
        if !gone.contains(folder) {
            let bytes = fs::read(env.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(bytes == content(seed.parse().unwrap()), "{path} has wrong bytes");
            checked += 1;
        }
    }
    checked
}

/// Sweeps again and again, without any grace.
fn sweep(store: &Path, rounds: u64) {
    let store = Store::open(store, Options::default()).unwrap();
    for _ in 0..rounds {
        match store.sweep(SweepOptions::default().grace(Duration::ZERO)) {
            Err(error) if !error.is_locked() => panic!("{error:?}"),
            _ => {}
        }
    }
}

/// Puts one file and says what must have happened.
fn put(store: &Path, env: &Path, expected: &str) {
    let store = Store::open(store, Options::default()).unwrap();
    fs::create_dir_all(env).unwrap();
    let destination = store.destination(env).unwrap();
    let (bytes, digest) = (b"shared by users\n", Digest::of(b"shared by users\n"));
    let placed = destination.put("file", bytes, digest, Executable::No).unwrap();
    assert_eq!(format!("{placed:?}"), expected);
    assert_eq!(fs::read(env.join("file")).unwrap(), bytes);
}

/// The files that racers contest: path, digest, bytes.
fn contested() -> Vec<(String, Digest, Vec<u8>)> {
    (0..256)
        .map(|number: u64| {
            let bytes = format!("contested {number}\n").into_bytes();
            (number.to_string(), Digest::of(&bytes), bytes)
        })
        .collect()
}

/// Installs the same files and deletes them, over and over, until told to stop; every destination is
/// read back. Writes how many it made, and how many of them were lost.
fn race(store: &Path, env: &Path, stop: &str) {
    let store = Store::open(store, Options::default()).unwrap();
    fs::create_dir_all(env).unwrap();
    let destination = store.destination(env).unwrap();
    race_with(env, stop, |name, digest, bytes| {
        let placed = destination.put(name, bytes, digest, Executable::No).unwrap();
        assert!(!matches!(placed, Placed::WrotePrivate(_)), "{placed:?}");
    });
}

/// The same by the order that needs a lock: write, link to the store; when that has it, drop the
/// duplicate and link the object back.
fn drop_first(store: &Path, env: &Path, stop: &str) {
    let store = Store::open(store, Options::default()).unwrap();
    fs::create_dir_all(env).unwrap();
    race_with(env, stop, |name, digest, bytes| {
        let (path, object) = (env.join(name), store.object_path(digest, Executable::No));
        fs::write(&path, bytes).unwrap();
        fs::create_dir_all(object.parent().unwrap()).unwrap();
        if fs::hard_link(&path, &object).is_err() {
            fs::remove_file(&path).unwrap();
            // Nothing to be done about it: the bytes were in the file that is gone.
            fs::hard_link(&object, &path).unwrap_or(());
        }
    });
}

fn race_with(env: &Path, stop: &str, mut place: impl FnMut(&str, Digest, &[u8])) {
    let (files, mut made, mut lost) = (contested(), 0_u64, 0_u64);
    while !Path::new(stop).exists() {
        for (name, digest, bytes) in &files {
            place(name, *digest, bytes);
            made += 1;
        }
        for (name, _, bytes) in &files {
            let found = fs::read(env.join(name)).ok();
            lost += u64::from(found.is_none_or(|found| found != *bytes));
            fs::remove_file(env.join(name)).unwrap_or(());
        }
        fs::write(env.join("lost"), lost.to_string()).unwrap();
    }
    fs::write(env.join("made"), made.to_string()).unwrap();
}

/// A folder that any user may enter and write to.
fn open_to_all(path: &Path) -> PathBuf {
    fs::create_dir_all(path).unwrap();
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(path, all).unwrap();
    path.to_path_buf()
}

const NOBODY: u32 = 65534;

/// A store that root put a file into and any user may add to, as a shared cache folder would be.
fn a_shared_store_and_nobodys_folder(ground: &Ground) -> (String, PathBuf) {
    open_to_all(ground.root.path());
    let env = open_to_all(&ground.path("nobody"));
    let store = ground.path("store").to_str().unwrap().to_owned();
    run(&["put", &store, ground.path("root").to_str().unwrap(), "WroteAndPublished"], None, None);
    let chmod = Command::new("chmod").args(["-R", "a+rwX", &store]).status().unwrap();
    assert!(chmod.success());
    (store, env)
}

#[test]
fn another_users_object_is_copied_where_hard_links_are_protected() {
    if !can_run(true, &["chmod"]) {
        return;
    }
    let setting = "/proc/sys/fs/protected_hardlinks";
    let before = fs::read_to_string(setting).unwrap();
    assert_eq!(before.trim(), "1", "this test needs the default of every distribution: {setting}");
    let ground = Ground::new();
    let (store, env) = a_shared_store_and_nobodys_folder(&ground);
    let object = fs::read_dir(ground.path("store/v1/objects"))
        .unwrap()
        .flat_map(|shard| fs::read_dir(shard.unwrap().path()).unwrap())
        .map(|object| object.unwrap().path())
        .next()
        .unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&object, private).unwrap();
    run(&["put", &store, env.to_str().unwrap(), "Copied"], None, Some(NOBODY));
    assert_eq!((links(&object), links(&env.join("file"))), (2, 1));
}

#[test]
fn a_stricter_umask_gets_copies_and_a_looser_one_gets_links() {
    let ground = Ground::new();
    let store = ground.path("store");
    let store = store.to_str().unwrap();
    let env = |name| ground.path(name).to_str().unwrap().to_owned();
    run(&["put", store, &env("022"), "WroteAndPublished"], Some("022"), None);
    run(&["put", store, &env("002"), "Linked"], Some("002"), None);
    run(&["put", store, &env("077"), "Copied"], Some("077"), None);
    assert_eq!(mode(&ground.path("002/file")), 0o644);
    assert_eq!(mode(&ground.path("077/file")), 0o600, "as private as its user wants it");
    assert_eq!(links(&ground.path("022/file")), 3);
}

#[test]
fn a_private_users_store_is_private() {
    let ground = Ground::new();
    let store = ground.path("store");
    let store = store.to_str().unwrap();
    let env = |name| ground.path(name).to_str().unwrap().to_owned();
    run(&["put", store, &env("one"), "WroteAndPublished"], Some("077"), None);
    run(&["put", store, &env("two"), "Linked"], Some("077"), None);
    assert_eq!(mode(&ground.path("two/file")), 0o600);
    assert_eq!(mode(&ground.path("store/v1/objects")), 0o700);
}

#[test]
fn a_shard_that_is_closed_to_a_user_costs_sharing_and_nothing_else() {
    if !can_run(true, &["chmod"]) {
        return;
    }
    let ground = Ground::new();
    let (store, env) = a_shared_store_and_nobodys_folder(&ground);
    for shard in fs::read_dir(ground.path("store/v1/objects")).unwrap() {
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(shard.unwrap().path(), closed).unwrap();
    }
    let refused = "WrotePrivate(Refused(13))";
    run(&["put", &store, env.to_str().unwrap(), refused], None, Some(NOBODY));
}
