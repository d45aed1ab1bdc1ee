//! Sources in the registry's place and patches, both from cargo's configuration.

use crate::home::{Crate, Home};

fn manifest(name: &str, version: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n")
}

fn registry() -> Home {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1").feature("default", &[]),
        Crate::new("b", "1.0.0").dep("c", "1", &serde_json::json!({"optional": true})),
        Crate::new("b", "2.0.0"),
        Crate::new("c", "1.0.0"),
    ]);
    home
}

#[test]
fn a_directory_source_takes_the_registrys_place() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\nb = { version = \"1\", features = [\"c\"] }\nb2 = { package = \"b\", version = \"2\" }\n");
    let lock = project.assert_same_lock();
    let ran = project.mini(&["vendor", "--offline"]);
    project.write(".cargo/config.toml", &ran.success().stdout);
    assert_eq!(project.assert_same_lock(), lock, "the folder says what the registry said");
    project.assert_alike(&["update", "--workspace"]);
    project.mini(&["fetch", "--locked"]).success();
    project.mini(&["tree", "--locked", "--offline"]).success();
    // Vendoring looks past the folder, which may be the very one that is made anew.
    project.mini(&["vendor", "--offline", "--no-delete"]).success();
}

#[test]
fn a_directory_source_that_lacks_a_package_is_named() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    let ran = project.mini(&["vendor", "--offline"]);
    project.write(".cargo/config.toml", &ran.success().stdout);
    std::fs::remove_dir_all(project.dir.join("vendor/b")).unwrap();
    std::fs::remove_file(project.dir.join("Cargo.lock")).unwrap();
    let ran = project.assert_alike(&["generate-lockfile"]);
    ran.failure().says("no matching package named `b` found");
    project.write("vendor/a/.cargo-checksum.json", "{");
    project.assert_alike(&["generate-lockfile"]);
}

#[test]
fn a_patch_in_the_configuration_stands_in_for_the_registrys_version() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    project.write("near/Cargo.toml", manifest("b", "1.7.0"));
    project.write("near/src/lib.rs", "");
    project.write(".cargo/config.toml", "[patch.crates-io]\nb = { path = \"near\" }\n");
    let lock = project.assert_same_lock();
    assert!(lock.contains("name = \"b\"\nversion = \"1.7.0\""), "{lock}");

    // It wins over the manifest's of the same name; others of the manifest stay.
    project.write("far/Cargo.toml", manifest("b", "1.8.0"));
    project.write("far/src/lib.rs", "");
    project.write("spare/Cargo.toml", manifest("c", "9.0.0"));
    project.write("spare/src/lib.rs", "");
    let patch = "[patch.crates-io]\nb = { path = \"far\" }\nc = { path = \"spare\" }\n";
    project.write("Cargo.toml", project.read("Cargo.toml") + patch);
    let lock = project.assert_same_lock();
    assert!(lock.contains("1.7.0") && !lock.contains("1.8.0"), "{lock}");
    assert!(lock.contains("[[patch.unused]]"), "{lock}");
}

#[test]
fn the_nearest_configurations_patch_wins_and_a_bad_one_is_named_with_its_line() {
    let home = registry();
    let project = home.package("[dependencies]\na = \"1\"\n");
    for (folder, version) in [("near", "1.7.0"), ("cargo/far", "1.8.0"), ("far", "1.9.0")] {
        let base = if folder == "near" { project.dir.clone() } else { home.path("") };
        std::fs::create_dir_all(base.join(folder).join("src")).unwrap();
        std::fs::write(base.join(folder).join("Cargo.toml"), manifest("b", version)).unwrap();
        std::fs::write(base.join(folder).join("src/lib.rs"), "").unwrap();
    }
    let of_home = "[patch.crates-io]\nb = { path = \"far\" }\n";
    std::fs::write(home.cargo_home().join("config.toml"), of_home).unwrap();
    assert!(project.assert_same_lock().contains("1.9.0"), "relative to what holds the home");
    project.write(".cargo/config.toml", "[patch.crates-io]\nb = { path = \"near\" }\n");
    assert!(project.assert_same_lock().contains("1.7.0"));
    project.write(".cargo/config.toml", "[patch.crates-io]\nb = { git = \"x\" }\n");
    project.mini(&["generate-lockfile"]).failure().says("config.toml:2");
}
