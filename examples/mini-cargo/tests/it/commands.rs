//! The smaller commands.

use std::fs;

use serde_json::json;
use sha2::Digest as _;

use crate::home::{Crate, Home};

fn registry() -> Home {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1").dep(
            "win",
            "1",
            &json!({"target": "cfg(windows)"}),
        ),
        Crate::new("b", "1.0.0"),
        Crate::new("win", "1.0.0"),
        Crate::new("d", "1.0.0").needs("b", "1"),
    ]);
    home
}

#[test]
fn the_tree_is_cargos_tree() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n[build-dependencies]\nb = \"1\"\n[dev-dependencies]\nd = \"1\"\n");
    project.assert_same_lock();
    let ours = project.mini(&["tree", "--locked", "--offline"]);
    let theirs = project.cargo(&["tree", "--locked", "--offline"]);
    assert_eq!(ours.success().stdout, theirs.success().stdout);
}

#[test]
fn the_caches_can_be_measured_checked_pruned_and_removed() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    project.mini(&["generate-lockfile", "--offline"]).success();
    project.mini(&["vendor", "--offline"]).success();
    let dir = project.mini(&["cache", "dir"]);
    assert_eq!(dir.success().stdout.trim(), home.cargo_home().join("mini-cargo").to_str().unwrap());
    let size = project.mini(&["cache", "size"]);
    assert!(size.success().stdout.contains("of 3 crates"), "{}", size.stdout);
    project.mini(&["cache", "verify"]).success().says("Verified");
    project.mini(&["cache", "prune", "--dry-run"]).success().says("0 objects");
    project.mini(&["cache", "prune"]).success().says("Removed 0 objects");

    let path = home.index_file();
    let mut bytes = fs::read(&path).unwrap();
    // The record of b is found by the checksum of its archive.
    let archive = fs::read(home.archive("b", "1.0.0")).unwrap();
    let digest = sha2::Digest::finalize(sha2::Sha256::new_with_prefix(archive));
    let at = bytes.windows(32).position(|window| window == &digest[..]).unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let ran = project.mini(&["cache", "verify"]);
    ran.failure().says("at byte").says("help: they are never used");

    project.mini(&["cache", "clean"]).success();
    assert!(!home.cargo_home().join("mini-cargo").exists());
    project.mini(&["generate-lockfile", "--offline"]).success();
}

#[test]
fn an_import_takes_up_every_crate_once() {
    let home = registry();
    let project = home.package("");
    project.mini(&["cache", "import"]).success().says("4 of 4 crates");
    project.mini(&["cache", "import"]).success().says("0 of 4 crates");
}

#[test]
fn completions_and_mistyped_arguments_are_answered() {
    let home = Home::new();
    let project = home.package("");
    let bash = project.mini(&["completions", "bash"]);
    assert!(bash.success().stdout.contains("generate-lockfile"));
    let ran = project.mini(&["generate-lockfil"]);
    assert_eq!(ran.code, Some(1));
    ran.says("generate-lockfile");
}

#[test]
fn quiet_says_nothing_and_colour_is_only_used_when_asked_for() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    let ran = project.mini(&["generate-lockfile", "--offline", "-q"]);
    assert_eq!(ran.success().stderr, "");
    let ran = project.mini(&["generate-lockfile", "--offline", "--color", "always"]);
    assert!(ran.success().stderr.contains("\u{1b}["), "{}", ran.stderr);
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.success().says("     Locking 3 packages to latest compatible versions");
}
