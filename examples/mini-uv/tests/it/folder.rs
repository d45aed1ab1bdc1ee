//! The cache's folder as it may be: not there, not writable, not possible, not wanted.
//!
//! A cache only spares work. What needs none must run without one, what can use one that it may not
//! write must do so, and what cannot go on must say why and what to do.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wheel::{Wheel, hex};
use crate::world::{Environment, Ran, World, picture};

fn sample() -> Wheel {
    Wheel::module("sample", "1.0").file("sample/data.txt", "data of the sample\n")
}

fn other() -> Wheel {
    Wheel::module("other", "2.0").file("other/data.txt", "data of the other\n")
}

/// A folder that shows another one and cannot be written, by anyone; unmounted when dropped.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn view(of: &Path, at: &Path) -> Self {
        std::fs::create_dir_all(at).unwrap();
        let mount = |command: &mut Command| assert!(command.arg(at).status().unwrap().success());
        mount(Command::new("mount").arg("--bind").arg(of));
        let view = Self(at.to_owned());
        mount(Command::new("mount").args(["-o", "remount,bind,ro"]));
        view
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _status = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A place where no folder can be made, whoever asks.
fn impossible(world: &World) -> PathBuf {
    let file = world.path("a-file");
    std::fs::write(&file, "").unwrap();
    file.join("cache")
}

fn with_cache(world: &World, cache: &Path, args: &[&str]) -> Ran {
    Ran::of(world.command(args).env("UV_CACHE_DIR", cache))
}

fn install(world: &World, cache: &Path, environment: &Environment, args: &[&str]) -> Ran {
    let common = ["pip", "install", "--no-index", "--python", environment.str()];
    with_cache(world, cache, &[&common, args].concat())
}

#[test]
fn what_needs_no_cache_runs_where_none_can_be_made() {
    let world = World::new();
    let cache = impossible(&world);
    let env = world.path("env");
    let env = env.to_str().unwrap();
    let run = |args: &[&str]| with_cache(&world, &cache, args);
    run(&["venv", env]).success();
    let environment = Environment { path: env.into() };
    world.install(&environment, &[sample().write(&world.wheels()).to_str().unwrap()]).success();
    assert!(run(&["pip", "list", "--python", env]).success().stdout.contains("sample"));
    assert!(run(&["pip", "freeze", "--python", env]).success().stdout.contains("sample"));
    run(&["pip", "check", "--python", env]).success();
    let gone = run(&["pip", "uninstall", "sample", "--python", env]).success();
    assert!(!gone.stderr.contains("warning"), "{gone:?}");
    assert_eq!(run(&["cache", "size", "--bytes"]).success().stdout, "0\n");
    for args in [["cache", "clean"], ["cache", "prune"], ["cache", "verify"]] {
        let ran = run(&args).success();
        assert!(ran.stderr.contains("No cache found at: "), "{ran:?}");
    }
}

#[test]
fn an_installation_without_a_possible_cache_says_what_to_do_and_changes_nothing() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let wheel = sample().write(&world.wheels());
    let wheel = wheel.to_str().unwrap();
    install(&world, &impossible(&world), &environment, &[wheel])
        .failure(2, &["error: failed to open the cache", "cause: ", "--cache-dir", "--no-cache"]);
    assert_eq!(environment.picture(), before);
    install(&world, &impossible(&world), &environment, &[wheel, "--no-cache"]).success();
    assert_eq!(environment.python("import sample; print(sample.VERSION)"), "1.0");
}

#[test]
fn a_cache_that_cannot_be_written_is_used_and_left_alone() {
    let world = World::new();
    let environment = world.environment("env");
    let (sample, other) = (sample().write(&world.wheels()), other().write(&world.wheels()));
    let (sample, other) = (sample.to_str().unwrap(), other.to_str().unwrap());
    world.install(&environment, &[sample]).success();
    let before = picture(&world.path("cache"));
    let view = ReadOnly::view(&world.path("cache"), &world.path("view"));
    let second = world.environment("second");
    std::fs::write(sample, "no wheel any more, but of the same name").unwrap();
    let missed = install(&world, &view.0, &second, &[sample]);
    missed.failure(2, &["warning: the cache at ", "cannot be written", "error: "]);
    install(&world, &view.0, &second, &[other]).success();
    assert_eq!(second.python("import other; print(other.VERSION)"), "2.0");
    second.pip(&["check"]).success();
    let run = |args: &[&str]| with_cache(&world, &view.0, args);
    run(&["cache", "verify"]).success();
    for args in
        [&["cache", "prune"][..], &["cache", "clean", "sample"], &["cache", "verify", "--repair"]]
    {
        run(args).failure(2, &["error: the cache at ", "cannot be written", "hint: "]);
    }
    assert_eq!(picture(&world.path("cache")), before);
}

#[test]
fn what_a_read_only_cache_has_is_not_unpacked_again() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = sample().write(&world.wheels());
    let wheel = wheel.to_str().unwrap();
    world.install(&environment, &[wheel]).success();
    let view = ReadOnly::view(&world.path("cache"), &world.path("view"));
    let second = world.environment("second");
    let ran = install(&world, &view.0, &second, &[wheel, "--verbose"]).success();
    assert!(ran.stderr.contains("copied: 4,"), "{ran:?}");
    assert_eq!(second.python("import sample; print(sample.VERSION)"), "1.0");
}

#[test]
fn a_run_without_a_cache_leaves_none() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = sample().write(&world.wheels());
    let cache = world.path("never");
    let temporary = world.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let args = [
        "pip",
        "install",
        "-n",
        "--no-index",
        "--python",
        environment.str(),
        wheel.to_str().unwrap(),
    ];
    let mut command = world.command(&args);
    Ran::of(command.env("UV_CACHE_DIR", &cache).env("TMPDIR", &temporary)).success();
    assert!(!cache.exists());
    assert_eq!(picture(&temporary).len(), 0);
    assert_eq!(environment.site().join("sample/data.txt").metadata().unwrap().nlink(), 1);
}

#[test]
fn a_digest_that_was_verified_once_is_believed_while_the_file_is_unchanged() {
    let world = World::new();
    let wheel = sample();
    let path = wheel.write(&world.wheels());
    let list = world.path("requirements.txt");
    let install = |digest: &str| {
        let environment = world.environment("env");
        let line = format!("sample @ file://{} --hash=sha256:{digest}\n", path.display());
        std::fs::write(&list, line).unwrap();
        let ran = world.install(&environment, &["-r", list.to_str().unwrap()]);
        std::fs::remove_dir_all(&environment.path).unwrap();
        ran
    };
    let right = hex(&wheel.bytes());
    let wrong = "1".repeat(64);
    install(&wrong).failure(2, &["error: ", "digest", "hint: "]);
    install(&right).success();
    install(&wrong).failure(2, &["error: ", "does not match", "hint: "]);
    install(&right).success();
    Wheel::module("sample", "1.0").file("sample/data.txt", "changed\n").write(&world.wheels());
    install(&right).failure(2, &["error: ", "hint: "]);
}
