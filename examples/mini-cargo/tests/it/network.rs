//! Locking and fetching over HTTP from a registry on the loopback interface.

use std::fs;

use crate::home::{Crate, Home, Project};
use crate::server::{Fault, Server};

/// A registry that is only to be had over HTTP: the home keeps nothing of it.
fn registry() -> (Home, Server) {
    let home = Home::new();
    let server = Server::start();
    for package in [
        Crate::new("alpha", "1.0.0").needs("beta", "1"),
        Crate::new("beta", "1.0.0"),
        Crate::new("beta", "1.1.0"),
    ] {
        home.publish(&package);
    }
    serve(&home, &server, "alpha", &["1.0.0"]);
    serve(&home, &server, "beta", &["1.0.0", "1.1.0"]);
    fs::remove_dir_all(home.cargo_home().join("registry")).unwrap();
    fs::create_dir_all(home.cargo_home()).unwrap();
    (home, server)
}

/// Puts a published crate's document and archives on the server.
fn serve(home: &Home, server: &Server, name: &str, versions: &[&str]) {
    let file = fs::read(home.cargo_file(name)).unwrap();
    let fields: Vec<_> = file[5..].split(|byte| *byte == 0).collect();
    let lines: Vec<_> = fields.iter().skip(2).step_by(2).copied().collect();
    server.put(&index_path(name), lines.join(&b'\n'));
    for version in versions {
        server.put_file(&format!("/dl/{name}/{version}/download"), &home.archive(name, version));
    }
}

fn index_path(name: &str) -> String {
    format!("/{}/{}/{name}", &name[..2], &name[2..4])
}

fn project<'a>(home: &'a Home, server: &Server, dependency: &str) -> Project<'a> {
    let project = home.package(&format!("[dependencies]\n{dependency} = \"1\"\n"));
    project.write(".cargo/config.toml", server.config());
    project
}

#[test]
fn a_lock_over_http_is_cargos_lock_and_the_second_time_everything_is_unchanged() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    let ours = project.lock_with_mini(&["generate-lockfile"]);
    let mut asked = server.requests();
    asked.sort();
    assert_eq!(asked, [(index_path("alpha"), 200), (index_path("beta"), 200)]);

    project.mini(&["generate-lockfile"]).success();
    let statuses: Vec<_> = server.requests().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [304, 304]);

    project.mini(&["generate-lockfile", "--offline"]).success();
    assert_eq!(server.requests(), []);

    let other_home = home.path("other-home");
    fs::remove_file(project.dir.join("Cargo.lock")).unwrap();
    project.cargo_in(&other_home, &["generate-lockfile"]).success();
    assert_eq!(ours, project.read("Cargo.lock"));
}

#[test]
fn a_new_version_is_seen_and_a_lock_that_fits_asks_nothing() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    project.mini(&["generate-lockfile"]).success();
    server.requests();
    project.mini(&["update", "--workspace", "--locked"]).success();
    assert_eq!(server.requests(), [], "the lock file names versions that are known");
}

#[test]
fn a_crate_that_is_missing_or_withheld_is_remembered_as_such() {
    let (home, server) = registry();
    let project = project(&home, &server, "nothere");
    let ran = project.mini(&["generate-lockfile"]);
    ran.failure().says("no matching package named `nothere` found");
    server.fault(&index_path("beta"), Fault::Withheld);
    let project = home.package("[dependencies]\nalpha = \"1\"\n");
    let ran = project.mini(&["generate-lockfile"]);
    ran.failure().says("no matching package named `beta` found").says("package `alpha v1.0.0`");
    assert!(!project.has("Cargo.lock"));
}

#[test]
fn trouble_that_passes_costs_a_warning_and_trouble_that_stays_an_error() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    server.fault(&index_path("alpha"), Fault::Unavailable(1));
    server.fault(&index_path("beta"), Fault::Truncated(1));
    let ran = project.mini(&["generate-lockfile"]);
    ran.success().says("warning: spurious network error (2 tries remaining)");

    server.fault(&index_path("alpha"), Fault::Unavailable(99));
    let before = project.read("Cargo.lock");
    let ran = project.mini(&["generate-lockfile"]);
    ran.failure().says("failed to get `alpha` from the registry's index").says("503");
    assert_eq!(project.read("Cargo.lock"), before);
}

#[test]
fn slow_answers_and_redirects_are_followed() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    server.fault(&index_path("alpha"), Fault::Slow);
    server.fault(&index_path("beta"), Fault::Redirect);
    server.fault("/dl/beta/1.1.0/download", Fault::Redirect);
    project.mini(&["fetch"]).success().says("  Downloaded beta v1.1.0");
}

#[test]
fn fetched_archives_are_where_cargo_finds_them_offline() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    server.fault("/dl/alpha/1.0.0/download", Fault::Truncated(1));
    project.mini(&["fetch"]).success();
    server.requests();
    project.mini(&["fetch", "--locked"]).success();
    project.mini(&["vendor", "--locked", "--offline"]).success();
    assert_eq!(server.requests(), [], "everything is there");
    // Cargo has not seen the index, but the lock and the folder are enough.
    project.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n",
    );
    let empty = home.path("empty-home");
    project.cargo_in(&empty, &["check", "--frozen", "--offline", "--quiet"]).success();
}

#[test]
fn an_archive_with_another_checksum_is_refused_and_not_kept() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    server.fault("/dl/beta/1.1.0/download", Fault::Corrupt);
    let ran = project.mini(&["fetch"]);
    ran.failure().says("failed to verify the checksum of `beta v1.1.0`").says("help:");
    let cache = home.cargo_home().join("registry/cache");
    let kept: Vec<_> = fs::read_dir(&cache)
        .unwrap()
        .flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap())
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("beta"))
        .collect();
    assert!(kept.is_empty(), "{kept:?}");
}

#[test]
fn offline_without_anything_known_says_how_to_get_it() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    let ran = project.mini(&["generate-lockfile", "--offline"]);
    ran.failure().says("no matching package named `alpha` found");
    assert_eq!(server.requests(), []);
}

#[test]
fn a_local_registry_takes_the_default_ones_place() {
    let home = Home::new();
    home.publish_all(&[
        Crate::new("alpha", "1.0.0").needs("beta", "1"),
        Crate::new("beta", "1.0.0"),
    ]);
    let local = home.path("local");
    for name in ["alpha", "beta"] {
        let index = local.join("index").join(index_path(name).trim_start_matches('/'));
        fs::create_dir_all(index.parent().unwrap()).unwrap();
        let file = fs::read(home.cargo_file(name)).unwrap();
        let line = file[5..].split(|byte| *byte == 0).nth(2).unwrap();
        fs::write(index, [line, b"\n"].concat()).unwrap();
        let archive = format!("{name}-1.0.0.crate");
        fs::copy(home.archive(name, "1.0.0"), local.join(archive)).unwrap();
    }
    let project = home.package("[dependencies]\nalpha = \"1\"\n");
    project.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"l\"\n[source.l]\nlocal-registry = \"../local\"\n",
    );
    project.assert_same_lock();
    project.mini(&["vendor"]).success();
}

/// The file of a package that cargo's home has unpacked.
fn unpacked(home: &Home, path: &str) -> std::path::PathBuf {
    let sources = fs::read_dir(home.cargo_home().join("registry/src")).unwrap();
    let folder = sources.map(|folder| folder.unwrap().path()).next().unwrap();
    folder.join(path)
}

#[test]
fn a_crate_is_unpacked_while_it_is_downloaded_and_cargo_takes_it_as_whole() {
    use std::os::unix::fs::MetadataExt as _;
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    project.mini(&["fetch"]).success();
    assert_eq!(fs::read_to_string(unpacked(&home, "beta-1.1.0/.cargo-ok")).unwrap(), "{\"v\":1}");
    assert!(!unpacked(&home, "beta-1.1.0/.cargo-checksum.json").exists());
    let inode = || fs::metadata(unpacked(&home, "beta-1.1.0/Cargo.toml")).unwrap().ino();
    let before = inode();
    server.requests();
    project.cargo_in(&home.cargo_home(), &["check", "--locked", "--quiet"]).success();
    let asked = server.requests();
    assert!(asked.iter().all(|(path, _)| !path.starts_with("/dl")), "{asked:?}");
    assert_eq!(inode(), before, "cargo did not unpack it again");
}

#[test]
fn a_half_unpacked_crate_is_unpacked_again() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    project.mini(&["fetch"]).success();
    fs::remove_file(unpacked(&home, "beta-1.1.0/.cargo-ok")).unwrap();
    fs::remove_file(unpacked(&home, "beta-1.1.0/Cargo.toml")).unwrap();
    project.mini(&["fetch", "--offline"]).success();
    assert!(unpacked(&home, "beta-1.1.0/.cargo-ok").exists());
    assert!(unpacked(&home, "beta-1.1.0/Cargo.toml").exists());
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    let path = "/dl/beta/1.1.0/download";
    server.fault(path, Fault::Truncated(1));
    project.mini(&["vendor"]).success().says("warning: spurious network error");
    let of_beta = server.requests().into_iter().filter(|(asked, _)| asked == path);
    let statuses: Vec<_> = of_beta.map(|(_, status)| status).collect();
    assert_eq!(statuses, [200, 206]);
    assert!(project.has("vendor/beta/Cargo.toml"));
}

#[test]
fn what_is_left_of_another_download_is_not_believed() {
    let (home, server) = registry();
    let project = project(&home, &server, "alpha");
    project.mini(&["fetch"]).success();
    let caches = fs::read_dir(home.cargo_home().join("registry/cache")).unwrap();
    let cache = caches.map(|folder| folder.unwrap().path()).next().unwrap();
    for left in [&b"something else"[..], &[0; 5000]] {
        fs::remove_dir_all(home.cargo_home().join("registry/src")).unwrap();
        fs::remove_dir_all(home.cargo_home().join("mini-cargo/store")).unwrap();
        fs::remove_file(cache.join("beta-1.1.0.crate")).unwrap();
        fs::write(cache.join("beta-1.1.0.crate.part"), left).unwrap();
        project.mini(&["fetch", "--locked"]).success();
        assert!(cache.join("beta-1.1.0.crate").exists());
        assert!(!cache.join("beta-1.1.0.crate.part").exists());
    }
}
