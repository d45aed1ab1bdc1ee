//! Every form of a manifest, with real cargo as the judge.

use crate::home::{Crate, Home};

const MEMBER: &str = "edition = \"2021\"\n";

fn package(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{MEMBER}{rest}")
}

#[test]
fn members_are_found_by_glob_by_path_and_at_the_root_but_not_when_excluded() {
    let home = Home::new();
    for name in ["one", "two", "three", "root"] {
        home.publish(&Crate::new(&format!("{name}-dep"), "1.0.0"));
    }
    let project = home.project(&[
        (
            "Cargo.toml",
            &(package(
                "root",
                "[dependencies]\nroot-dep = \"1\"\nthree = { path = \"deep/three\" }\n",
            ) + "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/out\"]\n"),
        ),
        ("src/lib.rs", ""),
        ("crates/one/Cargo.toml", &package("one", "[dependencies]\none-dep = \"1\"\n")),
        ("crates/one/src/lib.rs", ""),
        ("crates/two/Cargo.toml", &package("two", "[dev-dependencies]\ntwo-dep = \"1\"\n")),
        ("crates/two/src/lib.rs", ""),
        ("crates/out/Cargo.toml", &package("out", "[dependencies]\nmissing = \"1\"\n")),
        ("crates/out/src/lib.rs", ""),
        ("crates/README", "not a folder"),
        ("deep/three/Cargo.toml", &package("three", "[dev-dependencies]\nthree-dep = \"1\"\n")),
        ("deep/three/src/lib.rs", ""),
    ]);
    let lock = project.assert_same_lock();
    assert!(lock.contains("three-dep"), "a path dependency below the root is a member");
    assert!(!lock.contains("\"out\""));
}

#[test]
fn everything_that_can_be_inherited_is() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").feature("default", &["std"]).feature("std", &[]).feature("x", &[]),
        Crate::new("a", "1.0.1")
            .feature("default", &["std"])
            .feature("std", &[])
            .rust_version("1.80"),
        Crate::new("opt", "1.0.0"),
    ]);
    let project = home.project(&[
        (
            "Cargo.toml",
            "[workspace]\nmembers = [\"app\"]\nresolver = \"3\"\n\
             [workspace.package]\nversion = \"3.2.1\"\nedition = \"2021\"\nrust-version = \"1.75\"\n\
             [workspace.dependencies]\n\
             renamed = { package = \"a\", version = \"1\", default-features = false, features = [\"x\"] }\n\
             opt = { version = \"1\" }\nnear = { path = \"near\", version = \"0.1\" }\n",
        ),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\nversion.workspace = true\nedition.workspace = true\n\
             rust-version.workspace = true\n[dependencies]\n\
             renamed = { workspace = true, default-features = true }\n\
             opt = { workspace = true, optional = true }\nnear.workspace = true\n",
        ),
        ("app/src/lib.rs", ""),
        ("near/Cargo.toml", &package("near", "")),
        ("near/src/lib.rs", ""),
    ]);
    let lock = project.assert_same_lock();
    assert!(lock.contains("name = \"app\"\nversion = \"3.2.1\""), "{lock}");
}

#[test]
fn path_dependencies_outside_the_workspace_are_locked_without_their_dev_dependencies() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0"), Crate::new("b", "1.0.0")]);
    let project = home.project(&[
        (
            "Cargo.toml",
            &(package("app", "[dependencies]\nouter = { path = \"../outer\" }\n") + "[workspace]\n"),
        ),
        ("src/lib.rs", ""),
        (
            "../outer/Cargo.toml",
            &package(
                "outer",
                "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"1\"\ngone = { path = \"gone\" }\n",
            ),
        ),
        ("../outer/src/lib.rs", ""),
    ]);
    let lock = project.assert_same_lock();
    assert!(lock.contains("name = \"a\"") && !lock.contains("name = \"b\""), "{lock}");
}

#[test]
fn a_patch_by_path_stands_in_for_the_registrys_version() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1"),
        Crate::new("b", "1.0.0"),
        Crate::new("b", "1.9.0"),
    ]);
    let project = home.project(&[
        (
            "Cargo.toml",
            &package("app", "[dependencies]\na = \"1\"\n[patch.crates-io]\nb = { path = \"b\" }\n"),
        ),
        ("src/lib.rs", ""),
        ("b/Cargo.toml", &package("b", "").replace("0.1.0", "1.5.0")),
        ("b/src/lib.rs", ""),
    ]);
    let lock = project.assert_same_lock();
    assert!(
        lock.contains("name = \"b\"\nversion = \"1.5.0\"\n\n") || lock.ends_with("\"1.5.0\"\n")
    );
}

#[test]
fn a_patch_that_nothing_uses_is_listed_as_unused() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0"), Crate::new("b", "1.0.0")]);
    let project = home.project(&[
        (
            "Cargo.toml",
            &package(
                "app",
                "[dependencies]\na = \"1\"\nb = \"1\"\n[patch.crates-io]\nb = { path = \"b\" }\n",
            ),
        ),
        ("src/lib.rs", ""),
        ("b/Cargo.toml", &package("b", "").replace("0.1.0", "2.0.0")),
        ("b/src/lib.rs", ""),
    ]);
    assert!(project.assert_same_lock().contains("[[patch.unused]]"));
}

#[test]
fn one_version_from_two_sources_is_told_apart() {
    let home = Home::new();
    home.publish_all(&[Crate::new("twin", "1.0.0"), Crate::new("a", "1.0.0").needs("twin", "1")]);
    let project = home.project(&[
        ("Cargo.toml", &package("app", "[dependencies]\na = \"1\"\ntwin = { path = \"twin\" }\n")),
        ("src/lib.rs", ""),
        ("twin/Cargo.toml", &package("twin", "").replace("0.1.0", "1.0.0")),
        ("twin/src/lib.rs", ""),
    ]);
    assert!(project.assert_same_lock().contains("\"twin 1.0.0 (registry+"));
}

#[test]
fn old_spellings_of_tables_and_keys_are_read() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0").feature("default", &["b"]).feature("b", &[])]);
    let project =
        home.package("[dev_dependencies]\na = { version = \"1\", default_features = false }\n");
    project.assert_same_lock();
}

#[test]
fn the_lock_lies_at_the_root_when_called_from_a_member() {
    let home = Home::new();
    let project = home.project(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"app\"]\nresolver = \"2\"\n"),
        ("app/Cargo.toml", &package("app", "")),
        ("app/src/lib.rs", ""),
    ]);
    project.mini(&["generate-lockfile", "--manifest-path", "app/Cargo.toml"]).success();
    let lock = project.read("Cargo.lock");
    assert_eq!(lock, project.lock_with_cargo());
}

#[test]
fn a_package_that_tests_itself_with_more_features_is_locked_as_its_own_dependency() {
    let home = Home::new();
    let project = home.project(&[
        (
            "Cargo.toml",
            &package(
                "selfish",
                "[features]\nmore = []\n[dev-dependencies]\n\
                 selfish = { path = \".\", features = [\"more\"] }\n",
            ),
        ),
        ("src/lib.rs", ""),
    ]);
    let lock = project.assert_same_lock();
    assert!(lock.contains(" \"selfish\","), "{lock}");
}
