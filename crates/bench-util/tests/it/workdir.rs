//! Work folders: fresh, on the file system that was asked for, and gone afterwards.

#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(unix)]
use bench_util::disk_usage;
#[cfg(target_os = "linux")]
use bench_util::page_cache;
use bench_util::{Place, Workdir};

#[cfg(target_os = "linux")]
fn ext4() -> Place {
    Place::JournaledExt4 { size_bytes: 64 << 20 }
}

#[cfg(target_os = "linux")]
fn assert_gone(top: &Path) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let is_left = top.exists() || mounts.contains(top.to_str().unwrap()) || has_loop_device(top);
    assert!(!is_left, "{} is left", top.display());
}

/// A loop device outlives its mount while anything else holds it.
#[cfg(target_os = "linux")]
fn has_loop_device(top: &Path) -> bool {
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    devices
        .filter_map(|device| std::fs::read(device.path().join("loop/backing_file")).ok())
        .any(|file| file.starts_with(top.to_str().unwrap().as_bytes()))
}

#[test]
#[cfg(target_os = "linux")]
fn a_loop_mount_is_journaled_ext4_and_leaves_nothing() {
    let work = Workdir::on(&ext4()).unwrap();
    assert_eq!(work.filesystem().kind, "ext4");
    std::fs::write(work.fresh("a tree").unwrap().join("file"), [1; 5000]).unwrap();
    let top = work.path().to_path_buf();
    drop(work);
    assert_gone(&top);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_file_system_is_made_anew_instead_of_emptied() {
    for place in [ext4(), Place::Memory] {
        let mut work = Workdir::on(&place).unwrap();
        let folder = work.fresh("big").unwrap();
        std::fs::write(folder.join("file"), vec![1; 20 << 20]).unwrap();
        page_cache::sync();
        assert!(!work.renew_over(50 << 20).unwrap(), "not full yet");
        assert!(work.renew_over(10 << 20).unwrap());
        assert!(!folder.exists());
        assert_ne!(work.fresh("big").unwrap(), folder, "a name is never used twice");
    }
}

#[test]
fn a_folder_on_the_users_disk_is_not_emptied_while_measuring() {
    let parent = tempfile::tempdir().unwrap();
    let mut work = Workdir::on(&Place::Folder(parent.path().to_path_buf())).unwrap();
    let folder = work.fresh("big").unwrap();
    std::fs::write(folder.join("file"), vec![1; 100_000]).unwrap();
    assert!(!work.renew_over(0).unwrap());
    assert!(folder.exists());
    drop(work);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn too_little_memory_is_said_before_anything_is_mounted() {
    let error = Workdir::on(&Place::JournaledExt4 { size_bytes: 1 << 60 }).unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    assert!(error.remedy().unwrap().contains("--quick"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_process_leaves_neither_mount_nor_folder() {
    assert_leaves_nothing(
        "KILL",
        "workdir::a_killed_process_leaves_neither_mount_nor_folder",
        || Workdir::on(&ext4()).unwrap(),
    );
}

/// Ctrl-C reaches the whole process group, and so would reach a guard that is in it.
#[test]
#[cfg(target_os = "linux")]
fn an_interrupted_process_group_leaves_neither_mount_nor_folder() {
    let test = "workdir::an_interrupted_process_group_leaves_neither_mount_nor_folder";
    assert_leaves_nothing("INT", test, || Workdir::on(&ext4()).unwrap());
}

/// As a FUSE file system does whose server died of the same Ctrl-C.
#[test]
#[cfg(target_os = "linux")]
fn what_a_case_had_mounted_inside_goes_as_well() {
    assert_leaves_nothing("INT", "workdir::what_a_case_had_mounted_inside_goes_as_well", || {
        let work = Workdir::on(&Place::Memory).unwrap();
        for folder in [work.fresh("outer").unwrap(), work.path().join("000000-outer/inner")] {
            std::fs::create_dir_all(&folder).unwrap();
            let mut mount = std::process::Command::new("mount");
            assert!(mount.args(["-t", "tmpfs", "none"]).arg(folder).status().unwrap().success());
        }
        work
    });
}

/// The process is this test binary itself, told by a variable to measure for ever.
#[cfg(target_os = "linux")]
fn assert_leaves_nothing(signal: &str, test: &str, start: fn() -> Workdir) {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};
    if std::env::var_os("BENCH_UTIL_TEST_HANGS").is_some() {
        hang(&start());
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("BENCH_UTIL_TEST_HANGS", "1")
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let top = lines.map_while(Result::ok).find(|line| line.contains("top=")).unwrap();
    let top = Path::new(top.split_once("top=").unwrap().1).to_path_buf();
    assert!(top.exists());
    let group = format!("-{}", child.id());
    assert!(Command::new("kill").args(["-s", signal, "--", &group]).status().unwrap().success());
    child.wait().unwrap();
    let patience = std::time::Instant::now();
    while top.exists() && patience.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // On a loop mount the top is the mount inside the folder that has to go.
    let root = if top.ends_with("mount") { top.parent().unwrap() } else { &top };
    while root.exists() && patience.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_gone(root);
}

#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
fn hang(work: &Workdir) -> ! {
    println!("top={}", work.path().display());
    loop {
        std::thread::park();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_evicted_tree_is_read_from_the_medium_again() {
    let work = Workdir::on(&ext4()).unwrap();
    let tree = work.fresh("tree").unwrap();
    for number in 0..10 {
        std::fs::write(tree.join(number.to_string()), [number; 9000]).unwrap();
    }
    assert_eq!(page_cache::evict_tree(&tree).unwrap(), 10);
    assert_eq!(resident_pages(&tree.join("3")), 0);
    assert_eq!(std::fs::read(tree.join("3")).unwrap(), [3; 9000]);
    assert!(resident_pages(&tree.join("3")) > 0);
    page_cache::drop_all().unwrap();
    assert_eq!(resident_pages(&tree.join("3")), 0);
}

/// Asks `fincore`, which is part of util-linux like `mount`.
#[cfg(target_os = "linux")]
fn resident_pages(file: &Path) -> u64 {
    let output = std::process::Command::new("fincore")
        .args(["--noheadings", "--raw", "--output", "PAGES"])
        .arg(file)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

#[test]
#[cfg(unix)]
fn disk_usage_counts_an_inode_once_and_follows_no_link() {
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("one"), [0; 10_000]).unwrap();
    std::fs::hard_link(folder.join("one"), top.path().join("two")).unwrap();
    std::os::unix::fs::symlink(top.path(), folder.join("loop")).unwrap();
    let usage = disk_usage(top.path()).unwrap();
    let link = std::fs::symlink_metadata(folder.join("loop")).unwrap().len();
    assert_eq!((usage.names, usage.files, usage.folders), (3, 2, 2));
    assert_eq!(usage.apparent_bytes, 10_000 + link);
    assert!(usage.allocated_bytes >= 10_000);
}
