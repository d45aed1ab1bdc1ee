//! Installing local wheels: what arrives, what is shared, what real Python and pip say about it.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::wheel::{Wheel, digest};
use crate::world::{Environment, World, picture};

/// A wheel with one of everything.
fn rich() -> Wheel {
    Wheel::module("rich-wheel", "1.0")
        .file("rich_wheel/data.bin", vec![7; 200_000])
        .file("rich_wheel/empty.txt", "")
        .file_with_mode("rich_wheel/tool", "#!/bin/sh\necho tool\n", 0o755)
        .in_dist_info("entry_points.txt", "[console_scripts]\nrich-hello = rich_wheel.cli:main\n")
        .file("rich_wheel/cli.py", "def main():\n    print('hello')\n    return 3\n")
        .in_data("scripts/rich-script", "#!python\nimport rich_wheel; print(rich_wheel.VERSION)\n")
        .in_data("scripts/rich-shell", "#!/bin/sh\necho shell\n")
        .in_data("data/share/rich/notes.txt", "notes\n")
        .in_data("headers/rich.h", "#define RICH 1\n")
        .in_data("platlib/rich_plat.py", "PLAT = 1\n")
}

fn run(path: &Path) -> (i32, String) {
    let output = std::process::Command::new(path).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

#[test]
fn a_wheel_arrives_where_its_parts_belong_and_runs() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = rich().write(&world.wheels());
    let ran = world.install(&environment, &[wheel.to_str().unwrap()]).success();
    assert!(ran.stderr.contains(" + rich-wheel==1.0"), "{ran:?}");
    assert_eq!(
        environment.python("import rich_wheel, rich_plat; print(rich_wheel.VERSION)"),
        "1.0"
    );
    assert_eq!(run(&environment.bin("rich-hello")), (3, "hello".to_owned()));
    assert_eq!(run(&environment.bin("rich-script")), (0, "1.0".to_owned()));
    assert_eq!(run(&environment.bin("rich-shell")), (0, "shell".to_owned()));
    assert_eq!(run(&environment.site().join("rich_wheel/tool")), (0, "tool".to_owned()));
    assert!(environment.path.join("share/rich/notes.txt").is_file());
    let include = environment.path.join("include/site");
    let python = std::fs::read_dir(include).unwrap().next().unwrap().unwrap().path();
    assert!(python.join("rich_wheel/rich.h").is_file());
}

#[test]
fn record_lists_every_file_with_its_digest_and_pip_agrees() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let wheel = rich().write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    let site = environment.site();
    let record = std::fs::read_to_string(site.join("rich_wheel-1.0.dist-info/RECORD")).unwrap();
    let mut recorded: Vec<String> = Vec::new();
    for line in record.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let bytes = std::fs::read(site.join(fields[0])).unwrap();
        recorded.push(site.join(fields[0]).canonicalize().unwrap().to_str().unwrap().to_owned());
        if fields[0].ends_with("RECORD") {
            assert_eq!(&fields[1..], ["", ""]);
        } else {
            assert_eq!(fields[1], format!("sha256={}", digest(&bytes)), "{}", fields[0]);
            assert_eq!(fields[2], bytes.len().to_string(), "{}", fields[0]);
        }
    }
    let root = environment.path.canonicalize().unwrap();
    for (path, _) in picture(&root).iter().filter(|(path, _)| !path.ends_with('/')) {
        let new = !before.contains_key(path);
        let listed = recorded
            .iter()
            .any(|file| file.strip_prefix(root.to_str().unwrap()) == Some(&format!("/{path}")));
        assert_eq!(new, listed, "{path}");
    }
    let mut sorted: Vec<&str> =
        record.lines().map(|line| line.split(',').next().unwrap()).collect();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        record.lines().map(|line| line.split(',').next().unwrap()).collect::<Vec<_>>()
    );
    environment.pip(&["check"]).success();
    assert!(environment.pip(&["list"]).success().stdout.contains("rich-wheel"));
}

#[test]
fn real_pip_uninstalls_what_was_installed_without_a_trace() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let wheel = rich().write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    environment.pip(&["uninstall", "-y", "rich-wheel"]).success();
    let files = |picture: &std::collections::BTreeMap<String, Vec<u8>>| {
        picture.keys().filter(|path| !path.ends_with('/')).cloned().collect::<Vec<_>>()
    };
    assert_eq!(files(&environment.picture()), files(&before));
}

#[test]
fn uninstalling_leaves_the_environment_as_it_was() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let wheel = rich().write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    let ran =
        world.run(&["pip", "uninstall", "Rich_Wheel", "--python", environment.str()]).success();
    assert!(ran.stderr.contains(" - rich-wheel==1.0"), "{ran:?}");
    let mut after = environment.picture();
    after.retain(|path, _| !path.ends_with('/') || before.contains_key(path));
    assert_eq!(after, before);
    let again =
        world.run(&["pip", "uninstall", "rich-wheel", "--python", environment.str()]).success();
    assert!(again.stderr.contains("skipping rich-wheel as it is not installed"), "{again:?}");
}

#[test]
fn uninstalling_takes_names_from_a_requirements_file() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = rich().write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    let list = world.wheels().join("list.txt");
    std::fs::write(&list, "rich-wheel==1.0\n").unwrap();
    let list = list.to_str().unwrap();
    let ran = world.run(&["pip", "uninstall", "-r", list, "--python", environment.str()]).success();
    assert!(ran.stderr.contains(" - rich-wheel==1.0"), "{ran:?}");
}

#[test]
fn a_second_environment_does_not_touch_the_wheel() {
    let world = World::new();
    let (one, two) = (world.environment("one"), world.environment("two"));
    let wheel = rich().write(&world.wheels());
    world.install(&one, &[wheel.to_str().unwrap()]).success();
    // Same file, same size, same time, but nothing that could be unpacked.
    let metadata = std::fs::metadata(&wheel).unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(&wheel).unwrap();
    let junk = vec![0; usize::try_from(metadata.len()).unwrap()];
    std::io::Write::write_all(&mut &file, &junk).unwrap();
    file.set_modified(metadata.modified().unwrap()).unwrap();
    drop(file);
    world.install(&two, &[wheel.to_str().unwrap()]).success();
    assert_eq!(two.python("import rich_wheel; print(rich_wheel.VERSION)"), "1.0");
    let trees = [picture(&one.site()), picture(&two.site())];
    let [first, second] = trees.map(|tree| {
        tree.into_iter().filter(|(path, _)| !path.contains(".dist-info/RECORD")).collect::<Vec<_>>()
    });
    assert_eq!(first, second);
}

#[test]
fn a_changed_wheel_is_unpacked_again() {
    let world = World::new();
    let (one, two) = (world.environment("one"), world.environment("two"));
    let wheel = Wheel::module("a", "1.0").write(&world.wheels());
    world.install(&one, &[wheel.to_str().unwrap()]).success();
    Wheel::module("a", "1.0").file("a/more.py", "MORE = 1\n").write(&world.wheels());
    world.install(&two, &[wheel.to_str().unwrap()]).success();
    assert_eq!(two.python("import a.more; print(a.more.MORE)"), "1");
}

#[test]
fn files_are_shared_with_the_cache_except_those_that_must_be_fresh() {
    let world = World::new();
    let (one, two) = (world.environment("one"), world.environment("two"));
    let wheel = rich().write(&world.wheels());
    for environment in [&one, &two] {
        world.install(environment, &[wheel.to_str().unwrap()]).success();
    }
    let links = |path: &Path| std::fs::metadata(path).unwrap().nlink();
    let site = one.site();
    for shared in [
        "rich_wheel/__init__.py",
        "rich_wheel/data.bin",
        "rich_wheel/tool",
        "rich_wheel-1.0.dist-info/METADATA",
    ] {
        assert_eq!(links(&site.join(shared)), 3, "{shared}");
    }
    let dist_info = site.join("rich_wheel-1.0.dist-info");
    for fresh in ["RECORD", "INSTALLER", "REQUESTED", "direct_url.json"] {
        assert_eq!(links(&dist_info.join(fresh)), 1, "{fresh}");
    }
    for script in ["rich-hello", "rich-script", "rich-shell"] {
        assert_eq!(links(&one.bin(script)), 1, "{script}");
        assert_eq!(
            std::fs::metadata(one.bin(script)).unwrap().permissions().mode() & 0o111,
            0o111,
            "{script}"
        );
    }
    assert_eq!(links(&site.join("rich_wheel/empty.txt")), 1);
}

#[test]
fn a_wheel_cannot_bring_the_files_that_the_installer_writes() {
    let world = World::new();
    let environment = world.environment("env");
    let own = ["INSTALLER", "REQUESTED", "direct_url.json"];
    let wheel = own.iter().fold(Wheel::module("sample", "1.0"), |wheel, name| {
        wheel.in_dist_info(name, "what the wheel says\n")
    });
    let wheel = wheel.write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    let dist_info = environment.site().join("sample-1.0.dist-info");
    for name in own {
        let path = dist_info.join(name);
        assert_eq!(std::fs::metadata(&path).unwrap().nlink(), 1, "{name}");
        assert!(!std::fs::read_to_string(&path).unwrap().contains("wheel says"), "{name}");
    }
    let kept = picture(&world.path("cache").join("store"));
    let held = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("what the wheel says");
    assert!(!kept.values().any(|bytes| held(bytes)), "the store keeps what nobody will use");
    world.run(&["cache", "verify"]).success();
}

#[test]
fn copies_are_independent_of_the_cache() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = rich().write(&world.wheels());
    world.install(&environment, &["--link-mode", "copy", wheel.to_str().unwrap()]).success();
    let file = environment.site().join("rich_wheel/__init__.py");
    assert_eq!(std::fs::metadata(&file).unwrap().nlink(), 1);
    std::fs::write(&file, "VERSION = 'edited'\n").unwrap();
    world.run(&["cache", "verify"]).success();
}

#[test]
fn namespace_packages_share_their_folder_and_leave_it_separately() {
    let world = World::new();
    let environment = world.environment("env");
    let a = Wheel::new("ns-a", "1").file("ns/a.py", "A = 1\n").write(&world.wheels());
    let b = Wheel::new("ns-b", "1").file("ns/b.py", "B = 2\n").write(&world.wheels());
    world.install(&environment, &[a.to_str().unwrap()]).success();
    world.install(&environment, &[b.to_str().unwrap()]).success();
    assert_eq!(environment.python("import ns.a, ns.b; print(ns.a.A + ns.b.B)"), "3");
    world.run(&["pip", "uninstall", "ns-a", "--python", environment.str()]).success();
    assert_eq!(environment.python("import ns.b; print(ns.b.B)"), "2");
    assert!(!environment.site().join("ns/a.py").exists());
}

#[test]
fn another_version_replaces_the_old_one_and_its_leftovers() {
    let world = World::new();
    let environment = world.environment("env");
    let old = Wheel::module("a", "1.0").file("a/gone.py", "").write(&world.wheels());
    let new = Wheel::module("a", "2.0").file("a/come.py", "").write(&world.wheels());
    world.install(&environment, &[old.to_str().unwrap()]).success();
    environment.python("import a.gone");
    let ran = world.install(&environment, &[new.to_str().unwrap()]).success();
    assert!(ran.stderr.contains(" - a==1.0\n + a==2.0"), "{ran:?}");
    assert_eq!(environment.python("import a; print(a.VERSION)"), "2.0");
    assert!(!environment.site().join("a/gone.py").exists());
    assert!(!environment.site().join("a-1.0.dist-info").exists());
}

#[test]
fn list_freeze_and_check_tell_what_is_there() {
    let world = World::new();
    let environment = world.environment("env");
    let a = Wheel::module("a-b", "1.0").requires("missing>=2").write(&world.wheels());
    world.install(&environment, &["--no-deps", a.to_str().unwrap()]).success();
    let list = world.run(&["pip", "list", "--python", environment.str()]).success().stdout;
    assert_eq!(list, "Package Version\n------- -------\na-b     1.0\n");
    let json = world
        .run(&["pip", "list", "--format", "json", "--python", environment.str()])
        .success()
        .stdout;
    assert_eq!(json, "[{\"name\":\"a-b\",\"version\":\"1.0\"}]\n");
    let freeze = world.run(&["pip", "freeze", "--python", environment.str()]).success().stdout;
    assert!(freeze.starts_with("a-b @ file://"), "{freeze}");
    let check = world.run(&["pip", "check", "--python", environment.str()]);
    assert_eq!(check.code, 1);
    assert!(
        check.stdout.contains("`a-b` requires `missing>=2`, but it's not installed"),
        "{check:?}"
    );
    assert_eq!(environment.pip(&["check"]).code, 1);
}

#[test]
fn pruning_keeps_what_wheels_use_and_cleaning_a_package_frees_it() {
    let world = World::new();
    let environment = world.environment("env");
    let a = Wheel::module("a", "1.0").file("a/big.bin", vec![1; 100_000]).write(&world.wheels());
    let b = Wheel::module("b", "1.0").write(&world.wheels());
    world.install(&environment, &[a.to_str().unwrap(), b.to_str().unwrap()]).success();
    let prune = world.run(&["cache", "prune"]).success();
    assert!(prune.stderr.contains("No unused entries found"), "{prune:?}");
    std::fs::remove_dir_all(&environment.path).unwrap();
    let size = |world: &World| {
        world.run(&["cache", "size", "--bytes"]).success().stdout.trim().parse::<u64>().unwrap()
    };
    let before = size(&world);
    let clean = world.run(&["cache", "clean", "A"]).success();
    assert!(clean.stderr.contains("Removed"), "{clean:?}");
    // The index file grows by the pages of one commit.
    assert!(size(&world) < before - 80_000);
    let two = world.environment("two");
    world.install(&two, &[a.to_str().unwrap(), b.to_str().unwrap()]).success();
    assert_eq!(two.python("import a, b; print(a.VERSION)"), "1.0");
    world.run(&["cache", "verify"]).success();
    world.run(&["cache", "clean"]).success();
    assert!(size(&world) == 0);
}

#[test]
fn programs_can_read_what_commands_say() {
    let world = World::new();
    let environment = world.environment("env");
    let needy = Wheel::module("needy", "1.0").requires("absent>=2").write(&world.wheels());
    let json = |args: &[&str], code: i32| -> serde_json::Value {
        let ran = world.run(&[args, &["--format", "json"]].concat());
        assert_eq!(ran.code, code, "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let install = [
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "--python",
        environment.str(),
        needy.to_str().unwrap(),
    ];
    let added = serde_json::json!([{"name": "needy", "change": "added", "version": "1.0"}]);
    let planned = json(&[&install[..], &["--dry-run"]].concat(), 0);
    assert_eq!(planned, serde_json::json!({"dry_run": true, "changes": added}));
    assert_eq!(json(&install, 0), serde_json::json!({"dry_run": false, "changes": added}));
    assert_eq!(json(&install, 0), serde_json::json!({"dry_run": false, "changes": []}));
    let checked = json(&["pip", "check", "--python", environment.str()], 1);
    assert_eq!(checked["problems"][0]["package"], "needy");
    assert!(checked["problems"][0]["problem"].as_str().unwrap().contains("absent>=2"));
    assert!(json(&["cache", "size"], 0)["bytes"].as_u64().unwrap() > 1000);
    let verified = json(&["cache", "verify"], 0);
    assert_eq!((&verified["wheels"], &verified["damage"]), (&1.into(), &serde_json::json!([])));
}

#[test]
fn without_deduplication_a_wheel_has_a_folder_of_its_own_and_the_same_result() {
    let world = World::new();
    let (shared, one, two) =
        (world.environment("shared"), world.environment("one"), world.environment("two"));
    let wheel = rich().write(&world.wheels());
    let wheel = wheel.to_str().unwrap();
    world.install(&shared, &[wheel]).success();
    for environment in [&one, &two] {
        world.install(environment, &["--no-deduplication", wheel]).success();
    }
    let files = |environment: &Environment| {
        let mut seen = picture(&environment.site());
        seen.retain(|name, _| !name.ends_with("/RECORD"));
        seen
    };
    assert_eq!(files(&one), files(&shared));
    assert_eq!(files(&two), files(&shared));
    let links = std::fs::metadata(two.site().join("rich_wheel/data.bin")).unwrap().nlink();
    assert_eq!(links, 3, "the folder and both environments");
    world.install(&world.environment("again"), &[wheel]).success();
    world.run(&["cache", "verify"]).success();
    world.run(&["cache", "clean"]).success();
    assert!(!world.path("cache/separate").exists());
}

#[test]
fn a_file_and_a_folder_of_one_name_cannot_both_be_there() {
    let world = World::new();
    let environment = world.environment("env");
    let file = Wheel::module("one", "1.0").file("common/thing", "a file").write(&world.wheels());
    let folder =
        Wheel::module("two", "1.0").file("common/thing/x", "in a folder").write(&world.wheels());
    let before = environment.picture();
    let both = [file.to_str().unwrap(), folder.to_str().unwrap()];
    let words = ["error: failed to install two==1.0", "common/thing` is a file", "hint: "];
    world.install(&environment, &both).failure(2, &words);
    assert_eq!(environment.picture(), before, "both at once");
    for (first, second, kind) in
        [(both[0], both[1], "is a file"), (both[1], both[0], "is a folder")]
    {
        world.install(&environment, &[first]).success();
        let with_first = environment.picture();
        world.install(&environment, &[second]).failure(2, &["common/thing`", kind]);
        assert_eq!(environment.picture(), with_first, "{kind}");
        let all = ["pip", "uninstall", "one", "two", "--python", environment.str()];
        world.run(&all).success();
    }
}

#[test]
fn an_upgrade_that_fails_while_it_is_moved_into_place_is_undone() {
    let world = World::new();
    let environment = world.environment("env");
    let old = Wheel::module("one", "1.0").file("one/old.txt", "old").write(&world.wheels());
    let new = Wheel::module("one", "2.0").file("zzz/x", "last to be moved").write(&world.wheels());
    world.install(&environment, &[old.to_str().unwrap()]).success();
    std::fs::write(environment.site().join("zzz"), "of somebody else").unwrap();
    let before = environment.picture();
    let ran = world.install(&environment, &[new.to_str().unwrap()]);
    ran.failure(2, &["error: failed to install one==2.0", "zzz` is a file", "hint: "]);
    assert_eq!(environment.picture(), before);
    assert_eq!(environment.python("import one; print(one.VERSION)"), "1.0");
}

#[test]
fn an_editable_install_of_another_tool_is_listed_as_one() {
    let world = World::new();
    let environment = world.environment("env");
    let wheel = Wheel::module("edited", "1.0").write(&world.wheels());
    world.install(&environment, &[wheel.to_str().unwrap()]).success();
    let origin = r#"{"dir_info": {"editable": true}, "url": "file:///src/edited"}"#;
    let file = environment.site().join("edited-1.0.dist-info/direct_url.json");
    std::fs::write(file, origin).unwrap();
    let freeze = world.run(&["pip", "freeze", "--python", environment.str()]).success();
    assert_eq!(freeze.stdout, "-e file:///src/edited\n");
}

#[test]
fn paths_in_a_requirements_file_start_from_the_current_folder() {
    let world = World::new();
    let environment = world.environment("env");
    Wheel::module("placed", "1.0").write(&world.wheels());
    let folder = world.path("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("requirements.txt");
    std::fs::write(&file, "./wheels/placed-1.0-py3-none-any.whl\n").unwrap();
    world.install(&environment, &["-r", file.to_str().unwrap()]).success();
    assert_eq!(environment.python("import placed; print(placed.VERSION)"), "1.0");
}
