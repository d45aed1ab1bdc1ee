//! Moving cargo's file-per-crate cache in and out.

use crate::basics::{folder, open};
use index_cache::{CargoBlobs, Durability, Progress, cargo_layout};
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

fn file(name: &str, versions: &[&str]) -> Vec<u8> {
    let mut bytes = b"\x03\x02\0\0\0etag: \"x\"\0".to_vec();
    for version in versions {
        bytes.extend_from_slice(format!("{version}\0{{\"name\":\"{name}\"}}\0").as_bytes());
    }
    bytes
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(cargo_layout::relative_path(name).unwrap());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path().strip_prefix(folder).unwrap().to_path_buf();
                files.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

fn ignore(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn what_was_imported_is_exported_byte_for_byte() {
    let (from, to, home) = (folder(), folder(), folder());
    for name in ["a", "ab", "abc", "serde", "serde_json", "wasm-bindgen"] {
        write(from.path(), name, &file(name, &["0.1.0", "1.0.0", "1.0.0+build"]));
    }
    let cache = open(&home);
    let imported =
        cargo_layout::import(&cache, from.path(), Durability::Durable, &mut ignore).unwrap();
    assert_eq!((imported.entries, imported.refused.len()), (6, 0));
    let entry = cache.get("abc").unwrap().unwrap();
    assert_eq!(entry.token(), b"etag: \"x\"");
    assert_eq!(entry.slice("1.0.0").unwrap().unwrap(), &b"{\"name\":\"abc\"}"[..]);
    let exported = cargo_layout::export(&cache.snapshot(), to.path()).unwrap();
    assert_eq!((exported.files, exported.left_out.len()), (6, 0));
    assert_eq!(tree(from.path()), tree(to.path()));
}

#[test]
fn files_that_do_not_parse_are_refused_and_named() {
    let (from, home) = (folder(), folder());
    let whole = file("serde", &["1.0.0", "1.0.1"]);
    write(from.path(), "serde", &whole[..whole.len() - 5]);
    write(from.path(), "syn", &[&[2], &whole[1..]].concat());
    write(from.path(), "quote", b"");
    write(from.path(), "libc", &whole);
    let cache = open(&home);
    let imported =
        cargo_layout::import(&cache, from.path(), Durability::Fast, &mut ignore).unwrap();
    assert_eq!((imported.entries, imported.refused.len()), (1, 3));
    assert!(cache.get("serde").unwrap().is_none());
}

#[test]
fn a_durable_import_of_several_batches_is_durable_at_its_end() {
    let (from, home) = (folder(), folder());
    for name in ["aa", "bb", "cc", "dd", "ee"] {
        let mut bytes = file(name, &["1.0.0"]);
        bytes.extend_from_slice(b"2.0.0\0{");
        bytes.resize(bytes.len() + (9 << 20), b' ');
        bytes.extend_from_slice(b"}\0");
        write(from.path(), name, &bytes);
    }
    let cache = open(&home);
    let imported =
        cargo_layout::import(&cache, from.path(), Durability::Durable, &mut ignore).unwrap();
    assert_eq!((imported.entries, imported.refused.len()), (5, 0));
    let layer = &cache.stats().layers[0];
    assert!(layer.commits > 1 && layer.is_durable, "{layer:?}");
    assert!(cache.verify().unwrap().is_sound());
}

#[test]
fn an_observer_can_stop_an_import() {
    let (from, home) = (folder(), folder());
    write(from.path(), "serde", &file("serde", &["1.0.0"]));
    let mut stop = |_| ControlFlow::Break(());
    let cache = open(&home);
    let outcome = cargo_layout::import(&cache, from.path(), Durability::Fast, &mut stop);
    assert!(outcome.unwrap_err().is_cancelled());
    assert!(cache.get("serde").unwrap().is_none());
}

#[test]
fn names_that_would_leave_the_folder_are_not_exported() {
    let (to, home) = (folder(), folder());
    let cache = open(&home);
    let bytes = file("x", &["1.0.0"]);
    let document = cargo_layout::Document::parse(&bytes).unwrap();
    let mut batch = cache.batch();
    for name in ["../../escape", "/etc/escape", "a/b", "..", "nul\0", "fine"] {
        batch.put(name, &document.as_put()).unwrap();
    }
    let _ = batch.commit(Durability::Fast).unwrap();
    let exported = cargo_layout::export(&cache.snapshot(), to.path()).unwrap();
    assert_eq!((exported.files, exported.left_out.len()), (1, 5));
    assert_eq!(tree(to.path()).len(), 1);
}

#[test]
fn the_three_calls_of_cargo_see_their_own_writes() {
    let home = folder();
    let blobs = CargoBlobs::new(open(&home));
    let blob = file("serde", &["1.0.0"]);
    blobs.put("serde", &blob).unwrap();
    blobs.put("odd", b"not a document").unwrap();
    blobs.put("gone", &blob).unwrap();
    assert_eq!(blobs.get("serde").unwrap(), blob);
    blobs.invalidate("gone").unwrap();
    assert_eq!(blobs.get("gone"), None);
    assert_eq!(blobs.flush().unwrap(), None);
    let blobs = CargoBlobs::new(open(&home));
    assert_eq!(blobs.get("serde").unwrap(), blob);
    assert_eq!(blobs.get("odd").unwrap(), b"not a document");
    assert_eq!(blobs.get("gone"), None);
    blobs.invalidate("serde").unwrap();
    blobs.flush().unwrap();
    assert_eq!(CargoBlobs::new(open(&home)).get("serde"), None);
}
