//! The example program, as a user runs it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::ground::Ground;

/// Cargo builds examples beside the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().unwrap().parent().unwrap();
    profile.join("examples").join(format!("store{}", std::env::consts::EXE_SUFFIX))
}

fn run(ground: &Ground, arguments: &[&str]) -> String {
    let mut command = Command::new(program());
    command.current_dir(ground.root.path()).arg("store").args(arguments);
    let output = command.output().expect("cargo test builds the examples");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_example_adds_places_verifies_sweeps_adopts_and_counts() {
    let ground = Ground::new();
    fs::create_dir_all(ground.path("docs/sub")).unwrap();
    fs::write(ground.path("docs/a"), "alpha").unwrap();
    fs::write(ground.path("docs/sub/b"), "alpha").unwrap();
    assert_eq!(run(&ground, &["add", "docs", "docs"]), "2 files: 1 new, 1 known\n");
    assert!(run(&ground, &["place", "docs", "copy"]).starts_with("2 files by Hardlink"));
    assert_eq!(fs::read(ground.path("copy/sub/b")).unwrap(), b"alpha");

    fs::write(ground.path("copy/a"), "edited").unwrap();
    let verified = run(&ground, &["verify", "copy", "docs"]);
    assert!(verified.contains("healed from Some(File("), "healed from a good copy: {verified}");
    let bad = PathBuf::from("copy").join("a");
    assert!(verified.contains(&format!("the same bad file: {}", bad.display())), "{verified}");

    // Windows has no modes, so that no file looks like an object: all are passed over there.
    let linked = if cfg!(windows) { 0 } else { 2 };
    let adopted = run(&ground, &["adopt", "docs"]);
    assert!(adopted.starts_with(&format!("2 files: {linked} linked, 0 added")), "{adopted}");
    assert_eq!(fs::read(ground.path("docs/sub/b")).unwrap(), b"alpha");
    assert!(run(&ground, &["savings"]).contains("NonEmpty"));
    assert!(run(&ground, &["sweep", "--dry-run"]).starts_with("would remove 0 objects"));
    assert!(run(&ground, &["sweep"]).starts_with("removed 0 objects"));
}
