//! Compares what mini-uv, pip and uv make of the same wheels, file by file.
//!
//! ```text
//! cargo run --package mini-uv --example parity -- DIR
//! ```
//!
//! Every wheel in the folder is installed, without dependencies, into an environment per tool. What
//! may differ is listed in `MAY_DIFFER` and `is_script`; anything else, a mode too, is a difference,
//! and the exit code is 1. uv takes part if it is on PATH.

#![expect(clippy::unwrap_used, reason = "a tool that cannot be run ends the comparison")]
#![expect(dead_code, reason = "the helpers are shared with the tests, which use more of them")]

#[path = "../tests/it/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::world::{Environment, World, python};

/// Files that say which tool was there, or that quote the environment's own path.
const MAY_DIFFER: [&str; 5] =
    ["INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_cache.json"];

/// A file: its mode, and its content unless that may differ.
type Picture = BTreeMap<String, (u32, Option<Vec<u8>>)>;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        say("usage: parity DIR");
        return ExitCode::from(2);
    };
    let wheels = wheels(&std::path::absolute(dir).unwrap());
    let world = World::new();
    let ours = picture(&world, "ours", |environment| {
        let args =
            ["pip", "install", "--quiet", "--no-index", "--no-deps", "--python", environment.str()];
        world.command(&args).args(&wheels).status().unwrap().success()
    });
    say(&format!("mini-uv: {} wheels, {} files", wheels.len(), ours.len()));
    let mut differences = 0;
    let pip = picture(&world, "pip", |environment| install_with_pip(environment, &wheels));
    differences += compare("pip", &ours, &pip);
    if Command::new("uv").arg("--version").output().is_ok() {
        let uv = picture(&world, "uv", |environment| install_with_uv(&world, environment, &wheels));
        differences += compare("uv", &ours, &uv);
    } else {
        say("uv: not on PATH");
    }
    ExitCode::from(u8::from(differences > 0 || wheels.is_empty()))
}

fn say(line: &str) {
    // A closed pipe is the reader's way to say that it has seen enough.
    writeln!(std::io::stdout(), "{line}").unwrap_or(());
}

fn wheels(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut wheels: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .collect();
    wheels.sort();
    wheels
}

fn install_with_pip(environment: &Environment, wheels: &[PathBuf]) -> bool {
    let mut args = vec!["install", "--quiet", "--no-index", "--no-deps", "--no-compile"];
    args.extend(wheels.iter().map(|wheel| wheel.to_str().unwrap()));
    environment.pip(&args).code == 0
}

fn install_with_uv(world: &World, environment: &Environment, wheels: &[PathBuf]) -> bool {
    let mut uv = Command::new("uv");
    uv.env("UV_CACHE_DIR", world.path("uv-cache")).env("UV_OFFLINE", "1");
    uv.args(["pip", "install", "--quiet", "--no-deps", "--python", environment.str()]).args(wheels);
    uv.status().unwrap().success()
}

/// What an installation adds to a new environment.
fn picture(world: &World, name: &str, install: impl FnOnce(&Environment) -> bool) -> Picture {
    let environment = world.environment(name);
    let before = files(&environment.path);
    assert!(install(&environment), "{name} failed with {}", python().display());
    let mut after = files(&environment.path);
    after.retain(|path, _| !before.contains_key(path));
    after
}

fn files(root: &Path) -> Picture {
    let mut found = Picture::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() && !may_be_absent(&path) {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                let content = (!may_differ(&path)).then(|| std::fs::read(&path).unwrap());
                found.insert(name, (metadata.permissions().mode() & 0o7777, content));
            }
        }
    }
    found
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Files of one tool's own.
fn may_be_absent(path: &Path) -> bool {
    matches!(name_of(path), "uv_cache.json" | ".lock")
}

fn may_differ(path: &Path) -> bool {
    MAY_DIFFER.contains(&name_of(path)) || is_script(path)
}

/// Scripts quote the interpreter's path, and each tool words them in its own way.
fn is_script(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap();
    path.parent().unwrap().ends_with("bin") && text.starts_with(b"#!")
}

fn compare(tool: &str, ours: &Picture, theirs: &Picture) -> usize {
    let mut differences = 0;
    for name in ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name))) {
        let what = match (ours.get(name), theirs.get(name)) {
            (Some(one), Some(two)) if one == two => continue,
            (Some(one), Some(two)) if one.1 == two.1 => format!("mode {:o} and {:o}", one.0, two.0),
            (Some(_), Some(_)) => "other content".to_owned(),
            (Some(_), None) => "only mini-uv has it".to_owned(),
            _ => format!("only {tool} has it"),
        };
        differences += 1;
        say(&format!("{tool}: {name}: {what}"));
    }
    say(&format!("{tool}: {} files, {differences} differences", theirs.len()));
    differences
}
