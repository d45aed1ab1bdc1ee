//! Damaged wheels, damaged caches, full disks: a clear error, and nothing half done.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::wheel::Wheel;
use crate::world::{Environment, World};

fn sample() -> Wheel {
    Wheel::module("sample", "1.0")
        .file("sample/data.bin", (0..=255).cycle().take(150_000).collect::<Vec<u8>>())
}

/// The wheel of `sample` with other bytes, under its right name.
fn damaged(world: &World, bytes: &[u8]) -> PathBuf {
    let path = world.path("damaged").join(sample().file_name());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[track_caller]
fn assert_usable(world: &World, environment: &Environment) {
    let good = sample().write(&world.wheels());
    world.install(environment, &[good.to_str().unwrap()]).success();
    assert_eq!(environment.python("import sample; print(sample.VERSION)"), "1.0");
    world.run(&["cache", "verify"]).success();
}

#[test]
fn a_truncated_wheel_installs_nothing_and_says_where_it_ends() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let whole = sample().bytes();
    for keep in [0, 1, 30, whole.len() / 3, whole.len() / 2, whole.len() - 100, whole.len() - 1] {
        let wheel = damaged(&world, &whole[..keep]);
        let ran = world.install(&environment, &[wheel.to_str().unwrap()]);
        ran.failure(2, &["error: failed to", "damaged/sample-1.0-py3-none-any.whl", "hint:"]);
        assert_eq!(environment.picture(), before, "cut at {keep}");
    }
    assert_usable(&world, &environment);
}

#[test]
fn a_flipped_bit_in_a_wheel_is_found_and_installs_nothing() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let whole = sample().bytes();
    for at in (0..whole.len()).step_by(whole.len() / 8) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let wheel = damaged(&world, &bytes);
        let ran = world.install(&environment, &[wheel.to_str().unwrap()]);
        if ran.code == 0 {
            // A bit that means nothing, such as one of a time stamp.
            assert_eq!(environment.python("import sample; print(sample.VERSION)"), "1.0");
            world.run(&["pip", "uninstall", "sample", "--python", environment.str()]).success();
        } else {
            ran.failure(2, &["error:", "damaged/sample-1.0-py3-none-any.whl"]);
        }
        assert_eq!(environment.picture(), before, "flipped at {at}");
    }
    assert_usable(&world, &environment);
}

#[test]
fn a_wheel_that_leads_outside_is_refused() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    for evil in
        ["../x", "a/../../x", "/tmp/mini-uv-absolute-x", "sample-1.0.data/scripts/../../../x"]
    {
        let wheel = sample().file(evil, "evil").write(&world.wheels());
        let ran = world.install(&environment, &[wheel.to_str().unwrap()]);
        ran.failure(2, &["error: failed to unpack", "sample-1.0-py3-none-any.whl", "hint:"]);
        assert_eq!(environment.picture(), before, "{evil}");
        assert!(!world.path("x").exists() && !Path::new("/tmp/mini-uv-absolute-x").exists());
    }
    assert_usable(&world, &environment);
}

#[test]
fn a_flipped_byte_in_the_index_file_is_found_by_verify_and_costs_an_unpacking() {
    let world = World::new();
    let good = sample().write(&world.wheels());
    world.install(&world.environment("first"), &[good.to_str().unwrap()]).success();
    let index = index_file(&world);
    let whole = std::fs::read(&index).unwrap();
    let mut noticed = 0;
    for (round, at) in (0..whole.len()).step_by(whole.len() / 6).enumerate() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x01;
        std::fs::write(&index, bytes).unwrap();
        let verified = world.run(&["cache", "verify"]);
        if verified.code != 0 {
            assert!(verified.stdout.contains(index.to_str().unwrap()), "{verified:#?}");
            verified
                .failure(1, &["error: the cache has", "hint: run `mini-uv cache verify --repair`"]);
            noticed += 1;
        }
        let environment = world.environment(&format!("env{round}"));
        world.install(&environment, &[good.to_str().unwrap()]).success();
        assert_eq!(
            environment.python("import sample; print(sample.VERSION)"),
            "1.0",
            "flipped at {at}"
        );
        world.run(&["cache", "verify"]).success();
        std::fs::write(&index, &whole).unwrap();
    }
    assert!(noticed > 0, "no flip was noticed");
}

#[test]
fn an_index_file_that_is_cut_short_is_found_by_verify_and_removed_by_repair() {
    let world = World::new();
    let good = sample().write(&world.wheels());
    world.install(&world.environment("first"), &[good.to_str().unwrap()]).success();
    let index = index_file(&world);
    let file = std::fs::OpenOptions::new().write(true).open(&index).unwrap();
    file.set_len(8192).unwrap();
    let found = world.run(&["cache", "verify"]).failure(1, &["the cache has 1 fault", "--repair"]);
    assert!(found.stdout.contains("cut short"), "{found:#?}");
    assert!(index.exists(), "looking changes nothing");
    world.run(&["cache", "verify", "--repair"]).success();
    world.run(&["cache", "verify"]).success();
    assert_usable(&world, &world.environment("second"));
}

fn index_file(world: &World) -> PathBuf {
    let files = std::fs::read_dir(world.path("cache")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.is_file() && path.metadata().unwrap().len() >= 8192).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn an_edited_file_is_found_by_verify_and_healed_for_the_next_environment() {
    let world = World::new();
    let (one, two) = (world.environment("one"), world.environment("two"));
    let good = sample().write(&world.wheels());
    world.install(&one, &[good.to_str().unwrap()]).success();
    let victim = one.site().join("sample/__init__.py");
    let mut text = std::fs::read(&victim).unwrap();
    text.extend(b"VERSION = 'edited'\n");
    std::fs::write(&victim, text).unwrap();
    let found = world.run(&["cache", "verify"]).failure(1, &["the cache has 1 fault", "--repair"]);
    assert!(found.stdout.contains("its content is not what its name says"), "{found:?}");
    assert!(
        found.stdout.contains(&format!("the same file is `{}`", victim.display())),
        "{found:?}"
    );
    // Another wheel, never unpacked before, with the same file.
    let other = Wheel::new("other", "2.0")
        .file("other/__init__.py", "VERSION = '1.0'\n")
        .write(&world.wheels());
    world.install(&two, &[other.to_str().unwrap(), good.to_str().unwrap()]).success();
    assert_eq!(two.python("import other, sample; print(other.VERSION, sample.VERSION)"), "1.0 1.0");
    world.run(&["cache", "verify", "--repair"]).success();
    world.run(&["cache", "verify"]).success();
}

/// A small file system of its own; unmounted when dropped.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(path: PathBuf, size: &str) -> Self {
        std::fs::create_dir_all(&path).unwrap();
        let options = format!("size={size}");
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(&path)
            .status();
        assert!(status.unwrap().success(), "these tests mount file systems, so they run as root");
        Self(path)
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        assert!(Command::new("umount").arg("--lazy").arg(&self.0).status().unwrap().success());
    }
}

/// A wheel that does not fit beside itself.
fn large() -> Wheel {
    (0..40_u8).fold(Wheel::module("large", "1.0"), |wheel, number| {
        let noise: Vec<u8> = (0..50_000_u32)
            .map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes()[2] ^ number)
            .collect();
        wheel.file(&format!("large/{number}.bin"), noise)
    })
}

#[test]
fn a_full_disk_leaves_the_environment_and_the_cache_as_they_were() {
    let world = World::new();
    let _small = Tmpfs::mount(world.path("small"), "1200k");
    let environment = world.environment("small/env");
    let before = environment.picture();
    let wheel = large().write(&world.wheels());
    let install = |cache: &Path| {
        let mut command =
            world.command(&["pip", "install", "--no-index", "--python", environment.str()]);
        let output = command.arg(&wheel).env("UV_CACHE_DIR", cache).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for cache in ["small/cache", "cache"] {
        let (code, stderr) = install(&world.path(cache));
        assert_eq!(code, 2, "{stderr}");
        for word in ["error: ", "No space left on device", "hint: "] {
            assert!(stderr.contains(word), "no `{word}` in {stderr}");
        }
        assert_eq!(environment.picture(), before, "{cache}");
    }
    let status =
        Command::new("mount").args(["-o", "remount,size=32m"]).arg(world.path("small")).status();
    assert!(status.unwrap().success());
    for cache in ["small/cache", "cache"] {
        let (code, stderr) = install(&world.path(cache));
        assert_eq!(code, 0, "{stderr}");
        assert_eq!(environment.python("import large; print(large.VERSION)"), "1.0");
    }
}

#[test]
fn a_failing_wheel_takes_none_of_the_others_along() {
    let world = World::new();
    let environment = world.environment("env");
    let old = Wheel::module("sample", "0.9").file("sample/old.py", "").write(&world.wheels());
    world.install(&environment, &[old.to_str().unwrap()]).success();
    let before = environment.picture();
    let good = sample().write(&world.wheels());
    let other = Wheel::module("other", "1.0");
    let mut bytes = other.bytes();
    bytes.truncate(bytes.len() / 2);
    let bad = world.wheels().join(other.file_name());
    std::fs::write(&bad, bytes).unwrap();
    world
        .install(&environment, &[good.to_str().unwrap(), bad.to_str().unwrap()])
        .failure(2, &["other-1.0"]);
    assert_eq!(environment.picture(), before);
    assert_usable(&world, &environment);
}

#[test]
fn a_wheel_that_the_index_does_not_name_is_no_damage_and_is_pruned() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = sample().write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    // As a process leaves it that is killed between the tree and the index.
    std::fs::remove_file(world.path("cache").join("index-v1.ixc")).unwrap();
    let verified = world.run(&["cache", "verify"]).success();
    assert!(verified.stderr.contains("of 0 wheels"), "{verified:?}");
    world.run(&["pip", "uninstall", "sample", "--python", environment.str()]).success();
    let pruned = world.run(&["cache", "prune"]).success();
    assert!(pruned.stderr.contains("Removed"), "{pruned:?}");
    let again = world.run(&["cache", "prune"]).success();
    assert!(again.stderr.contains("No unused entries found"), "{again:?}");
    assert_usable(&world, &environment);
}
