//! Kills installations of fourteen real packages at random points, and looks at what is left.
//!
//! ```text
//! cargo run --release --package mini-uv --example interrupted -- DIR [ROUNDS]
//! ```
//!
//! torch, what it needs, numpy, and anyio with what it needs come from an index on the loopback
//! interface, four at a time, and are unpacked while they arrive. Wheels that DIR lacks are fetched
//! into it by name, through pip. After each kill the next process finds either no package or all of
//! them, and the cache is verified; at the end every file is compared with its line in RECORD by
//! Python. The exit code is 1 when anything is wrong.

#![expect(clippy::unwrap_used, reason = "a tool that cannot be run ends the trial")]
#![expect(dead_code, reason = "the helpers are shared with the tests, which use more of them")]

#[path = "../tests/it/index.rs"]
mod index;
#[path = "../tests/it/wheel.rs"]
mod wheel;
#[path = "../tests/it/world.rs"]
mod world;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::index::{Index, Manners};
use crate::world::{Environment, World, python};

/// With torch for 64-bit ARM, whose wheel has no other vendor's libraries to fetch.
const PACKAGES: [&str; 14] = [
    "anyio==4.9.0",
    "filelock==3.18.0",
    "fsspec==2025.5.1",
    "idna==3.10",
    "jinja2==3.1.6",
    "markupsafe==3.0.2",
    "mpmath==1.3.0",
    "networkx==3.4.2",
    "numpy==2.2.6",
    "setuptools==80.9.0",
    "sniffio==1.3.1",
    "sympy==1.14.0",
    "torch==2.7.1",
    "typing_extensions==4.14.0",
];

const PLATFORM: &str = "aarch64-manylinux_2_28";

/// Compares every installed file with its line in RECORD, and prints how many there are.
const COMPARE: &str = "
import base64, csv, glob, hashlib, os, sys
site, count = sys.argv[1], 0
for record in glob.glob(os.path.join(site, '*.dist-info', 'RECORD')):
    for path, digest, size in csv.reader(open(record, newline='')):
        data = open(os.path.join(site, path), 'rb').read()
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()
        assert not digest or digest == 'sha256=' + found, path
        assert not size or int(size) == len(data), path
        count += 1
print(count)
";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(dir) = args.next().map(PathBuf::from) else {
        say("usage: interrupted DIR [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds = args.next().map_or(20, |text| text.to_str().unwrap().parse().unwrap());
    let index = Index::start(Manners::default());
    for package in PACKAGES {
        index.add_file(&wheel_of(&dir, package));
    }
    let world = World::new();
    let environment = world.environment("env");
    let faults = kill(&world, &environment, &index, rounds);
    let compared = compare(&environment);
    say(&format!("{rounds} kills, {faults} faults, {compared} files as RECORD says"));
    ExitCode::from(u8::from(faults > 0))
}

fn say(line: &str) {
    // A closed pipe is the reader's way to say that it has seen enough.
    writeln!(std::io::stdout(), "{line}").unwrap_or(());
}

/// The wheel in `dir`, fetched if it is not there.
fn wheel_of(dir: &Path, package: &str) -> PathBuf {
    look(dir, package).unwrap_or_else(|| {
        say(&format!("fetching {package}"));
        let mut pip = Command::new(python());
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
        ]);
        pip.arg(dir);
        for platform in
            ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"]
        {
            pip.args(["--platform", platform]);
        }
        assert!(pip.arg(package).status().unwrap().success(), "pip could not fetch {package}");
        look(dir, package).unwrap()
    })
}

fn look(dir: &Path, package: &str) -> Option<PathBuf> {
    let start = format!("{}-", package.replace("==", "-"));
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_lowercase();
        let platform = name.ends_with("-none-any.whl") || name.contains("aarch64");
        let wheel = path.extension().is_some_and(|extension| extension == "whl");
        name.starts_with(&start) && platform && wheel
    };
    std::fs::read_dir(dir).ok()?.map(|entry| entry.unwrap().path()).find(fits)
}

fn install(world: &World, environment: &Environment, index: &Index) -> Command {
    let url = index.url();
    let mut command =
        world.command(&["pip", "install", "--quiet", "--no-deps", "--index-url", &url]);
    command.args(["--python", environment.str(), "--python-platform", PLATFORM]);
    command.args(["--concurrent-downloads", "4"]).args(PACKAGES);
    command
}

/// Kills `rounds` installations; returns how often something was wrong afterwards.
fn kill(world: &World, environment: &Environment, index: &Index, rounds: u32) -> u32 {
    let empty = names(&environment.site());
    let started = Instant::now();
    assert!(install(world, environment, index).status().unwrap().success());
    let whole = started.elapsed();
    let full = names(&environment.site());
    let (mut state, mut faults) = (0x9e37_79b9_7f4a_7c15_u64, 0);
    for round in 0..rounds {
        let mut reset =
            world.command(&["pip", "uninstall", "--quiet", "--python", environment.str()]);
        assert!(reset.args(PACKAGES).status().unwrap().success());
        if round % 2 == 0 {
            world.run(&["cache", "clean"]).success();
        }
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let delay =
            whole.mul_f64(f64::from(u32::try_from(state >> 40).unwrap()) / f64::from(1 << 24));
        interrupt(install(world, environment, index), delay);
        world.run(&["pip", "uninstall", "not-installed", "--python", environment.str()]).success();
        let left = names(&environment.site());
        let verified = world.run(&["cache", "verify"]);
        let right = (left == empty || left == full) && verified.code == 0;
        let state = if left == empty { "nothing" } else { "everything" };
        say(&format!(
            "killed after {} ms: {}",
            delay.as_millis(),
            if right { state } else { "WRONG" }
        ));
        faults += u32::from(!right);
    }
    assert!(install(world, environment, index).status().unwrap().success());
    faults + u32::from(names(&environment.site()) != full)
}

fn interrupt(mut command: Command, delay: Duration) {
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Every path below `dir`.
fn names(dir: &Path) -> BTreeSet<PathBuf> {
    let mut names = BTreeSet::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            names.insert(path);
        }
    }
    names
}

fn compare(environment: &Environment) -> u64 {
    let mut compare = Command::new(python());
    let output = compare.args(["-I", "-c", COMPARE]).arg(environment.site()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}
