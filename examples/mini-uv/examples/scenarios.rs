//! Runs resolver scenarios from a folder of TOML files against a loopback index.
//!
//! ```text
//! cargo run --package mini-uv --example scenarios -- DIR
//! ```
//!
//! The format is that of uv's own scenarios (`test/scenarios` in astral-sh/uv): packages with their
//! versions, what is required, and what must come out. Those that need a source distribution to be built
//! and those that ask for a universal resolution must be refused in so many words, and are listed. The
//! exit code is 1 when any scenario came out wrong.

#![expect(clippy::unwrap_used, reason = "a broken scenario file ends the run")]
#![expect(dead_code, reason = "the helpers are shared with the tests, which use more of them")]

#[path = "../tests/it/index.rs"]
mod index;
#[path = "../tests/it/wheel.rs"]
mod wheel;
#[path = "../tests/it/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;

use crate::index::{Index, Manners};
use crate::wheel::Wheel;
use crate::world::{Environment, Ran, World};

#[derive(Deserialize)]
struct Scenario {
    name: String,
    root: Root,
    expected: Expected,
    #[serde(default)]
    environment: Options,
    #[serde(default)]
    resolver_options: Options,
    #[serde(default)]
    packages: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Root {
    requires: Vec<String>,
}

#[derive(Deserialize)]
struct Expected {
    satisfiable: bool,
    #[serde(default)]
    packages: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
struct Options {
    #[serde(default)]
    python: Option<String>,
    #[serde(default)]
    universal: bool,
    #[serde(default)]
    prereleases: bool,
    #[serde(default)]
    python_platform: Option<String>,
}

#[derive(Deserialize)]
struct Package {
    versions: BTreeMap<String, Version>,
}

#[derive(Deserialize)]
struct Version {
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    requires_python: Option<String>,
    #[serde(default)]
    extras: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    wheel_tags: Vec<String>,
    #[serde(default)]
    yanked: bool,
    #[serde(default = "yes")]
    sdist: bool,
    #[serde(default = "yes")]
    wheel: bool,
}

fn yes() -> bool {
    true
}

/// How a scenario came out.
enum Outcome {
    Right,
    /// For want of what is named.
    Refused(&'static str),
    Wrong(String),
}

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1) else {
        say("usage: scenarios DIR");
        return ExitCode::from(2);
    };
    let world = World::new();
    let environment = world.environment("env");
    let mut counts = BTreeMap::new();
    for path in files(Path::new(&dir)) {
        let scenario: Scenario = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let (kind, detail) = match run(&scenario, &world, &environment) {
            Outcome::Right => ("right", String::new()),
            Outcome::Refused(what) => ("refused", format!("needs {what}")),
            Outcome::Wrong(why) => ("WRONG", why),
        };
        say(&format!("{kind:8} {} {detail}", scenario.name));
        *counts.entry(kind).or_insert(0) += 1;
    }
    say(&format!("{counts:?}"));
    ExitCode::from(u8::from(counts.contains_key("WRONG") || counts.is_empty()))
}

fn say(line: &str) {
    // A closed pipe is the reader's way to say that it has seen enough.
    writeln!(std::io::stdout(), "{line}").unwrap_or(());
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn run(scenario: &Scenario, world: &World, environment: &Environment) -> Outcome {
    let index = Index::start(Manners { metadata_files: true, ..Manners::default() });
    for (name, package) in &scenario.packages {
        for (version, files) in &package.versions {
            publish(&index, name, version, files);
        }
    }
    judge(scenario, &ask(scenario, &index, world, environment))
}

fn publish(index: &Index, name: &str, version: &str, files: &Version) {
    let mut wheel = Wheel::module(name, version);
    if let Some(python) = &files.requires_python {
        wheel = wheel.header(&format!("Requires-Python: {python}"));
    }
    wheel = files.requires.iter().fold(wheel, |wheel, requirement| wheel.requires(requirement));
    for (extra, requires) in &files.extras {
        wheel = wheel.header(&format!("Provides-Extra: {extra}"));
        wheel = requires
            .iter()
            .fold(wheel, |wheel, line| wheel.requires(&format!("{line}; extra == '{extra}'")));
    }
    let python = files.requires_python.as_deref();
    if files.wheel && files.wheel_tags.is_empty() {
        index.add_with(&wheel, python, files.yanked);
    }
    for tag in &files.wheel_tags {
        index.add_with(&wheel.clone().tag(tag), python, files.yanked);
    }
    if files.sdist {
        index.add_source_with(name, version, files.yanked);
    }
}

fn ask(scenario: &Scenario, index: &Index, world: &World, environment: &Environment) -> Ran {
    let url = index.url();
    let options = &scenario.resolver_options;
    let mut args =
        vec!["pip", "install", "--dry-run", "--python", environment.str(), "--index-url", &url];
    if let Some(version) = options.python.as_deref().or(scenario.environment.python.as_deref()) {
        args.extend(["--python-version", version]);
    }
    if let Some(platform) = &options.python_platform {
        args.extend(["--python-platform", platform]);
    }
    if options.prereleases {
        args.push("--pre");
    }
    if options.universal {
        args.push("--universal");
    }
    args.extend(scenario.root.requires.iter().map(String::as_str));
    world.run(&args)
}

fn judge(scenario: &Scenario, ran: &Ran) -> Outcome {
    let expected = &scenario.expected;
    if scenario.resolver_options.universal {
        return judge_universal(ran);
    }
    let chosen: BTreeMap<String, String> = ran
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix(" + ")?.split_once("=="))
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect();
    match (expected.satisfiable, ran.code) {
        (true, 0) if expected.packages.as_ref().is_none_or(|packages| *packages == chosen) => {
            Outcome::Right
        }
        (false, 1) => Outcome::Right,
        (true, 1) if ran.stderr.contains("source distribution") => {
            Outcome::Refused("a source distribution to be built")
        }
        _ => Outcome::Wrong(format!("{ran:#?}")),
    }
}

fn judge_universal(ran: &Ran) -> Outcome {
    if ran.code == 2 && ran.stderr.contains("error: a universal resolution") {
        Outcome::Refused("a universal resolution")
    } else {
        Outcome::Wrong(format!("{ran:#?}"))
    }
}
