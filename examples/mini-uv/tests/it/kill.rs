//! Processes that die, and processes that meet: fourteen packages from an index, four at a time.
//!
//! Death comes by SIGKILL at random points of a streamed upgrade, so nothing of the tool runs after
//! it. What the next process finds must be the old environment or the new one, file by file.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::index::{Index, Manners};
use crate::network::noise;
use crate::wheel::Wheel;
use crate::world::{Environment, World};

const PACKAGES: u32 = 14;

/// How often a process is killed.
const KILLS: u64 = 24;

type Picture = BTreeMap<String, Vec<u8>>;

fn name(number: u32) -> String {
    format!("part{number}")
}

/// One of fourteen: a module, a library that is executable as the archive's end says, a program, a
/// file that both versions have, a file that is gone in the next one, and a folder that all share.
fn package(number: u32, version: &str) -> Wheel {
    let name = name(number);
    Wheel::module(&name, version)
        .file(&format!("{name}/{version}.txt"), version)
        .file(&format!("{name}/data.bin"), noise(90_000 + number))
        .file_with_mode(&format!("{name}/native.so"), noise(70_000 + number), 0o755)
        .file_with_mode(&format!("{name}/started.py"), format!("print({number})"), 0o755)
        .file(&format!("common_namespace/{name}.py"), version)
        .in_dist_info("entry_points.txt", &format!("[console_scripts]\n{name} = {name}:main\n"))
}

fn serve(pause_us: u64) -> Index {
    let manners = Manners { pause_us, max_age_s: Some(0), ..Manners::default() };
    let (index, folder) = (Index::start(manners), tempfile::tempdir().unwrap());
    for number in 0..PACKAGES {
        for version in ["1.0", "2.0"] {
            index.add_file(&package(number, version).write(folder.path()));
        }
    }
    index
}

/// Installs all packages of one version, streaming, four at once.
fn install(world: &World, environment: &Environment, index: &Index, version: &str) -> Command {
    let mut command = world.command(&["pip", "install", "--quiet", "--index-url", &index.url()]);
    command.args(["--python", environment.str(), "--concurrent-downloads", "4"]);
    command.args((0..PACKAGES).map(|number| format!("{}=={version}", name(number))));
    command
}

fn succeed(mut command: Command) -> Duration {
    let started = Instant::now();
    assert!(command.status().unwrap().success());
    started.elapsed()
}

/// Starts `command` and kills it after `delay`, unless it is done by then.
fn kill_after(mut command: Command, delay: Duration) {
    let mut child: Child = command.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The next process, which has something else to do, undoes what was interrupted.
fn recover(world: &World, environment: &Environment) {
    world.run(&["pip", "uninstall", "not-installed", "--python", environment.str()]).success();
}

#[test]
fn an_upgrade_killed_at_random_points_leaves_the_old_environment_or_the_new_one() {
    let (world, index) = (World::new(), serve(300));
    let environment = world.environment("env");
    succeed(install(&world, &environment, &index, "2.0"));
    let new = environment.picture();
    world.run(&["cache", "clean"]).success();
    let whole = succeed(install(&world, &environment, &index, "1.0"));
    let old = environment.picture();
    let pictures: [(&str, &Picture); 2] = [("1.0", &old), ("2.0", &new)];
    let mut has = "1.0";
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..KILLS {
        if round % 3 == 0 {
            // From an empty cache: everything is streamed again.
            world.run(&["cache", "clean"]).success();
        }
        let wanted = if has == "1.0" { "2.0" } else { "1.0" };
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay =
            whole.mul_f64(f64::from(u32::try_from(state >> 40).unwrap()) / f64::from(1 << 24));
        kill_after(install(&world, &environment, &index, wanted), delay);
        recover(&world, &environment);
        let seen = environment.picture();
        let found = pictures.iter().find(|(_, picture)| **picture == seen);
        has = found.unwrap_or_else(|| panic!("round {round}: {}", difference(&seen, &old, &new))).0;
        world.run(&["cache", "verify"]).success();
    }
    // And what was killed can be done.
    for (version, picture) in pictures {
        succeed(install(&world, &environment, &index, version));
        assert_eq!(difference(&environment.picture(), picture, picture), "");
    }
    world.run(&["cache", "verify"]).success();
}

/// The names that make `seen` differ from both.
fn difference(seen: &Picture, old: &Picture, new: &Picture) -> String {
    let names = |other: &Picture| {
        let all = seen.keys().chain(other.keys());
        let differing = all.filter(|name| seen.get(*name) != other.get(*name));
        differing.take(5).cloned().collect::<Vec<_>>().join(", ")
    };
    let (from_old, from_new) = (names(old), names(new));
    if from_old.is_empty() || from_new.is_empty() {
        return String::new();
    }
    format!("not the old one ({from_old}), not the new one ({from_new})")
}

#[test]
fn a_failing_upgrade_or_reinstallation_leaves_the_environment_as_it_was() {
    let (world, index) = (World::new(), serve(0));
    let environment = world.environment("env");
    succeed(install(&world, &environment, &index, "1.0"));
    let before = environment.picture();
    let corrupt =
        |corrupt| index.behave(Manners { corrupt, max_age_s: Some(0), ..Manners::default() });
    for (version, flag) in [("2.0", "--upgrade"), ("1.0", "--reinstall")] {
        world.run(&["cache", "clean"]).success();
        corrupt(true);
        let mut failing = install(&world, &environment, &index, version);
        assert_eq!(failing.arg(flag).status().unwrap().code(), Some(2), "{flag}");
        assert_eq!(difference(&environment.picture(), &before, &before), "", "{flag}");
        world.run(&["cache", "verify"]).success();
        corrupt(false);
    }
    succeed(install(&world, &environment, &index, "2.0"));
}

#[test]
fn what_a_killed_process_left_in_the_cache_is_swept() {
    let (world, index) = (World::new(), serve(100));
    let environment = world.environment("env");
    let whole = succeed(install(&world, &environment, &index, "1.0"));
    world.run(&["cache", "clean"]).success();
    for part in 1..6 {
        kill_after(install(&world, &environment, &index, "2.0"), whole * part / 6);
        recover(&world, &environment);
    }
    world.run(&["cache", "prune"]).success();
    let after = world.run(&["cache", "prune"]).success();
    assert!(after.stderr.contains("No unused entries found"), "{after:?}");
    world.run(&["cache", "verify"]).success();
    succeed(install(&world, &environment, &index, "2.0"));
}

#[test]
fn processes_that_install_the_same_packages_at_once_get_whole_ones() {
    let (world, index) = (World::new(), serve(100));
    let environments: Vec<Environment> =
        (0..2).map(|number| world.environment(&format!("env{number}"))).collect();
    index.log();
    let started = environments
        .iter()
        .map(|environment| install(&world, environment, &index, "1.0").spawn().unwrap());
    let children: Vec<Child> = started.collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let log = index.log();
    for number in 0..PACKAGES {
        let file = format!("/files/{}", package(number, "1.0").file_name());
        let downloads = log.iter().filter(|path| **path == file).count();
        // The end of each is read apart for its METADATA, by both.
        assert!((2..=4).contains(&downloads), "{downloads} requests for {file}");
    }
    world.run(&["cache", "verify"]).success();
    let [one, two] = environments.as_slice() else { panic!("two environments") };
    let code = "import part0, part13; print(part0.VERSION, part13.VERSION)";
    assert_eq!((one.python(code), two.python(code)), ("1.0 1.0".into(), "1.0 1.0".into()));
    assert_eq!(files(one), files(two));
}

#[test]
fn two_processes_change_one_environment_one_after_the_other() {
    let (world, index) = (World::new(), serve(100));
    let environment = world.environment("env");
    succeed(install(&world, &environment, &index, "2.0"));
    let new = environment.picture();
    succeed(install(&world, &environment, &index, "1.0"));
    let old = environment.picture();
    let children: Vec<Child> = ["1.0", "2.0"]
        .iter()
        .map(|version| install(&world, &environment, &index, version).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(difference(&environment.picture(), &old, &new), "");
}

#[test]
fn nothing_is_changed_while_another_process_has_the_environment() {
    let (world, index) = (World::new(), serve(0));
    let environment = world.environment("env");
    let before = environment.picture();
    let lock = std::fs::File::create(environment.path.join(".lock")).unwrap();
    lock.lock().unwrap();
    let args = ["pip", "install", "--index-url", &index.url(), "--python", environment.str()];
    let mut command = world.command(&args);
    let mut child = command.arg("part1==1.0").stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "Waiting for another process that uses this environment\n");
    assert_eq!(environment.picture(), before);
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    drop(lock);
    std::io::copy(&mut stderr, &mut std::io::sink()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(environment.python("import part1; print(part1.VERSION)"), "1.0");
}

/// What is in the packages' folder, but for what tells the environments apart.
fn files(environment: &Environment) -> Picture {
    let mut seen = crate::world::picture(&environment.site());
    // It has the digests of scripts, which name the environment.
    seen.retain(|name, _| !name.ends_with("/RECORD"));
    seen
}
