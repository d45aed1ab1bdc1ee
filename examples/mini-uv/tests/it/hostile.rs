//! Wheels that are wrong on purpose: each is refused or healed, as the specification has it.

use crate::wheel::Wheel;
use crate::world::{Ran, World};

fn install(wheel: &Wheel) -> (World, Ran, bool) {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let path = wheel.write(&world.wheels());
    let ran = world.install(&environment, &[path.to_str().unwrap()]);
    let untouched = environment.picture() == before;
    (world, ran, untouched)
}

#[track_caller]
fn assert_refused(wheel: &Wheel, words: &[&str]) {
    let (_world, ran, untouched) = install(wheel);
    ran.failure(2, words);
    assert!(untouched, "the environment was changed");
}

fn sample() -> Wheel {
    Wheel::module("sample", "1.0")
}

#[test]
fn a_newer_major_wheel_version_is_refused_and_a_newer_minor_one_is_a_warning() {
    assert_refused(
        &sample().wheel_version("2.0"),
        &["a wheel of version 2.0", "hint: install it with a newer tool"],
    );
    let (_world, ran, _) = install(&sample().wheel_version("1.9"));
    assert!(ran.success().stderr.contains("warning: sample==1.0: it is a wheel of version 1.9"));
}

#[test]
fn there_is_one_dist_info_folder_of_the_right_name() {
    assert_refused(
        &sample().file("other-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n"),
        &["several `.dist-info` folders"],
    );
    let metadata = "Metadata-Version: 2.1\nName: other\nVersion: 1.0\n\n";
    assert_refused(&sample().in_dist_info("METADATA", metadata), &["is that of other 1.0"]);
}

#[test]
fn record_must_not_contradict_the_files() {
    let record = "sample/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,16\nsample-1.0.dist-info/RECORD,,\n";
    assert_refused(
        &sample().record(record),
        &["the file `sample/__init__.py` is not what RECORD says", "hint:"],
    );
    assert_refused(
        &sample().record("sample/__init__.py,,99\n"),
        &["it has 16 bytes, RECORD says 99"],
    );
    assert_refused(&sample().record("\"unclosed,,\n"), &["line 1 of RECORD"]);
}

#[test]
fn record_is_healed_where_it_is_incomplete() {
    let (world, ran, _) = install(&sample().record("ghost.py,,\nsample-1.0.dist-info/RECORD,,\n"));
    ran.success();
    let environment = world.path("env/lib");
    let python = std::fs::read_dir(environment).unwrap().next().unwrap().unwrap().path();
    let record =
        std::fs::read_to_string(python.join("site-packages/sample-1.0.dist-info/RECORD")).unwrap();
    assert!(record.contains("sample/__init__.py,sha256=") && !record.contains("ghost"), "{record}");
}

#[test]
fn entry_points_cannot_leave_the_scripts_folder_or_replace_the_interpreter() {
    for name in ["../evil", "python", "python3", "python3.12"] {
        let text = format!("[console_scripts]\n{name} = sample:main\n");
        assert_refused(
            &sample().in_dist_info("entry_points.txt", &text),
            &["entry_points.txt", "the name"],
        );
    }
    let code = "[console_scripts]\nx = sample:main();import os\n";
    assert_refused(&sample().in_dist_info("entry_points.txt", code), &["is not `module:object`"]);
}

#[test]
fn data_cannot_replace_the_interpreter_or_its_configuration() {
    assert_refused(&sample().in_data("data/bin/python", "evil"), &["reserved for the interpreter"]);
    assert_refused(&sample().in_data("scripts/python3", "evil"), &["reserved for the interpreter"]);
    assert_refused(&sample().in_data("data/pyvenv.cfg", "evil"), &["pyvenv.cfg"]);
    assert_refused(&sample().in_data("unknown/file", "x"), &["is in no installation scheme"]);
}

#[test]
fn only_the_executable_bit_survives() {
    use std::os::unix::fs::PermissionsExt;
    let wheel = sample().file_with_mode("sample/setuid", "x", 0o6755).file_with_mode(
        "sample/none",
        "y",
        0o000,
    );
    let (world, ran, _) = install(&wheel);
    ran.success();
    let lib = std::fs::read_dir(world.path("env/lib")).unwrap().next().unwrap().unwrap().path();
    let mode = |name: &str| {
        std::fs::metadata(lib.join("site-packages/sample").join(name)).unwrap().permissions().mode()
            & 0o7777
    };
    assert_eq!(mode("setuid") & 0o7111, 0o111);
    assert_eq!(mode("none") & 0o7111, 0);
    assert_eq!(mode("none") & 0o400, 0o400);
}

#[test]
fn wheels_for_other_platforms_are_refused_unless_asked_for() {
    let wheel = sample().tag("cp39-abi3-manylinux_2_28_aarch64");
    let (world, ran, untouched) = install(&wheel);
    ran.failure(1, &["has no wheel for this platform"]);
    assert!(untouched);
    let path = wheel.write(&world.wheels());
    let target = world.path("target");
    world
        .run(&[
            "pip",
            "install",
            "--no-index",
            "--python",
            world.path("env").to_str().unwrap(),
            "--target",
            target.to_str().unwrap(),
            "--python-platform",
            "aarch64-manylinux_2_28",
            path.to_str().unwrap(),
        ])
        .success();
    assert!(target.join("sample/__init__.py").is_file());
}

#[test]
fn a_long_path_still_starts_scripts() {
    let world = World::new();
    let long = format!("{}/with space/env", "deep/".repeat(25));
    std::fs::create_dir_all(world.path(&long).parent().unwrap()).unwrap();
    let environment = world.environment(&long);
    let wheel = sample()
        .in_dist_info("entry_points.txt", "[console_scripts]\nsample-hi = sample.cli:main\n")
        .file("sample/cli.py", "def main():\n    print('hi')\n")
        .in_data("scripts/sample-old", "#!python\nprint('old')\n")
        .write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    for (script, said) in [("sample-hi", "hi\n"), ("sample-old", "old\n")] {
        let output = std::process::Command::new(environment.bin(script)).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), said);
    }
}

#[test]
fn usage_errors_say_what_to_do() {
    let world = World::new();
    world.run(&["pip", "install"]).failure(2, &["required"]);
    world.run(&["pip", "instal"]).failure(2, &["tip: some similar subcommands exist"]);
    world
        .run(&["pip", "list"])
        .failure(2, &["no virtual environment found", "hint: run `mini-uv venv`"]);
    let environment = world.environment("env");
    world
        .install(&environment, &["missing-1.0-py3-none-any.whl"])
        .failure(2, &["missing-1.0-py3-none-any.whl"]);
    world.install(&environment, &["???"]).failure(2, &["hint: a requirement looks like"]);
    world
        .install(&environment, &["-e", "."])
        .failure(2, &["editable installs are not supported", "hint: build a wheel"]);
    world
        .install(&environment, &["--universal", "a"])
        .failure(2, &["a universal resolution", "hint: resolve for one at a time"]);
    world
        .install(&environment, &["--http-timeout", "0", "a"])
        .failure(2, &["invalid value '0' for '--http-timeout <SECONDS>'"]);
    world
        .run(&["venv", environment.str()])
        .failure(2, &["an environment is already at", "--clear"]);
    world.run(&["completions", "bash"]).success();
}
