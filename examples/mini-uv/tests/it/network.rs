//! Installing from an index: documents, metadata, downloads, and what the cache makes of them.

use crate::index::{Index, Manners};
use crate::wheel::{Wheel, hex};
use crate::world::{Environment, Ran, World};

/// Two packages, one of which needs the other.
fn index(manners: Manners) -> Index {
    let index = Index::start(manners);
    index.add(&Wheel::module("app", "1.0").requires("lib>=1").file("app/data.bin", noise(300_000)));
    index.add(&Wheel::module("lib", "1.0"));
    index.add(&Wheel::module("lib", "2.0"));
    index
}

/// Bytes that do not compress.
pub(crate) fn noise(count: u32) -> Vec<u8> {
    let mut state = 1_u32;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

fn install(world: &World, environment: &Environment, index: &Index, args: &[&str]) -> Ran {
    let url = index.url();
    world.run(
        &[&["pip", "install", "--python", environment.str(), "--index-url", &url], args].concat(),
    )
}

#[track_caller]
fn assert_app(environment: &Environment) {
    let seen = environment.python("import app, lib; print(app.VERSION, lib.VERSION)");
    assert_eq!(seen, "1.0 2.0");
}

#[test]
fn packages_and_what_they_need_come_from_an_index_however_it_serves_them() {
    for manners in [
        Manners::default(),
        Manners { metadata_files: true, ..Manners::default() },
        Manners { no_ranges: true, ..Manners::default() },
        Manners { html: true, no_digests: true, ..Manners::default() },
    ] {
        let world = World::new();
        let environment = world.environment("env");
        let index = index(manners);
        let ran = install(&world, &environment, &index, &["app"]).success();
        assert!(ran.stderr.contains(" + app==1.0\n + lib==2.0"), "{ran:?}");
        assert_app(&environment);
        let whole = index
            .log()
            .iter()
            .filter(|path| path.ends_with("app-1.0-py3-none-any.whl.metadata"))
            .count();
        assert_eq!(whole, usize::from(manners.metadata_files));
        let again = install(&world, &environment, &index, &["app"]).success();
        assert!(again.stderr.contains("Checked 2 packages"), "{again:?}");
        world.run(&["cache", "verify"]).success();
    }
}

#[test]
fn a_second_environment_asks_for_nothing_and_works_offline() {
    let world = World::new();
    let index = index(Manners::default());
    install(&world, &world.environment("one"), &index, &["app"]).success();
    index.log();
    let two = world.environment("two");
    install(&world, &two, &index, &["app"]).success();
    assert_eq!(index.log(), Vec::<String>::new());
    assert_app(&two);
    let url = index.url();
    drop(index);
    let three = world.environment("three");
    let args = ["pip", "install", "--offline", "--python", three.str(), "--index-url", &url, "app"];
    world.run(&args).success();
    assert_app(&three);
    let missing =
        ["pip", "install", "--offline", "--python", three.str(), "--index-url", &url, "other"];
    world
        .run(&missing)
        .failure(2, &["network access is disabled", "hint: run once without `--offline`"]);
}

#[test]
fn a_stale_document_is_revalidated_by_its_mark() {
    let world = World::new();
    let index = index(Manners { max_age_s: Some(0), ..Manners::default() });
    install(&world, &world.environment("one"), &index, &["app"]).success();
    index.log();
    install(&world, &world.environment("two"), &index, &["app"]).success();
    let log = index.log();
    assert_eq!(log.iter().filter(|path| *path == "304").count(), 2, "{log:?}");
    assert!(!log.iter().any(|path| path.starts_with("/files/")), "{log:?}");
    index.add(&Wheel::module("lib", "3.0"));
    let three = world.environment("three");
    install(&world, &three, &index, &["app"]).success();
    assert_eq!(three.python("import lib; print(lib.VERSION)"), "3.0");
}

#[test]
fn a_lost_connection_is_taken_up_where_it_broke() {
    let world = World::new();
    let environment = world.environment("env");
    let index = index(Manners {
        break_after_bytes: Some(100_000),
        metadata_files: true,
        ..Manners::default()
    });
    install(&world, &environment, &index, &["app"]).success();
    assert_app(&environment);
    let log = index.log();
    let parts = log.iter().filter(|path| path.ends_with("app-1.0-py3-none-any.whl")).count();
    assert!(parts >= 3, "{log:?}");
    world.run(&["cache", "verify"]).success();
}

#[test]
fn a_damaged_download_installs_nothing_and_is_not_kept() {
    let world = World::new();
    let environment = world.environment("env");
    let before = environment.picture();
    let manners = Manners { metadata_files: true, ..Manners::default() };
    let index = index(manners);
    index.behave(Manners { corrupt: true, ..manners });
    let ran = install(&world, &environment, &index, &["app"]);
    ran.failure(2, &["error: failed to install", "==", "hint:"]);
    assert_eq!(environment.picture(), before);
    index.behave(manners);
    install(&world, &environment, &index, &["app"]).success();
    assert_app(&environment);
    world.run(&["cache", "verify"]).success();
}

#[test]
fn a_package_that_the_index_does_not_have_is_said_to_be_missing() {
    let world = World::new();
    let environment = world.environment("env");
    let index = index(Manners::default());
    let ran = install(&world, &environment, &index, &["nothing"]);
    ran.failure(
        1,
        &["error: no solution found", "cause: Because nothing was not found at `http://127.0.0.1"],
    );
}

#[test]
fn a_wheel_is_installed_from_its_address() {
    let world = World::new();
    let environment = world.environment("env");
    let index = index(Manners::default());
    let url = index.file_url("app-1.0-py3-none-any.whl");
    install(&world, &environment, &index, &[&url]).success();
    assert_app(&environment);
    let freeze = world.run(&["pip", "freeze", "--python", environment.str()]).success().stdout;
    assert_eq!(freeze, format!("app @ {url}\nlib==2.0\n"));
    let wrong = format!("{url}#sha256={}", "0".repeat(64));
    let other = world.environment("other");
    install(&world, &other, &index, &[&wrong])
        .failure(2, &["SHA-256", "hint: the wheel is not the one that was promised"]);
    let digest = hex(&Wheel::module("app", "1.0")
        .requires("lib>=1")
        .file("app/data.bin", noise(300_000))
        .bytes());
    install(&world, &other, &index, &[&format!("{url}#sha256={digest}")]).success();
}

#[test]
fn requirements_files_pin_digests() {
    let world = World::new();
    let environment = world.environment("env");
    let index = index(Manners::default());
    let lib = hex(&Wheel::module("lib", "2.0").bytes());
    let app = hex(&Wheel::module("app", "1.0")
        .requires("lib>=1")
        .file("app/data.bin", noise(300_000))
        .bytes());
    let file = world.path("requirements.txt");
    let install_file = |text: &str| {
        std::fs::write(&file, text).unwrap();
        install(&world, &environment, &index, &["-r", file.to_str().unwrap()])
    };
    install_file(&format!("app==1.0 --hash=sha256:{app}\n"))
        .failure(1, &["the dependency lib==2.0 has none"]);
    install_file(&format!("app==1.0 --hash=sha256:{app}\nlib\n"))
        .failure(2, &["`lib` is not pinned"]);
    let wrong = "1".repeat(64);
    install_file(&format!("app==1.0 --hash=sha256:{app}\nlib==2.0 --hash=sha256:{wrong}\n"))
        .failure(1, &["no file with a digest that is asked for"]);
    install_file(&format!("app==1.0 --hash=sha256:{app}\nlib==2.0 \\\n --hash=sha256:{wrong} \\\n --hash=sha256:{lib}\n")).success();
    assert_app(&environment);
}

#[test]
fn constraints_limit_and_upgrades_lift() {
    let world = World::new();
    let environment = world.environment("env");
    let index = index(Manners::default());
    let limits = world.path("limits.txt");
    std::fs::write(&limits, "lib<2\nunused==9\n").unwrap();
    install(&world, &environment, &index, &["app", "-c", limits.to_str().unwrap()]).success();
    let version = || environment.python("import lib; print(lib.VERSION)");
    assert_eq!(version(), "1.0");
    install(&world, &environment, &index, &["lib"]).success();
    assert_eq!(version(), "1.0", "what is installed stays");
    let dry = install(&world, &environment, &index, &["--upgrade", "--dry-run", "lib"]).success();
    assert!(dry.stderr.contains("Would install 1 package\n - lib==1.0\n + lib==2.0"), "{dry:?}");
    assert_eq!(version(), "1.0", "a dry run changes nothing");
    install(&world, &environment, &index, &["--upgrade", "lib"]).success();
    assert_eq!(version(), "2.0");
    std::fs::remove_file(environment.site().join("lib/__init__.py")).unwrap();
    let again = install(&world, &environment, &index, &["--reinstall", "lib"]).success();
    assert!(again.stderr.contains(" ~ lib==2.0"), "{again:?}");
    assert_eq!(version(), "2.0");
}

/// `user:s3cret`, as it is sent.
const AUTHORIZATION: &str = "Basic dXNlcjpzM2NyZXQ=";

#[test]
fn credentials_come_from_the_address_and_go_to_files_too_even_when_the_page_is_cached() {
    let world = World::new();
    let index = index(Manners { authorization: Some(AUTHORIZATION), ..Manners::default() });
    let url = index.url().replace("http://", "http://user:s3cret@");
    for name in ["one", "two"] {
        let environment = world.environment(name);
        let args = ["pip", "install", "--python", environment.str(), "--index-url", &url, "app"];
        let ran = world.run(&args).success();
        assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
        assert_app(&environment);
        // Only what the index said is kept for the second time.
        let store = world.path("cache/store");
        std::fs::remove_dir_all(store).unwrap();
    }
}

#[test]
fn credentials_come_from_netrc_when_the_address_has_none() {
    let world = World::new();
    let environment = world.environment("env");
    let index = index(Manners { authorization: Some(AUTHORIZATION), ..Manners::default() });
    let netrc = world.path("netrc");
    let install = |text: &str| {
        std::fs::write(&netrc, text).unwrap();
        let url = index.url();
        let mut command = world.command(&["pip", "install", "--python", environment.str()]);
        command.args(["--index-url", &url, "app"]).env("NETRC", &netrc).output().unwrap()
    };
    let refused = install("machine other.test login user password s3cret\n");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("answered 401") && said.contains("hint: put credentials"), "{said}");
    let installed = install("machine 127.0.0.1 login user password s3cret\n");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    assert_app(&environment);
}

#[test]
fn executable_bits_that_come_last_are_right_and_cost_no_second_copy() {
    use std::os::unix::fs::PermissionsExt;

    let world = World::new();
    let environment = world.environment("env");
    let index = Index::start(Manners { metadata_files: true, ..Manners::default() });
    let guessed = Wheel::module("guessed", "1.0")
        .file_with_mode("guessed/small.so", noise(1_000), 0o755)
        .file_with_mode("guessed/large.so.1", noise(200_000), 0o755)
        .file_with_mode("guessed/bin/tool", noise(2_000), 0o755);
    let surprising = Wheel::module("surprising", "1.0")
        .file_with_mode("surprising/small.py", noise(3_000), 0o755)
        .file_with_mode("surprising/large.dat", noise(210_000), 0o755)
        .file("surprising/plain.so", noise(4_000))
        .file("surprising/large.so", noise(220_000));
    index.add(&guessed);
    index.add(&surprising);
    let mode = |path: &str| {
        let found = std::fs::metadata(environment.site().join(path)).unwrap();
        found.permissions().mode() & 0o777
    };
    install(&world, &environment, &index, &["guessed"]).success();
    for path in ["guessed/small.so", "guessed/large.so.1", "guessed/bin/tool"] {
        assert_eq!(mode(path), 0o755, "{path}");
    }
    assert_eq!(mode("guessed/__init__.py"), 0o644);
    let pruned = world.run(&["cache", "prune"]).success();
    assert!(pruned.stderr.contains("No unused entries found"), "{pruned:?}");
    install(&world, &environment, &index, &["surprising"]).success();
    for path in ["surprising/small.py", "surprising/large.dat"] {
        assert_eq!(mode(path), 0o755, "{path}");
    }
    for path in ["surprising/plain.so", "surprising/large.so"] {
        assert_eq!(mode(path), 0o644, "{path}");
    }
    let pruned = world.run(&["cache", "prune"]).success();
    assert!(pruned.stderr.contains("Removed 4 files"), "what was guessed wrong: {pruned:?}");
    world.run(&["cache", "verify"]).success();
}

#[test]
fn requests_go_through_the_proxy_of_the_variables_or_of_the_option() {
    let world = World::new();
    let index = index(Manners::default());
    let proxy = index.url().replace("/simple/", "");
    let url = "http://proxied.test/simple/";
    let environment = world.environment("env");
    let args = ["pip", "install", "--python", environment.str(), "--index-url", url, "app"];
    let through_variable = world.command(&args).env("http_proxy", &proxy).output().unwrap();
    assert!(through_variable.status.success(), "{through_variable:?}");
    assert_app(&environment);
    assert!(index.log().iter().any(|path| path == "/simple/app/"));
    let again = [&args[..], &["--proxy", &proxy, "--refresh", "--reinstall"]].concat();
    world.run(&again).success();
    assert!(index.log().iter().any(|path| path == "/simple/app/"));
    let wrong = [&args[..], &["--proxy", "::", "--refresh"]].concat();
    world.run(&wrong).failure(2, &["is not the address of a proxy", "hint: write it like"]);
}

/// Two of the three parts that a transfer takes end in silence.
#[test]
fn a_transfer_that_stalls_is_taken_up_where_it_stopped() {
    let (break_after_bytes, stall) = (Some(120_000), true);
    let index = index(Manners { break_after_bytes, stall, ..Manners::default() });
    let world = World::new();
    let environment = world.environment("env");
    let args = ["--http-timeout", "1", "app"];
    install(&world, &environment, &index, &args).success();
    let app = |path: &&String| path.ends_with("/app-1.0-py3-none-any.whl");
    // One for the METADATA at its end, one for the file, two to go on.
    assert_eq!(index.log().iter().filter(app).count(), 4);
    assert_app(&environment);
    world.run(&["cache", "verify"]).success();
}
