//! The example program, run on real files: what it prints and what it answers.

use crate::basics::{folder, open, put};
#[cfg(unix)]
use index_cache::{Durability, Put};
use std::fs;
use std::path::Path;

#[path = "../../examples/ixc.rs"]
#[expect(dead_code, reason = "a test does not call its main function")]
mod example;

/// Runs a command; gives its answer and what it printed.
fn ixc(arguments: &[&str]) -> (bool, String) {
    let mut printed = Vec::new();
    let is_sound = example::run(arguments, &mut printed).unwrap();
    (is_sound, String::from_utf8(printed).unwrap())
}

fn refusal(arguments: &[&str]) -> String {
    let mut printed = Vec::new();
    let error = example::run(arguments, &mut printed).unwrap_err().to_string();
    assert!(printed.is_empty(), "nothing is said about a file that cannot be used");
    error
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A cache file of two entries, one of them replaced a few times.
#[cfg(unix)]
fn file(folder: &Path) -> String {
    let path = folder.join("index-v1.ixc");
    let cache = index_cache::IndexCache::open(&path, index_cache::Options::new().schema([7; 32]));
    let cache = cache.unwrap();
    let mut batch = cache.batch();
    for round in 0..3 {
        let body = [round; 5000];
        let put = Put::new().token(b"etag: 1").body(&body).slice_in_body("1.0.0", 3, 0..10);
        batch.put("serde", &put).unwrap();
        batch.put_negative("sered", b"404").unwrap();
        assert!(batch.commit(Durability::Durable).unwrap().skipped().is_none());
    }
    name(&path).to_owned()
}

#[cfg(unix)] // Compacts a file that is open, which Wine refuses and Windows does not.
#[test]
fn a_file_of_any_schema_is_described_listed_verified_and_compacted() {
    let folder = folder();
    let file = file(folder.path());
    let (is_sound, printed) = ixc(&["info", &file]);
    assert!(is_sound && printed.contains("is an index cache"), "{printed}");
    assert!(printed.contains("last commit        durable"), "{printed}");
    let (is_sound, printed) = ixc(&["keys", &file]);
    assert!(is_sound && printed.contains("not in the registry"), "{printed}");
    assert!(printed.contains("1 slices       5000 bytes"), "{printed}");
    let (is_sound, printed) = ixc(&["get", &file, "serde"]);
    assert!(is_sound && printed.contains("slice 1.0.0                flags 0x0003"), "{printed}");
    assert!(printed.starts_with("token etag: 1\n") && printed.ends_with("5000 bytes, sound\n"));
    assert_eq!(ixc(&["get", &file, "nobody"]), (false, "no entry\n".to_owned()));
    assert_eq!(ixc(&["verify", &file]).1.lines().count(), 1);
    let len = fs::metadata(&file).unwrap().len();
    let (is_sound, printed) = ixc(&["compact", &file]);
    assert!(is_sound && printed.starts_with("2 entries, "), "{printed}");
    assert!(fs::metadata(&file).unwrap().len() < len);
    assert!(ixc(&["verify", &file]).0);
}

#[cfg(unix)] // Compacts a file that is open, which Wine refuses and Windows does not.
#[test]
fn damage_is_named_by_verify_and_dropped_by_compact() {
    let folder = folder();
    let file = file(folder.path());
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(100).rposition(|window| window == [2; 100]).unwrap();
    bytes[at] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (is_sound, printed) = ixc(&["verify", &file]);
    assert!(!is_sound && printed.contains("corrupt body at byte "), "{printed}");
    assert!(printed.contains("entry `serde`") && printed.starts_with("1 entries, "), "{printed}");
    let (is_sound, printed) = ixc(&["get", &file, "serde"]);
    assert!(!is_sound && printed.contains("corrupt body at byte "), "{printed}");
    assert!(ixc(&["compact", &file]).1.contains("1 damaged entries dropped"));
    assert!(ixc(&["verify", &file]).0);
}

#[cfg(unix)] // As above, for `file`.
#[test]
fn a_damaged_slice_is_named_when_its_entry_is_looked_at() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    let put = Put::new().slice("1.0.0", 0, b"the first").slice("1.0.1", 0, b"the second");
    let cache = open(&folder);
    let mut batch = cache.batch();
    batch.put("serde", &put).unwrap();
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(9).position(|window| window == b"the first").unwrap();
    bytes[at] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (is_sound, printed) = ixc(&["get", name(&path), "serde"]);
    assert!(!is_sound && printed.contains("corrupt slice at byte "), "{printed}");
    assert!(printed.contains("slice 1.0.1") && printed.ends_with("body  0 bytes, sound\n"));
}

#[test]
fn a_file_that_was_cut_short_is_not_called_sound() {
    let folder = folder();
    let path = folder.path().join("index-v1.ixc");
    put(&open(&folder), "serde", b"body");
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(9_000).unwrap();
    assert!(refusal(&["verify", name(&path)]).contains("is cut short or damaged"));
}

#[test]
fn files_that_cannot_be_used_are_named_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("notes.txt");
    assert!(refusal(&["verify", name(&path)]).ends_with("does not exist"));
    fs::write(&path, "somebody's notes").unwrap();
    let newer = folder.path().join("newer.ixc");
    fs::write(&newer, newer_file()).unwrap();
    for (path, why) in [(&path, "is not an index cache"), (&newer, "written by a later version")] {
        let before = fs::read(path).unwrap();
        for command in ["keys", "verify", "compact"] {
            assert!(refusal(&[command, name(path)]).contains(why));
        }
        assert!(refusal(&["get", name(path), "serde"]).contains(why));
        let (is_ready, printed) = ixc(&["info", name(path)]);
        assert!(!is_ready && printed.contains(why), "{printed}");
        assert_eq!(&fs::read(path).unwrap(), &before);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "not even a lock file appeared");
    assert!(refusal(&["verify"]).starts_with("usage: ixc"));
}

/// A file whose `min_reader` is 2, its checks right.
fn newer_file() -> Vec<u8> {
    let folder = folder();
    put(&open(&folder), "serde", b"body");
    let mut bytes = fs::read(folder.path().join("index-v1.ixc")).unwrap();
    for slot in [0, 4096] {
        bytes[slot + 10] = 2;
        let check = crc32c(&bytes[slot..slot + 4092]);
        bytes[slot + 4092..slot + 4096].copy_from_slice(&check.to_le_bytes());
    }
    bytes
}

/// CRC-32C by its definition.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

#[test]
fn a_cargo_folder_goes_in_and_comes_out_unchanged() {
    let folder = folder();
    let (cache, out) = (folder.path().join(".cache"), folder.path().join("out"));
    let document = b"\x03\x02\0\0\0etag: 1\x001.0.0\0{\"name\":\"serde\"}\0";
    fs::create_dir_all(cache.join("se/rd")).unwrap();
    fs::write(cache.join("se/rd/serde"), document).unwrap();
    fs::write(cache.join("se/rd/torn"), &document[..20]).unwrap();
    let file = folder.path().join("index-v1.ixc");
    let (is_sound, printed) = ixc(&["import", name(&file), name(&cache)]);
    assert!(!is_sound && printed.contains("refused ") && printed.contains("torn"), "{printed}");
    let (is_sound, printed) = ixc(&["export", name(&file), name(&out)]);
    assert!(is_sound && printed.starts_with("1 files, "), "{printed}");
    assert_eq!(fs::read(out.join("se/rd/serde")).unwrap(), document);
}
