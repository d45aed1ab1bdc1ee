//! Each rule of the search for versions, with real cargo as the judge.

use serde_json::json;

use crate::home::{Crate, Home};

/// The locked versions of `name`.
fn versions<'a>(lock: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("name = \"{name}\"\nversion = \"");
    lock.split(&head).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[test]
fn the_newest_compatible_version_is_locked_and_each_range_has_its_own() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "0.1"),
        Crate::new("a", "1.2.0").needs("b", "0.1"),
        Crate::new("a", "2.0.0").needs("b", "0.2"),
        Crate::new("b", "0.1.0"),
        Crate::new("b", "0.1.9"),
        Crate::new("b", "0.2.0"),
        Crate::new("b", "0.2.1-beta.1"),
    ]);
    let project =
        home.package("[dependencies]\na = \"1\"\na2 = { package = \"a\", version = \"2\" }\n");
    let lock = project.assert_same_lock();
    assert_eq!(versions(&lock, "a"), ["1.2.0", "2.0.0"]);
    assert_eq!(versions(&lock, "b"), ["0.1.9", "0.2.0"]);
}

#[test]
fn a_conflict_deep_down_moves_an_earlier_choice() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("top", "1.0.0").needs("shared", "=1.0.0"),
        Crate::new("top", "1.1.0").needs("shared", "=1.1.0"),
        Crate::new("mid", "1.0.0").needs("deep", "1"),
        Crate::new("deep", "1.0.0").needs("shared", "=1.0.0"),
        Crate::new("shared", "1.0.0"),
        Crate::new("shared", "1.1.0"),
    ]);
    let project = home.package("[dependencies]\ntop = \"1\"\nmid = \"1\"\n");
    assert_eq!(versions(&project.assert_same_lock(), "top"), ["1.0.0"]);
}

#[test]
fn many_conflicts_are_remembered_so_that_the_search_ends() {
    let home = Home::new();
    for width in 0..12 {
        for patch in 0..8 {
            let version = format!("1.0.{patch}");
            let next = format!("layer{}", width + 1);
            let package = Crate::new(&format!("layer{width}"), &version).needs(&next, "1");
            home.publish(&package.needs("pinned", &format!("=1.0.{}", patch % 2)));
        }
    }
    home.publish(&Crate::new("layer12", "1.0.0").needs("pinned", "=1.0.0"));
    home.publish_all(&[Crate::new("pinned", "1.0.0"), Crate::new("pinned", "1.0.1")]);
    let project = home.package("[dependencies]\nlayer0 = \"1\"\n");
    assert_eq!(versions(&project.assert_same_lock(), "layer3"), ["1.0.6"]);
}

#[test]
fn only_one_package_links_a_native_library() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("z-sys", "1.0.0").links("z"),
        Crate::new("z-sys", "2.0.0").links("z"),
        Crate::new("a", "1.0.0").needs("z-sys", "1"),
        Crate::new("a", "1.1.0").needs("z-sys", "2"),
        Crate::new("b", "1.0.0").needs("z-sys", "1"),
    ]);
    let project = home.package("[dependencies]\na = \"1\"\nb = \"1\"\n");
    let lock = project.assert_same_lock();
    assert_eq!(versions(&lock, "z-sys"), ["1.0.0"]);
    assert_eq!(versions(&lock, "a"), ["1.0.0"]);
}

#[test]
fn every_form_of_a_feature_turns_on_what_cargo_turns_on() {
    let home = Home::new();
    let optional = json!({"optional": true});
    home.publish_all(&[
        Crate::new("lib", "1.0.0")
            .dep("implicit", "1", &optional)
            .dep("hidden", "1", &optional)
            .dep("strong", "1", &optional)
            .dep("weak", "1", &optional)
            .dep("never", "1", &optional)
            .feature("default", &["std"])
            .feature("std", &["strong/std"])
            .feature2("hide", &["dep:hidden"])
            .feature2("lean", &["weak?/std"]),
        Crate::new("implicit", "1.0.0"),
        Crate::new("hidden", "1.0.0"),
        Crate::new("strong", "1.0.0").feature("std", &["extra"]).dep("extra", "1", &optional),
        Crate::new("weak", "1.0.0").feature("std", &[]),
        Crate::new("never", "1.0.0"),
        Crate::new("extra", "1.0.0"),
    ]);
    for features in ["", "implicit", "hide", "lean", "std", "never"] {
        let project = home.package(&format!(
            "[dependencies]\nlib = {{ version = \"1\", default-features = false, features = [\"{features}\"] }}\n"
        ).replace("[\"\"]", "[]"));
        project.assert_same_lock();
    }
    let project = home.package("[dependencies]\nlib = \"1\"\n");
    let lock = project.assert_same_lock();
    assert_eq!(versions(&lock, "extra"), ["1.0.0"], "std of strong is on by default");
}

#[test]
fn a_weak_feature_locks_its_dependency_although_nothing_turns_it_on() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("lib", "1.0.0")
            .dep("weak", "1", &json!({"optional": true}))
            .feature2("lean", &["weak?/std"])
            .feature2("on", &["dep:weak"]),
        Crate::new("weak", "1.0.0").feature("std", &[]),
    ]);
    let project =
        home.package("[dependencies]\nlib = { version = \"1\", features = [\"lean\"] }\n");
    assert_eq!(versions(&project.assert_same_lock(), "weak"), ["1.0.0"]);
}

#[test]
fn a_yanked_version_is_taken_only_from_a_lock_file() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0"), Crate::new("a", "1.1.0").yanked()]);
    let project = home.package("[dependencies]\na = \"1\"\n");
    let lock = project.assert_same_lock();
    assert_eq!(versions(&lock, "a"), ["1.0.0"]);

    // The same project, locked before the version was yanked.
    let checksum = crate::home::checksum(&std::fs::read(home.archive("a", "1.1.0")).unwrap());
    let old = lock.split("checksum = \"").nth(1).unwrap().split('"').next().unwrap();
    let locked = lock.replace(old, &checksum).replace("1.0.0", "1.1.0");
    project.write("Cargo.lock", &locked);
    project.cargo(&["update", "--workspace", "--locked"]).success();
    project.mini(&["update", "--workspace", "--locked", "--offline"]).success();
    assert_eq!(project.read("Cargo.lock"), locked);
}

#[test]
fn versions_of_a_later_index_schema_or_without_sense_are_passed_over() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0"),
        Crate::new("a", "1.1.0").schema(9),
        Crate::new("a", "1.2.0").feature("broken", &["nowhere"]),
    ]);
    let project = home.package("[dependencies]\na = \"1\"\n");
    assert_eq!(versions(&project.assert_same_lock(), "a"), ["1.0.0"]);
}

#[test]
fn target_tables_build_and_dev_dependencies_are_all_locked() {
    let home = Home::new();
    for name in ["normal", "unix", "windows", "triple", "dev", "build"] {
        home.publish(&Crate::new(name, "1.0.0").dep("not-mine", "1", &json!({"kind": "dev"})));
    }
    let project = home.package(
        "[dependencies]\nnormal = \"1\"\n[dev-dependencies]\ndev = \"1\"\n\
         [build-dependencies]\nbuild = \"1\"\n[target.'cfg(unix)'.dependencies]\nunix = \"1\"\n\
         [target.'cfg(windows)'.dev-dependencies]\nwindows = \"1\"\n\
         [target.wasm32-unknown-unknown.build-dependencies]\ntriple = \"1\"\n",
    );
    let lock = project.assert_same_lock();
    assert_eq!(lock.matches("[[package]]").count(), 7);
}

#[test]
fn the_third_resolver_prefers_what_the_members_toolchains_can_build() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").rust_version("1.56"),
        Crate::new("a", "1.1.0").rust_version("1.70.1"),
        Crate::new("a", "1.2.0").rust_version("1.90"),
        Crate::new("b", "1.0.0").rust_version("1.90"),
    ]);
    let manifest =
        "rust-version = \"1.75\"\nresolver = \"RESOLVER\"\n[dependencies]\na = \"1\"\nb = \"1\"\n";
    let project = home.package(&manifest.replace("RESOLVER", "3"));
    let lock = project.assert_same_lock();
    assert_eq!(versions(&lock, "a"), ["1.1.0"]);
    assert_eq!(versions(&lock, "b"), ["1.0.0"], "there is no other");
    let project = home.package(&manifest.replace("RESOLVER", "2"));
    assert_eq!(versions(&project.assert_same_lock(), "a"), ["1.2.0"]);
}

#[test]
fn without_a_rust_version_the_installed_compiler_counts() {
    let home = Home::new();
    home.publish_all(&[Crate::new("a", "1.0.0"), Crate::new("a", "1.1.0").rust_version("1.4000")]);
    let project = home.project(&[
        (
            "Cargo.toml",
            "[package]\nname = \"app\"\nedition = \"2024\"\n[dependencies]\na = \"1\"\n",
        ),
        ("src/lib.rs", ""),
    ]);
    assert_eq!(versions(&project.assert_same_lock(), "a"), ["1.0.0"]);
}

#[test]
fn the_lock_files_version_follows_the_oldest_toolchain() {
    let home = Home::new();
    home.publish(&Crate::new("a", "1.0.0"));
    for (rust, head) in [("1.83", "version = 4\n"), ("1.82", "version = 3\n"), ("1.45", "\n[[")] {
        let manifest = format!(
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2018\"\n\
             rust-version = \"{rust}\"\n[dependencies]\na = \"1\"\n"
        );
        let project = home.project(&[("Cargo.toml", &manifest), ("src/lib.rs", "")]);
        let lock = project.assert_same_lock();
        assert!(lock.contains(head), "{rust}: {lock}");
    }
}

#[test]
fn the_lock_is_the_same_from_cargos_files_and_from_the_index_cache() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1").links("one"),
        Crate::new("b", "1.0.0").feature("f", &[]),
    ]);
    let project = home.package("[dependencies]\na = \"1\"\n");
    let first = project.assert_same_lock();
    let cached = std::fs::read(home.index_file()).unwrap();
    assert_eq!(project.lock_with_mini(&["generate-lockfile", "--offline"]), first);
    assert_eq!(std::fs::read(home.index_file()).unwrap(), cached, "nothing was imported twice");

    home.publish(&Crate::new("b", "1.1.0"));
    let second = project.assert_same_lock();
    assert_eq!(versions(&second, "b"), ["1.1.0"], "cargo's file changed, so it is read again");
}
