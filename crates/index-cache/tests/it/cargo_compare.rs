//! The same four injuries to cargo's own index cache and to this one: what the real cargo makes of
//! them, online, against a registry on the loopback interface that answers as it should.
//!
//! cargo trusts a file whose entity tag at the *front* is current, so a file that lost its end, or
//! one bit, is confirmed by the server again and again.

use crate::basics::{folder, open};
use index_cache::CargoBlobs;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const NAME: &str = "tornado";
const CHECKSUM_OF_NEWEST: &str = "9000000000000000000000000000000000000000000000000000000000000009";

/// The registry's document: ten versions, one JSON line each.
fn document() -> String {
    let line = |n: u32| {
        let cksum = if n == 9 { CHECKSUM_OF_NEWEST.to_owned() } else { format!("{n}").repeat(64) };
        format!(
            "{{\"name\":\"{NAME}\",\"vers\":\"1.0.{n}\",\"deps\":[],\"cksum\":\"{cksum}\",\
             \"features\":{{}},\"yanked\":false}}\n"
        )
    };
    (0..10).map(line).collect()
}

/// Serves the registry for as long as the process lives; gives its port.
fn serve() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || stream.map(|stream| answer(stream, port)));
        }
    });
    port
}

/// Answers one request, with 304 when the client's entity tag is current.
fn answer(stream: TcpStream, port: u16) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        request.push(line.trim_end().to_owned());
    }
    let path = request[0].split(' ').nth(1).unwrap_or_default().to_owned();
    let body = match path.as_str() {
        "/config.json" => format!("{{\"dl\":\"http://127.0.0.1:{port}/dl\"}}"),
        "/to/rn/tornado" => document(),
        _ => return respond(stream, "404 Not Found", ""),
    };
    let is_current = request
        .iter()
        .filter_map(|line| line.split_once(": "))
        .any(|(name, value)| name.eq_ignore_ascii_case("if-none-match") && value == "\"tag\"");
    if is_current {
        respond(stream, "304 Not Modified", "")
    } else {
        respond(stream, "200 OK", &body)
    }
}

fn respond(mut stream: TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let len = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nETag: \"tag\"\r\nContent-Length: {len}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// A package that depends on the crate, and a cargo home of its own.
struct Site {
    folder: TempDir,
}

/// What cargo did.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Locked { version: String, is_checksum_right: bool },
    Panicked,
    Failed,
}

impl Site {
    fn new(port: u16) -> Self {
        let folder = folder();
        let write = |path: &str, text: String| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let index = format!("sparse+http://127.0.0.1:{port}/");
        write("home/config.toml", format!("[registries.local]\nindex = \"{index}\"\n"));
        write("package/src/lib.rs", String::new());
        write(
            "package/Cargo.toml",
            format!(
                "[package]\nname = \"site\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n\
                 [dependencies]\n{NAME} = {{ version = \"1\", registry = \"local\" }}\n"
            ),
        );
        Self { folder }
    }

    /// Locks anew, online.
    fn lock(&self) -> Outcome {
        let package = self.folder.path().join("package");
        let _absent_at_first = fs::remove_file(package.join("Cargo.lock"));
        let output = self.cargo(&package);
        if output.status.success() {
            return locked(&fs::read_to_string(package.join("Cargo.lock")).unwrap());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if text.contains("panicked at") { Outcome::Panicked } else { Outcome::Failed }
    }

    fn cargo(&self, package: &Path) -> Output {
        let mut command = Command::new(cargo_program());
        for proxy in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
            command.env_remove(proxy);
        }
        let command = command.arg("generate-lockfile").current_dir(package);
        command.env("CARGO_HOME", self.folder.path().join("home")).output().unwrap()
    }

    /// cargo's cache file of the crate.
    fn cache_file(&self) -> PathBuf {
        let indexes = self.folder.path().join("home/registry/index");
        let index = fs::read_dir(indexes).unwrap().next().unwrap().unwrap().path();
        index.join(".cache/to/rn").join(NAME)
    }
}

/// The cargo that runs this test.
fn cargo_program() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn locked(lock: &str) -> Outcome {
    let field = |name: &str| {
        let section = lock.split("[[package]]").find(|s| s.contains(&format!("\"{NAME}\"\n")));
        let line = section.unwrap().lines().find(|line| line.starts_with(name)).unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    let (version, checksum) = (field("version"), field("checksum"));
    let n = version.rsplit('.').next().unwrap().to_owned();
    let right = if n == "9" { CHECKSUM_OF_NEWEST.to_owned() } else { n.repeat(64) };
    Outcome::Locked { version, is_checksum_right: checksum == right }
}

/// Something that happens to bytes on a disk.
struct Injury {
    name: &'static str,
    /// Changes a file in which cargo's blob starts at the given byte.
    inflict: fn(&mut Vec<u8>, usize, &[u8]),
    /// What cargo 1.95 does.
    cargo: Outcome,
}

fn believed(version: &str, is_checksum_right: bool) -> Outcome {
    Outcome::Locked { version: version.to_owned(), is_checksum_right }
}

fn find(blob: &[u8], text: &str) -> usize {
    blob.windows(text.len()).position(|window| window == text.as_bytes()).unwrap()
}

fn injuries() -> [Injury; 4] {
    [
        Injury {
            name: "the second half of the file is lost",
            inflict: |file, at, blob| file.truncate(at + find(blob, "1.0.5\0") - 1),
            cargo: believed("1.0.4", true),
        },
        Injury {
            name: "the file ends behind a version's name",
            inflict: |file, at, blob| file.truncate(at + find(blob, "1.0.7\0") + 6),
            cargo: Outcome::Panicked,
        },
        Injury {
            name: "one bit of a checksum is flipped",
            inflict: |file, at, blob| file[at + find(blob, CHECKSUM_OF_NEWEST) + 7] ^= 1,
            cargo: believed("1.0.9", false),
        },
        Injury {
            name: "one bit of a version is flipped",
            inflict: |file, at, blob| file[at + find(blob, "\"vers\":\"1.0.9") + 12] ^= 0x40,
            cargo: believed("1.0.8", true),
        },
    ]
}

#[test]
fn four_injuries_that_cargo_believes_are_misses_here() {
    let site = Site::new(serve());
    let right = believed("1.0.9", true);
    assert_eq!(site.lock(), right, "a first lock");
    assert_eq!(site.lock(), right, "a lock from the cache");
    let path = site.cache_file();
    let sound = fs::read(&path).unwrap();
    let version = Command::new(cargo_program()).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    println!("{:<40} {:<60} index-cache", "injury", version.trim());
    for injury in injuries() {
        let mut torn = sound.clone();
        (injury.inflict)(&mut torn, 0, &sound);
        fs::write(&path, &torn).unwrap();
        let outcome = site.lock();
        println!("{:<40} {:<60} miss, then stored again", injury.name, format!("{outcome:?}"));
        // A later cargo may have learnt to notice; this one was seen to believe.
        if version.starts_with("cargo 1.95.") {
            assert_eq!(outcome, injury.cargo, "{}", injury.name);
        }
        fs::write(&path, &sound).unwrap();
        assert_eq!(site.lock(), right);
        ours_is_a_miss_and_heals(&injury, &sound);
    }
}

/// Stores the blob in a cache of ours, injures its file at the same byte of the blob.
fn ours_is_a_miss_and_heals(injury: &Injury, blob: &[u8]) {
    let home = folder();
    let blobs = CargoBlobs::new(open(&home));
    blobs.put(NAME, blob).unwrap();
    assert_eq!(blobs.flush().unwrap(), None);
    let path = home.path().join("index-v1.ixc");
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(blob.len()).position(|window| window == blob).unwrap();
    (injury.inflict)(&mut bytes, at, blob);
    fs::write(&path, &bytes).unwrap();
    let blobs = CargoBlobs::new(open(&home));
    assert_eq!(blobs.get(NAME), None, "{}", injury.name);
    blobs.put(NAME, blob).unwrap();
    blobs.flush().unwrap();
    assert_eq!(CargoBlobs::new(open(&home)).get(NAME).unwrap(), blob);
}
