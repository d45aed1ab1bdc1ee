//! Names that attack: rows 1-9, 20, 21, 46-49 and 61 of the list of known faults.

use stream_extract::{Error, Extractor, Limits, Policy, Scratch, VerifySink};

use crate::attempt::{accept_zip, accept_zip_under, refuse_tar, refuse_zip, refuse_zip_under};
use crate::raw_tar;
use crate::raw_zip::{archive, deflated, stored};

/// Refused in a zip and in a tar, by every policy.
fn refuse_name(name: &str) {
    let zip = archive(&[stored(name, b"x")]);
    for policy in [Policy::portable(), Policy::pypi(), Policy::crate_()] {
        let error = refuse_zip_under(&zip, &policy, Error::is_unsafe_path);
        assert_eq!(error.entry(), Some(0));
        assert_eq!(error.offset(), Some(0));
    }
    refuse_tar(&raw_tar::archive(&[raw_tar::file(name, b"x")]), Error::is_unsafe_path);
}

/// Refused by the portable policy; fine for a system that can hold it.
fn refuse_portable_name(name: &str) {
    let zip = archive(&[stored(name, b"x")]);
    refuse_zip(&zip, Error::is_unsafe_path);
    if cfg!(unix) {
        assert!(accept_zip_under(&zip, &Policy::pypi()).contains_key(name));
    }
}

#[test]
fn fault_1_parent_components_are_refused() {
    ["../x", "a/../../x", "a/..", "..", "a/../x"].into_iter().for_each(refuse_name);
}

#[test]
fn fault_2_absolute_names_are_refused() {
    ["/x", "/etc/passwd", "//x"].into_iter().for_each(refuse_name);
}

#[test]
fn fault_3_backslashes_count_as_separators_on_every_system() {
    ["..\\x", "a\\..\\..\\x", "\\x"].into_iter().for_each(refuse_name);
    refuse_portable_name("a\\b");
}

#[test]
fn fault_4_drive_letters_are_refused_wherever_they_stand() {
    ["C:x", "C:/x", "c:\\x", "a/C:x", "a\\d:x"].into_iter().for_each(refuse_name);
}

#[test]
fn fault_5_unc_and_verbatim_names_are_refused() {
    ["\\\\server\\share\\x", "\\\\?\\C:\\x", "//server/share/x"].into_iter().for_each(refuse_name);
}

#[test]
fn fault_6_alternate_streams_are_not_portable() {
    ["file:Zone.Identifier", "a/file.txt::$DATA"].into_iter().for_each(refuse_portable_name);
}

#[test]
fn fault_7_device_names_are_not_portable() {
    ["CON", "con.rs", "a/NUL", "aux.tar.gz", "COM1", "com¹.txt", "LPT9", "CONIN$", "prn .x"]
        .into_iter()
        .for_each(refuse_portable_name);
    accept_zip(&archive(&[stored("console", b""), stored("com10", b""), stored("lpt", b"")]));
}

#[test]
fn fault_8_names_that_windows_changes_are_not_portable() {
    ["a.", "a ", "b./c", "a<b", "a>b", "a\"b", "a?b", "a*b", "a|b"]
        .into_iter()
        .for_each(refuse_portable_name);
}

#[test]
fn fault_9_a_sibling_whose_name_starts_like_the_target_is_not_inside() {
    refuse_name("../target-evil/x");
}

#[test]
fn fault_20_names_that_differ_in_case_collide() {
    for names in [["A", "a"], ["dir/A", "DIR/b"], ["README.md", "Readme.md"]] {
        let zip = archive(&names.map(|name| stored(name, b"x")));
        if names[0].contains('/') {
            assert_eq!(accept_zip(&zip).len(), 2, "one folder in two spellings is no collision");
        } else {
            refuse_zip(&zip, Error::is_conflict);
        }
        if cfg!(target_os = "linux") {
            assert_eq!(accept_zip_under(&zip, &Policy::pypi()).len(), 2);
        }
    }
}

#[test]
fn fault_21_names_that_differ_in_unicode_form_collide() {
    for names in [["\u{e9}", "e\u{301}"], ["stra\u{df}e", "STRASSE"], ["\u{212a}", "k"]] {
        refuse_zip(&archive(&names.map(|name| stored(name, b"x"))), Error::is_conflict);
    }
}

#[test]
fn fault_46_names_that_are_not_utf_8_are_refused_and_shown_escaped() {
    let error = refuse_zip(&archive(&[stored(b"caf\x82", b"x")]), Error::is_unsafe_path);
    assert_eq!(error.entry_name(), Some("caf\\x82"));
}

#[test]
fn fault_47_invisible_characters_are_refused() {
    for name in
        ["a\0b", "a\nb", "a\u{1b}[2J", "a\u{202e}gpj.exe", "a\u{200b}", "\u{feff}a", "a\u{85}b"]
    {
        let error = refuse_zip(&archive(&[stored(name, b"x")]), Error::is_unsafe_path);
        assert!(error.to_string().is_ascii(), "the text cannot fool a terminal: {error}");
    }
}

#[test]
fn fault_48_an_empty_name_is_refused_and_dots_are_normalised() {
    refuse_zip(&archive(&[stored("", b"x")]), Error::is_unsafe_path);
    refuse_zip(&archive(&[stored(".", b"x")]), Error::is_unsafe_path);
    refuse_zip(&archive(&[stored("./", b"")]), Error::is_unsafe_path);
    let tree = accept_zip(&archive(&[stored("./a//b/./c", b"x")]));
    assert!(tree.contains_key("a/b/c"), "{tree:?}");
    refuse_zip(&archive(&[stored("a//b", b"x"), stored("a/b", b"x")]), Error::is_conflict);
}

#[test]
fn fault_49_a_name_is_a_file_or_a_folder() {
    let folder = |name: &str| stored(name, b"").with(|raw| raw.external = 0o40_755 << 16);
    refuse_zip(&archive(&[stored("a", b"x"), stored("a/b", b"x")]), Error::is_conflict);
    refuse_zip(&archive(&[stored("a/b", b"x"), stored("a", b"x")]), Error::is_conflict);
    refuse_zip(&archive(&[stored("a", b"x"), folder("a/")]), Error::is_conflict);
    let full = stored("a/", b"x").with(|raw| raw.external = 0o40_755 << 16);
    refuse_zip(&archive(&[full]), Error::is_corrupt);
    accept_zip(&archive(&[stored("a/b", b"x"), folder("a/")]));
}

#[test]
fn fault_49_an_empty_folder_may_be_deflated_even_with_a_descriptor() {
    let folder = |raw: &mut crate::raw_zip::Raw| raw.external = 0o40_755 << 16;
    let plain = deflated("a/", b"").with(folder);
    let described = deflated("b/", b"").with(folder).with_descriptor(true, false);
    assert_eq!(accept_zip(&archive(&[plain, described])).len(), 2);
}

#[test]
fn fault_61_depth_and_length_are_limited() {
    let deep = vec!["d"; 129].join("/");
    refuse_zip(&archive(&[stored(&deep, b"x")]), Error::is_limit);
    accept_zip(&archive(&[stored(vec!["d"; 128].join("/"), b"x")]));
}

#[test]
fn fault_61_long_components_are_refused() {
    refuse_zip(&archive(&[stored("n".repeat(256), b"x")]), Error::is_unsafe_path);
    accept_zip(&archive(&[stored("n".repeat(255), b"x")]));
    let long = vec!["n".repeat(100); 41].join("/");
    refuse_zip(&archive(&[stored(&long, b"x")]), Error::is_limit);
    let limits = Limits::default().name_bytes(5000);
    let extractor = Extractor::new().limits(limits);
    let zip = archive(&[stored(&long, b"x")]);
    extractor.zip_stream(&zip[..], &mut Scratch::new(), VerifySink::new()).unwrap();
}
