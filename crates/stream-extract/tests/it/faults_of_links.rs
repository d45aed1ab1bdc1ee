//! Links, modes and special files: rows 10-19, 22-25, 57, 58 and 60 of the list of known faults.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use stream_extract::{DirectorySink, Error, Extractor, Policy, Result, Scratch};

use crate::attempt::{accept_tar, refuse_tar, refuse_tar_under, refuse_zip};
use crate::raw_tar::{archive, entry, file, header, link};
use crate::raw_zip;

const HARD: u8 = b'1';
const SYMBOLIC: u8 = b'2';

fn links() -> Policy {
    Policy::portable().links(true)
}

fn extract(tar: &[u8], target: &Path) -> Result<()> {
    let sink = DirectorySink::create(target).unwrap();
    Extractor::new().policy(links()).tar(tar, &mut Scratch::new(), sink).map(drop)
}

/// Refused by default because it is a link, and by the policy that allows links because of what it is.
fn refuse_link(entries: &[Vec<u8>], is: fn(&Error) -> bool) {
    let tar = archive(entries);
    refuse_tar(&tar, Error::is_refused);
    refuse_tar_under(&tar, &links(), is);
}

#[test]
fn fault_10_nothing_is_written_through_a_link() {
    refuse_link(&[link("a", SYMBOLIC, "b"), file("a/x", b"x")], Error::is_conflict);
}

#[test]
fn fault_11_no_folder_is_made_through_a_link() {
    refuse_link(&[link("a", SYMBOLIC, "b"), entry(b"a/sub/", b'5', b"")], Error::is_conflict);
}

#[test]
fn fault_12_a_folder_entry_does_not_reach_through_a_link() {
    refuse_link(&[link("a", SYMBOLIC, "b"), entry(b"a/", b'5', b"")], Error::is_conflict);
}

#[test]
fn fault_13_a_link_in_place_of_the_target_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    symlink(elsewhere.path(), &target).unwrap();
    let error = DirectorySink::create(&target).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn fault_14_targets_outside_are_refused() {
    for target in ["/etc/passwd", "../x", "../../x", "C:\\x", "a\\b"] {
        refuse_link(&[link("a", SYMBOLIC, target)], Error::is_unsafe_path);
    }
    refuse_link(&[link("d/a", SYMBOLIC, "../../x")], Error::is_unsafe_path);
}

#[test]
fn fault_15_a_chain_of_links_cannot_climb() {
    let deep = link("deep", SYMBOLIC, "d/e/f");
    let climb = link("climb", SYMBOLIC, "deep/../../../../x");
    refuse_link(&[deep, climb], Error::is_unsafe_path);
}

#[test]
fn fault_16_a_loop_of_links_is_harmless_because_none_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    extract(&archive(&[link("a", SYMBOLIC, "b"), link("b", SYMBOLIC, "a")]), &target).unwrap();
    assert_eq!(fs::read_link(target.join("a")).unwrap(), Path::new("b"));
    let both = archive(&[link("a", SYMBOLIC, "b"), link("b", SYMBOLIC, "a"), file("a/x", b"x")]);
    refuse_tar_under(&both, &links(), Error::is_conflict);
}

#[test]
fn fault_17_hard_links_name_an_earlier_file_of_the_archive() {
    for target in ["/etc/passwd", "../x", "later", "s"] {
        let entries = [link("s", SYMBOLIC, "f"), link("a", HARD, target), file("later", b"x")];
        refuse_link(&entries, Error::is_unsafe_path);
    }
}

#[test]
fn fault_18_links_have_no_content() {
    for kind in [HARD, SYMBOLIC] {
        let lying = header(b"a", kind, 5, |block| block[157] = b'f');
        refuse_link(&[file("f", b"x"), lying, vec![b'x'; 512]], Error::is_corrupt);
    }
}

#[test]
fn links_that_stay_inside_are_made_last() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let entries = [file("d/f", b"x"), link("d/e/s", SYMBOLIC, "../f"), link("h", HARD, "d/f")];
    extract(&archive(&entries), &target).unwrap();
    assert_eq!(fs::read(target.join("d/e/s")).unwrap(), b"x");
    assert_eq!(fs::metadata(target.join("h")).unwrap().nlink(), 2);
}

#[test]
fn fault_19_metadata_outside_does_not_change() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::write(&outside, b"x").unwrap();
    let before = fs::metadata(&outside).unwrap();
    let climb = header(b"../outside", b'5', 0, |block| block[100..107].copy_from_slice(b"0000777"));
    extract(&archive(&[climb]), &folder.path().join("target")).unwrap_err();
    let after = fs::metadata(&outside).unwrap();
    assert_eq!((before.mode(), before.ctime_nsec()), (after.mode(), after.ctime_nsec()));
}

/// The mode of `target/a` after extracting one entry with `mode`.
fn mode_of(kind: u8, mode: &[u8]) -> u32 {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let entry = header(b"a", kind, 0, |block| block[100..107].copy_from_slice(mode));
    extract(&archive(&[entry, file("b/c", b"x")]), &target).unwrap();
    fs::metadata(target.join("a")).unwrap().permissions().mode() & 0o7777
}

/// What an ordinary new file and folder get here.
fn ordinary_modes() -> (u32, u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    fs::write(&path, b"").unwrap();
    let file = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    fs::create_dir(folder.path().join("d")).unwrap();
    let made = fs::metadata(folder.path().join("d")).unwrap();
    (file, made.permissions().mode() & 0o7777)
}

#[test]
fn fault_22_set_id_and_sticky_bits_never_survive() {
    let (file, folder) = ordinary_modes();
    assert_eq!(mode_of(b'0', b"0007644"), file);
    assert_eq!(mode_of(b'0', b"0004755"), folder, "only the executable bit is kept");
}

#[test]
fn fault_23_the_umask_decides_who_may_write() {
    let (file, folder) = ordinary_modes();
    assert_eq!(mode_of(b'0', b"0000666"), file);
    assert_eq!(mode_of(b'0', b"0000777"), folder);
    assert_eq!(mode_of(b'5', b"0000777"), folder);
}

#[test]
fn fault_24_a_folder_without_permissions_can_be_filled() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let closed = header(b"a/", b'5', 0, |block| block[100..107].copy_from_slice(b"0000000"));
    extract(&archive(&[closed, file("a/b", b"x")]), &target).unwrap();
    assert_eq!(fs::metadata(target.join("a")).unwrap().mode() & 0o7777, ordinary_modes().1);
}

#[test]
fn fault_25_special_files_are_refused() {
    for kind in [b'3', b'4', b'6'] {
        refuse_tar(&archive(&[entry(b"a", kind, b"")]), Error::is_unsupported);
    }
    for kind in [0o02_0000, 0o06_0000, 0o01_0000, 0o14_0000] {
        let special = raw_zip::stored("a", b"").with(|raw| raw.external = (kind | 0o644) << 16);
        refuse_zip(&raw_zip::archive(&[special]), Error::is_unsupported);
    }
    let link = raw_zip::stored("a", b"b").with(|raw| raw.external = 0o120_777 << 16);
    refuse_zip(&raw_zip::archive(&[link]), Error::is_refused);
}

#[test]
fn fault_57_a_marker_in_the_archive_is_only_a_file() {
    refuse_link(&[link("p/.cargo-ok", SYMBOLIC, "/tmp/x")], Error::is_unsafe_path);
    let tree = accept_tar(&archive(&[file("p/.cargo-ok", b"forged"), file("p/x", b"x")]));
    assert_eq!(tree.len(), 2, "completeness is the rename of the folder, not a file in it");
}

#[test]
fn fault_58_times_are_not_restored() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    let ancient = header(b"a", b'0', 0, |block| block[136] = 0xff);
    extract(&archive(&[ancient]), &target).unwrap();
    let age = fs::metadata(target.join("a")).unwrap().modified().unwrap().elapsed().unwrap();
    assert!(age.as_secs() < 3600);
}

#[test]
fn fault_60_the_stage_is_private_and_goes_with_its_sink() {
    let folder = tempfile::tempdir().unwrap();
    let sink = DirectorySink::create(folder.path().join("target")).unwrap();
    let stage = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    assert_eq!(stage.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    drop(sink);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
