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
    let ran = project.mini(&["cache", "verify", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.failure().stdout).unwrap();
    assert_eq!(said["index"]["faults"][0]["crate"], "b", "{said}");

    project.mini(&["cache", "verify", "--repair"]).success().says("Repaired 1 damaged");
    project.mini(&["cache", "verify"]).success();
    let size = project.mini(&["cache", "size", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&size.success().stdout).unwrap();
    assert_eq!(said["store"]["crates"], 3, "{said}");

    project.mini(&["cache", "clean"]).success();
    assert!(!home.cargo_home().join("mini-cargo").exists());
    project.mini(&["generate-lockfile", "--offline"]).success();
}

#[test]
fn an_index_file_that_is_cut_short_is_found_by_verify_and_made_anew_by_repair() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    project.mini(&["generate-lockfile", "--offline"]).success();
    let file = fs::OpenOptions::new().write(true).open(home.index_file()).unwrap();
    file.set_len(8192).unwrap();
    project.mini(&["cache", "verify"]).failure().says("is cut short");
    let ran = project.mini(&["cache", "verify", "--repair", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.success().stdout).unwrap();
    assert_eq!(said["damaged_left"], 0, "{said}");
    assert_ne!(said["index"]["crates"], 0, "{said}");
    project.mini(&["cache", "verify"]).success();
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

/// The files below `dir` that hold `content`.
fn holding(dir: &std::path::Path, content: &[u8]) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, content));
        } else if fs::read(&path).unwrap() == content {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_damaged_object_is_repaired_by_unpacking_its_crate_again() {
    let home = Home::new();
    let text = "// what is to be kept\n".repeat(100);
    home.publish(&Crate::new("a", "1.0.0").file("src/lib.rs", &text));
    let project = home.package("[dependencies]\na = \"1\"\n");
    project.mini(&["vendor", "--offline"]).success();
    let store = home.cargo_home().join("mini-cargo/store");
    let object = holding(&store, text.as_bytes()).pop().unwrap();
    drop(fs::remove_dir_all(project.dir.join("vendor")));
    fs::write(&object, "// what is to be lost\n".repeat(100)).unwrap();

    let ran = project.mini(&["cache", "verify"]);
    ran.failure().says("does not have its bytes").says("cache verify --repair");
    assert!(object.exists(), "without --repair nothing is changed");
    project.mini(&["cache", "verify", "--repair"]).success().says("is not complete");
    project.mini(&["cache", "verify"]).success();
    project.mini(&["vendor", "--offline"]).success();
    assert_eq!(project.read("vendor/a/src/lib.rs"), text);
}

#[test]
fn the_tree_can_be_read_by_a_program() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    let ran = project.mini(&["tree", "--offline", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.success().stdout).unwrap();
    let packages = said["packages"].as_array().unwrap();
    let a = packages.iter().find(|package| package["name"] == "a").unwrap();
    let windows = json!({"id": "win 1.0.0", "kind": "normal", "target": "cfg(windows)"});
    assert!(a["dependencies"].as_array().unwrap().contains(&windows), "{said}");
    assert!(said["members"][0].as_str().unwrap().starts_with("app 0.1.0 ("), "{said}");
}
