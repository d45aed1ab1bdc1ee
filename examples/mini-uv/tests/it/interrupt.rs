//! Ctrl-C and a polite request to end: the old environment or the new one, and nothing beside it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::index::{Index, Manners};
use crate::network::noise;
use crate::wheel::Wheel;
use crate::world::{Environment, World};

fn index(manners: Manners) -> Index {
    let index = Index::start(manners);
    for version in ["1.0", "2.0"] {
        let wheel = Wheel::module("app", version).file("app/first.txt", version);
        index.add(&wheel.file("app/data.bin", noise(300_000)));
    }
    index
}

/// Where packages are prepared.
fn stage(environment: &Environment) -> PathBuf {
    environment.site().join(".mini-uv-stage").join("new")
}

#[test]
fn ctrl_c_while_a_server_sends_nothing_undoes_the_installation_and_ends_it_by_the_signal() {
    let (world, index) = (World::new(), index(Manners::default()));
    let environment = world.environment("env");
    let url = index.url();
    let args = ["pip", "install", "--python", environment.str(), "--index-url", &url];
    world.run(&[&args[..], &["app==1.0"]].concat()).success();
    let before = environment.picture();

    let (break_after_bytes, stall) = (Some(150_000), true);
    index.behave(Manners { break_after_bytes, stall, ..Manners::default() });
    let upgrade = [&args[..], &["app==2.0"]].concat();
    let interrupted = world.interrupt_on_terminal(&stage(&environment), &upgrade);
    assert_eq!(interrupted.signal, 2, "{interrupted:?}");
    let shown = &interrupted.shown;
    let (progress, said) = shown.split_once("error:").unwrap();
    assert!(progress.contains("Preparing packages..."), "{shown:?}");
    assert!(progress.ends_with("\x1b[2K"), "the bar was not cleared: {shown:?}");
    assert!(!shown.contains("\x1b[?25l"), "the cursor is hidden: {shown:?}");
    assert_eq!(said.trim(), "interrupted; the environment is as it was");
    assert_eq!(environment.picture(), before);
    world.run(&["cache", "verify"]).success();

    index.behave(Manners::default());
    world.run(&upgrade).success();
    assert_eq!(environment.python("import app; print(app.VERSION)"), "2.0");
}

/// The signals that end a program, at moments that are spread over its run.
#[test]
fn a_signal_at_any_moment_leaves_the_old_environment_or_the_new_one() {
    const ROUNDS: u32 = 16;
    let (world, index) = (World::new(), index(Manners { pause_us: 2_000, ..Manners::default() }));
    let environment = world.environment("env");
    let url = index.url();
    let install = |version: &str| {
        let args = ["pip", "install", "--quiet", "--python", environment.str()];
        let mut command = world.command(&args);
        command.args(["--index-url", &url, version]);
        command
    };
    assert!(install("app==2.0").status().unwrap().success());
    let new = environment.picture();
    world.run(&["cache", "clean"]).success();
    let started = std::time::Instant::now();
    assert!(install("app==1.0").status().unwrap().success());
    let whole = started.elapsed();
    let old = environment.picture();
    let mut states = [0, 0];
    for round in 0..ROUNDS {
        world.run(&["cache", "clean"]).success();
        let mut child = install("app==2.0").stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * round / ROUNDS);
        let signal = if round % 2 == 0 { "-INT" } else { "-TERM" };
        Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        child.wait().unwrap();
        let seen = environment.picture();
        // No next process has cleaned up.
        assert!(seen == old || seen == new, "round {round}");
        states[usize::from(seen == new)] += 1;
        world.run(&["cache", "verify"]).success();
        if seen == new {
            assert!(install("app==1.0").status().unwrap().success());
        }
    }
    assert!(states[0] > 0, "{states:?}: no signal came in time");
}
