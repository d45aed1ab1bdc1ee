//! `update` changes as little as cargo does.

use std::fs;

use crate::home::{Crate, Home, Project};

fn registry() -> Home {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("top", "1.0.0").needs("low", "1").needs("other", "1"),
        Crate::new("top", "1.1.0").needs("low", "1.1").needs("other", "1"),
        Crate::new("top", "2.0.0"),
        Crate::new("low", "0.9.0"),
        Crate::new("low", "1.0.0").needs("ground", "1"),
        Crate::new("low", "1.1.0").needs("ground", "1"),
        Crate::new("low", "1.2.0").needs("ground", "1.1"),
        Crate::new("other", "1.0.0"),
        Crate::new("other", "1.1.0"),
        Crate::new("ground", "1.0.0"),
        Crate::new("ground", "1.1.0"),
        Crate::new("ground", "1.2.0").yanked(),
    ]);
    home
}

/// A project whose lock file has the oldest of everything.
fn old_project(home: &Home) -> Project<'_> {
    let pinned = "[dependencies]\ntop = \"=1.0.0\"\nlow = \"=1.0.0\"\nother = \"=1.0.0\"\nground = \"=1.0.0\"\n";
    let project = home.package(pinned);
    project.assert_same_lock();
    let loose = project.read("Cargo.toml").replace('=', "^").replace(" ^ ", " = ");
    project.write("Cargo.toml", loose);
    project
}

#[track_caller]
fn assert_same_update(args: &[&str]) -> String {
    let home = registry();
    let project = old_project(&home);
    let before = project.read("Cargo.lock");
    let mut theirs = vec!["update"];
    theirs.extend(args);
    let cargo = project.cargo(&theirs);
    let after = project.read("Cargo.lock");
    project.write("Cargo.lock", &before);
    let mut ours = vec!["update", "--offline"];
    ours.extend(args);
    let mini = project.mini(&ours);
    assert_eq!(mini.code, cargo.code, "{}\n{}", mini.stderr, cargo.stderr);
    assert_eq!(project.read("Cargo.lock"), after, "ours is left, cargo's is right");
    mini.stderr
}

#[test]
fn update_of_everything_some_or_nothing_gives_cargos_lock() {
    for args in [
        &[][..],
        &["--workspace"],
        &["-p", "top"],
        &["-p", "low"],
        &["-p", "other"],
        &["top", "other"],
        &["-p", "top", "--recursive"],
        &["-p", "ground"],
    ] {
        assert_same_update(args);
    }
}

#[test]
fn update_to_a_precise_version_gives_cargos_lock_even_when_it_is_yanked() {
    for args in [
        ["-p", "low", "--precise", "1.1.0"],
        ["-p", "low", "--precise", "1.2.0"],
        ["-p", "ground", "--precise", "1.2.0"],
        ["-p", "ground", "--precise", "7.0.0"],
        ["-p", "nothing", "--precise", "1.0.0"],
        // What requires `top` 1.1.0 and `low` 1.0.0 accepts neither of these.
        ["-p", "top", "--precise", "2.0.0"],
        ["-p", "low", "--precise", "0.9.0"],
    ] {
        assert_same_update(&args);
    }
}

#[test]
fn update_says_what_changed_and_a_dry_run_changes_nothing() {
    let home = registry();
    let project = old_project(&home);
    let before = project.read("Cargo.lock");
    let ran = project.mini(&["update", "--offline", "--dry-run"]);
    ran.success()
        .says("    Updating low v1.0.0 -> v1.2.0")
        .says("not updating lockfile due to dry run");
    assert_eq!(project.read("Cargo.lock"), before);
}

#[test]
fn a_changed_manifest_moves_only_what_it_has_to() {
    let home = registry();
    let project = old_project(&home);
    let text = project.read("Cargo.toml").replace("top = \"^1.0.0\"", "top = \"1.1\"");
    project.write("Cargo.toml", text);
    let before = project.read("Cargo.lock");
    project.cargo(&["update", "--workspace"]).success();
    let theirs = project.read("Cargo.lock");
    project.write("Cargo.lock", &before);
    project.mini(&["update", "--workspace", "--offline"]).success();
    assert_eq!(project.read("Cargo.lock"), theirs);
    assert!(theirs.contains("name = \"other\"\nversion = \"1.0.0\""), "{theirs}");
}

#[test]
fn comments_and_the_version_of_a_lock_file_that_does_not_change_stay() {
    let home = registry();
    let project = old_project(&home);
    let text = project.read("Cargo.lock").replace("version = 4\n", "# keep me\nversion = 3\n");
    project.write("Cargo.lock", &text);
    project.mini(&["update", "--workspace", "--offline"]).success();
    assert_eq!(project.read("Cargo.lock"), text);
    project.cargo(&["update", "--workspace", "--locked"]).success();
}

#[test]
fn no_temporary_file_is_left_beside_the_lock_file() {
    let home = registry();
    let project = old_project(&home);
    let before = project.read("Cargo.lock");
    let files = || fs::read_dir(&project.dir).unwrap().count();
    let count = files();
    project.mini(&["update", "--offline", "--dry-run"]).success();
    project.mini(&["update", "--offline"]).success();
    assert_eq!(files(), count);
    assert_ne!(project.read("Cargo.lock"), before);
}

#[test]
fn changes_can_be_read_by_a_program() {
    let home = registry();
    let project = old_project(&home);
    let ran = project.mini(&["update", "--offline", "--dry-run", "-p", "low", "--format", "json"]);
    let said: serde_json::Value = serde_json::from_str(&ran.success().stdout).unwrap();
    let low = serde_json::json!(
        {"change": "updated", "name": "low", "from": "1.0.0", "to": "1.1.0"}
    );
    assert!(said["changes"].as_array().unwrap().contains(&low), "{said}");
    assert!(!ran.stderr.contains("Updating"), "{}", ran.stderr);
}
