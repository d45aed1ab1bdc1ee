//! Real cargo builds from what `vendor` makes, with nothing else at hand.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::home::{Crate, Home, Project};

fn registry() -> Home {
    let home = Home::new();
    let large = "// a line of text\n".repeat(20_000);
    home.publish_all(&[
        Crate::new("greet", "1.0.0").needs("words", "1").file(
            "src/lib.rs",
            "pub fn greet() -> String { format!(\"{} from greet 1\", words::hello()) }\n",
        ),
        Crate::new("greet", "2.0.0").needs("words", "1").file(
            "src/lib.rs",
            "pub fn greet() -> String { format!(\"{} from greet 2\", words::hello()) }\n",
        ),
        Crate::new("words", "1.0.0")
            .file("src/lib.rs", "mod large;\npub fn hello() -> &'static str { \"hello\" }\n")
            .file("src/large.rs", &large)
            .file("run.sh", "#!/bin/sh\n")
            .file("empty.txt", ""),
    ]);
    home
}

fn project(home: &Home) -> Project<'_> {
    let project = home
        .package("[dependencies]\ngreet = \"2\"\nold = { package = \"greet\", version = \"1\" }\n");
    let main = "fn main() { println!(\"{}; {}\", greet::greet(), old::greet()); }\n";
    project.write("src/main.rs", main);
    project
}

fn vendor(project: &Project<'_>) {
    project.mini(&["generate-lockfile", "--offline"]).success();
    let ran = project.mini(&["vendor", "--locked", "--offline"]);
    ran.success().says("   Vendoring greet v2.0.0 to vendor/greet");
    project.write(".cargo/config.toml", &ran.stdout);
}

#[test]
fn real_cargo_builds_from_the_lock_and_the_folder_with_an_empty_home() {
    let home = registry();
    let project = project(&home);
    vendor(&project);
    let lock = project.read("Cargo.lock");
    let empty = home.path("empty-home");
    let ran = project.cargo_in(&empty, &["run", "--frozen", "--offline", "--quiet"]);
    assert_eq!(ran.success().stdout, "hello from greet 2; hello from greet 1\n");
    assert_eq!(project.read("Cargo.lock"), lock, "cargo takes the lock as it is");
}

#[test]
fn the_folder_is_what_cargo_vendor_makes() {
    let home = registry();
    let project = project(&home);
    vendor(&project);
    fs::rename(project.dir.join("vendor"), project.dir.join("ours")).unwrap();
    fs::remove_file(project.dir.join(".cargo/config.toml")).unwrap();
    project.cargo(&["vendor", "--offline", "theirs"]).success();
    assert_same_trees(&project.dir.join("ours"), &project.dir.join("theirs"));
}

fn assert_same_trees(ours: &Path, theirs: &Path) {
    let names = |dir: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(ours), names(theirs), "in {}", ours.display());
    for name in names(ours) {
        let (ours, theirs) = (ours.join(&name), theirs.join(&name));
        if ours.is_dir() {
            assert_same_trees(&ours, &theirs);
        } else if name == ".cargo-checksum.json" {
            let parse = |path| -> serde_json::Value {
                serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
            };
            assert_eq!(parse(&ours), parse(&theirs));
        } else {
            assert_eq!(fs::read(&ours).unwrap(), fs::read(&theirs).unwrap(), "{}", ours.display());
            let executable = |path: &Path| fs::metadata(path).unwrap().mode() & 0o100;
            assert_eq!(executable(&ours), executable(&theirs), "{}", ours.display());
        }
    }
}

#[test]
fn a_second_folder_comes_from_the_store_by_link_without_any_archive() {
    let home = registry();
    let project = project(&home);
    vendor(&project);
    for (name, version) in [("greet", "1.0.0"), ("greet", "2.0.0"), ("words", "1.0.0")] {
        fs::remove_file(home.archive(name, version)).unwrap();
    }
    project.mini(&["vendor", "--locked", "--offline", "second", "-v"]).success();
    for file in ["words/src/large.rs", "words/src/lib.rs", "greet/Cargo.toml"] {
        let inode = |dir: &str| fs::metadata(project.dir.join(dir).join(file)).unwrap().ino();
        assert_eq!(inode("vendor"), inode("second"), "{file} is one file");
    }
    let links = fs::metadata(project.dir.join("second/words/src/large.rs")).unwrap().nlink();
    assert_eq!(links, 3, "the store's object and two folders");
}

#[test]
fn crates_that_are_no_longer_needed_go_and_other_files_stay() {
    let home = registry();
    let project = project(&home);
    vendor(&project);
    project.write("vendor/notes.txt", "mine");
    let manifest =
        project.read("Cargo.toml").replace("old = { package = \"greet\", version = \"1\" }\n", "");
    project.write("Cargo.toml", manifest);
    fs::remove_file(project.dir.join(".cargo/config.toml")).unwrap();
    project.mini(&["vendor", "--offline"]).success();
    assert!(project.has("vendor/greet") && project.has("vendor/notes.txt"));
    assert!(!project.has("vendor/greet-1.0.0"));
}

#[test]
fn a_project_without_dependencies_has_nothing_to_vendor() {
    let home = Home::new();
    let project = home.package("");
    project.mini(&["vendor", "--offline"]).success().says("no dependency to vendor");
    assert!(!project.has("vendor"));
}

#[test]
fn what_a_killed_run_left_behind_goes_with_the_next_one() {
    let home = registry();
    let project = project(&home);
    project.write("vendor/.mini-cargo-stage-1/words/src/lib.rs", "half");
    project.write("vendor/words/src/lib.rs", "old");
    vendor(&project);
    assert!(!project.has("vendor/.mini-cargo-stage-1"));
    assert!(project.read("vendor/words/src/lib.rs").contains("hello"));
}
