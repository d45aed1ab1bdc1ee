//! What Windows does differently, as far as it can be shown under Wine.
//!
//! Names of devices and second names are refused everywhere, see `faults_of_names`.

use std::fs;
use std::process::{Command, Stdio};

use stream_extract::{DirectorySink, Error, Extractor, Policy, Scratch};

use crate::attempt::refuse_zip_under;
use crate::made;
use crate::raw_zip::{archive, stored};

fn extract(zip: &[u8], target: &std::path::Path) {
    let sink = DirectorySink::create(target).unwrap();
    Extractor::new().zip_stream(zip, &mut Scratch::new(), sink).unwrap();
}

#[test]
fn entries_deeper_than_260_characters_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let name = format!("{}/file", ["a-folder-with-a-name-of-thirty"; 10].join("/"));
    extract(&made::zip(&[(&name, b"deep", false)]), &target);
    assert_eq!(fs::read(target.join(name)).unwrap(), b"deep");
}

#[test]
fn names_of_devices_and_second_names_are_refused_by_every_policy_here() {
    for name in ["nul", "a/AUX.txt", "com1", "a.", "a ", "a/b."] {
        let zip = archive(&[stored(name, b"x")]);
        for policy in [Policy::portable(), Policy::pypi(), Policy::crate_()] {
            refuse_zip_under(&zip, &policy, Error::is_unsafe_path);
        }
    }
}

#[test]
fn an_extracted_program_starts_because_its_handle_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let program = fs::read(std::env::current_exe().unwrap()).unwrap();
    extract(&made::zip(&[("bin/tool.exe", &program, true)]), &target);
    let mut list = Command::new(target.join("bin").join("tool.exe"));
    assert!(list.arg("--list").stdout(Stdio::null()).status().unwrap().success());
}

#[test]
fn a_target_that_appeared_meanwhile_is_left_alone_be_it_a_file_or_an_empty_folder() {
    let zip = made::zip(&[("a", b"x", false)]);
    for is_file in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let sink = DirectorySink::create(&target).unwrap();
        if is_file { fs::write(&target, "not yours") } else { fs::create_dir(&target) }.unwrap();
        let error = Extractor::new().zip_stream(&zip[..], &mut Scratch::new(), sink).unwrap_err();
        assert!(error.is_sink(), "{error}");
        assert_eq!(target.is_file(), is_file);
        assert!(!target.join("a").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no rest of the attempt");
    }
}
