//! Missing, damaged and impossible files: a clear error with the next step, nothing half written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home::{Crate, Home, Project};

fn registry() -> Home {
    let home = Home::new();
    let text = "// a line of text\n".repeat(5_000);
    home.publish_all(&[
        Crate::new("a", "1.0.0").needs("b", "1").file("src/data.rs", &text),
        Crate::new("b", "1.0.0").file("src/other.rs", &text),
        Crate::new("b", "1.1.0").file("src/other.rs", &text),
    ]);
    home
}

fn project(home: &Home) -> Project<'_> {
    let project = home.package("[dependencies]\na = \"1\"\n");
    project.mini(&["generate-lockfile", "--offline"]).success();
    project
}

/// Nothing of the stage is left, and a later run succeeds.
#[track_caller]
fn assert_clean(project: &Project<'_>) {
    let vendor = project.dir.join("vendor");
    let left: Vec<_> = fs::read_dir(&vendor).into_iter().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_missing_archive_is_named_with_the_command_that_gets_it() {
    let home = registry();
    let project = project(&home);
    let archive = home.archive("b", "1.1.0");
    let aside = home.path("aside.crate");
    fs::rename(&archive, &aside).unwrap();
    let ran = project.mini(&["vendor", "--offline"]);
    ran.failure().says("the archive of `b v1.1.0` is not at `").says("mini-cargo fetch");
    assert_clean(&project);
    fs::rename(&aside, &archive).unwrap();
    project.mini(&["vendor", "--offline"]).success();
}

#[test]
fn an_archive_with_any_other_byte_is_refused_before_anything_is_in_place() {
    let home = registry();
    let project = project(&home);
    let archive = home.archive("b", "1.1.0");
    let good = fs::read(&archive).unwrap();
    for at in [20, good.len() / 2, good.len() - 5] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&archive, bad).unwrap();
        let ran = project.mini(&["vendor", "--offline"]);
        ran.failure()
            .says("failed to unpack `b v1.1.0`")
            .says("b-1.1.0.crate")
            .says("help: delete it");
        assert_clean(&project);
    }
    fs::write(&archive, &good[..good.len() / 3]).unwrap();
    project.mini(&["vendor", "--offline"]).failure().says("b-1.1.0.crate");
    assert_clean(&project);
    fs::write(&archive, good).unwrap();
    project.mini(&["vendor", "--offline"]).success();
}

#[test]
fn a_flipped_byte_in_the_index_cache_changes_no_lock() {
    let home = registry();
    let project = project(&home);
    let lock = project.read("Cargo.lock");
    let path = home.index_file();
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(good.len() / 60) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&path, bad).unwrap();
        assert_eq!(project.lock_with_mini(&["generate-lockfile", "--offline"]), lock, "byte {at}");
    }
}

#[test]
fn a_damaged_record_is_read_again_and_without_cargos_file_named_with_place_and_next_step() {
    let home = registry();
    let project = project(&home);
    let lock = project.read("Cargo.lock");
    let path = home.index_file();
    let good = fs::read(&path).unwrap();
    // The record of b 1.1.0 is found by the checksum in it.
    let checksum =
        lock.split("name = \"b\"").nth(1).unwrap().split("checksum = \"").nth(1).unwrap();
    let byte = |at: usize| u8::from_str_radix(&checksum[at..at + 2], 16).unwrap();
    let start = [byte(0), byte(2), byte(4), byte(6)];
    let at = good.windows(4).position(|window| window == start).unwrap();
    let mut bad = good.clone();
    bad[at] ^= 1;

    fs::write(&path, &bad).unwrap();
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.success().says("warning: corrupt").says("`b` is read again from cargo's own cache");
    assert_eq!(project.read("Cargo.lock"), lock);
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    assert!(!ran.success().stderr.contains("warning"), "it is healed: {}", ran.stderr);

    // Without cargo's file the cache is all there is: good as long as it is whole.
    fs::remove_file(home.cargo_file("b")).unwrap();
    assert_eq!(project.lock_with_mini(&["generate-lockfile", "--offline"]), lock);
    fs::write(&path, &bad).unwrap();
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("corrupt slice at byte ").says("help: delete `").says("-v1.ixc");
    assert_eq!(project.read("Cargo.lock"), lock, "a failure leaves the lock file");
}

#[test]
fn a_torn_file_of_cargos_is_an_error_not_an_older_version() {
    let home = registry();
    let project = project(&home);
    fs::remove_dir_all(home.cargo_home().join("mini-cargo")).unwrap();
    let file = home.cargo_file("b");
    let good = fs::read(&file).unwrap();
    fs::write(&file, &good[..good.len() - 40]).unwrap();
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("failed to read cargo's cache file").says("ends in the middle");
    fs::write(&file, good).unwrap();
    project.mini(&["generate-lockfile", "--offline"]).success();
}

/// A small file system that goes away with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, kibibytes: u32) -> Self {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={kibibytes}k");
        let args = ["-t", "tmpfs", "-o", &options, "none"];
        let status = Command::new("mount").args(args).arg(at).status().unwrap();
        assert!(status.success(), "these tests run as root on Linux");
        Self(at.to_owned())
    }

    fn fill(&self) -> PathBuf {
        let filler = self.0.join("filler");
        drop(fs::write(&filler, vec![0; 8 << 20]));
        filler
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[test]
fn a_full_disk_leaves_the_folder_as_it_was_and_the_store_usable() {
    let home = registry();
    let project = project(&home);
    let disk = SmallDisk::mount(&project.dir.join("vendor"), 64);
    let ran = project.mini(&["vendor", "--offline"]);
    ran.failure().says("failed to unpack").says("No space left on device");
    assert_clean(&project);
    drop(disk);
    project.mini(&["vendor", "--offline"]).success();
    let ran = project.mini(&["vendor", "--offline", "again"]);
    ran.success();
}

#[test]
fn a_full_disk_under_the_index_cache_costs_a_warning_and_no_lock() {
    let home = registry();
    let cache = home.cargo_home().join("mini-cargo");
    let disk = SmallDisk::mount(&cache, 64);
    fs::create_dir(cache.join("index")).unwrap();
    let filler = disk.fill();
    let project = home.package("[dependencies]\na = \"1\"\n");
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.success().says("warning: the index cache was not updated").says("make room");
    assert_eq!(project.read("Cargo.lock"), project.lock_with_cargo());
    fs::remove_file(filler).unwrap();
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    assert!(!ran.success().stderr.contains("warning"), "{}", ran.stderr);
}

#[test]
fn a_full_disk_under_the_project_leaves_the_old_lock_file() {
    let home = registry();
    let dir = home.path("project");
    let disk = SmallDisk::mount(&dir, 64);
    let project = home.package("[dependencies]\nb = \"=1.0.0\"\n");
    project.mini(&["generate-lockfile", "--offline"]).success();
    let before = project.read("Cargo.lock");
    project.write("Cargo.toml", project.read("Cargo.toml").replace("=1.0.0", "1.1.0"));
    disk.fill();
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("failed to write").says("No space left on device");
    assert_eq!(project.read("Cargo.lock"), before);
    assert!(
        fs::read_dir(&dir)
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().contains(".tmp") })
    );
}
