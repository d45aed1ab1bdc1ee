//! Another cargo at work, and Ctrl-C: nothing is read half and nothing is left half.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::home::{Crate, Home, Project};
use crate::server::{Fault, Server};

#[test]
fn cargos_files_are_not_read_while_another_cargo_holds_their_lock() {
    let home = Home::new();
    home.publish(&Crate::new("a", "1.0.0"));
    let project = home.package("[dependencies]\na = \"1\"\n");
    let path = home.cargo_home().join(".package-cache");
    let lock = File::options().create(true).truncate(false).write(true).open(path).unwrap();
    lock.lock().unwrap();
    let mut child = start(&project, env!("CARGO_BIN_EXE_mini-cargo"), &["generate-lockfile"]);
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "    Blocking waiting for file lock on package cache\n");
    assert!(!project.has("Cargo.lock"), "it waits");
    // What cargo writes meanwhile is what is read.
    home.publish(&Crate::new("a", "1.1.0"));
    lock.unlock().unwrap();
    drop(said.read_to_string(&mut line));
    assert!(child.wait().unwrap().success(), "{line}");
    assert!(project.read("Cargo.lock").contains("1.1.0"));
}

fn start(project: &Project<'_>, program: &str, args: &[&str]) -> Child {
    let mut command = project.command(program, args, &project.home.cargo_home());
    command.env("CARGO_NET_OFFLINE", "true").stderr(Stdio::piped()).spawn().unwrap()
}

/// Ctrl-C reaches a program in the middle of a download; gives the signal it died of.
///
/// What a shell starts in the background ignores Ctrl-C and hands that on; `env` takes it back.
fn interrupt(project: &Project<'_>, server: &Server, program: &str, args: &[&str]) -> Option<i32> {
    let args = [&["--default-signal=INT", program], args].concat();
    let mut command = project.command("env", &args, &project.home.cargo_home());
    let mut child = command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    server.requests();
    let is_download = |(path, _): &(String, u16)| path.starts_with("/dl/new");
    while !server.requests().iter().any(is_download) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before the download");
        thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    child.wait().unwrap().signal()
}

#[test]
fn after_an_interrupt_the_old_state_stays_and_the_next_run_completes() {
    let home = Home::new();
    let server = Server::start();
    home.publish_all(&[Crate::new("old", "1.0.0"), Crate::new("new", "1.0.0")]);
    for (name, folder) in [("old", "/3/o/old"), ("new", "/3/n/new")] {
        let file = fs::read(home.cargo_file(name)).unwrap();
        let line = file[5..].split(|byte| *byte == 0).nth(2).unwrap();
        server.put(folder, line.to_vec());
        server.put_file(&format!("/dl/{name}/1.0.0/download"), &home.archive(name, "1.0.0"));
    }
    fs::remove_dir_all(home.cargo_home().join("registry")).unwrap();
    let project = home.package("[dependencies]\nold = \"1\"\n");
    project.write(".cargo/config.toml", server.config());
    project.mini(&["vendor"]).success();
    let manifest = project.read("Cargo.toml") + "new = \"1\"\n";
    project.write("Cargo.toml", &manifest);
    project.mini(&["generate-lockfile"]).success();
    let lock = project.read("Cargo.lock");
    let old = project.read("vendor/old/.cargo-checksum.json");

    server.fault("/dl/new/1.0.0/download", Fault::Slow);
    let mini = env!("CARGO_BIN_EXE_mini-cargo");
    assert_eq!(interrupt(&project, &server, mini, &["vendor", "--locked"]), Some(2));
    assert_eq!(project.read("Cargo.lock"), lock);
    assert_eq!(project.read("vendor/old/.cargo-checksum.json"), old);
    assert!(!project.has("vendor/new"), "nothing half is in place");
    assert!(!archives(&home).contains(&"new-1.0.0.crate".to_owned()));
    assert_eq!(interrupt(&project, &server, env!("CARGO"), &["fetch", "--locked"]), Some(2));

    project.mini(&["vendor", "--locked"]).success();
    let left = fs::read_dir(project.dir.join("vendor")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["new", "old"], "the stage of the killed run went with the next one");
    assert!(archives(&home).contains(&"new-1.0.0.crate".to_owned()));
}

/// What is in cargo's folder of archives.
fn archives(home: &Home) -> Vec<String> {
    let caches = fs::read_dir(home.cargo_home().join("registry/cache")).unwrap();
    let folders = caches.map(|folder| folder.unwrap().path());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}
