//! What the `zip` crate says to archives that mean two things, and why it is asked in tests only.
//!
//! Reading the directory of a seekable archive through `zip` and checking more on top was considered.
//! These tests hold the facts against it: the entries that it merges, the bytes in front that it steps
//! over and the records that it passes by cannot be seen through its interface afterwards. When one of
//! them fails, `zip` has changed, and the question may be asked again.

use std::io::{Cursor, Read as _};

use crate::attempt::refuse_zip;
use crate::raw_zip::{End, archive, archive_with, stored};
use stream_extract::Error;

/// Names and contents as the `zip` crate reads them.
fn zip_reads(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("zip opens it");
    let mut found = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        found.push((String::from_utf8(file.name_raw().to_vec()).unwrap(), content));
    }
    found
}

fn one(name: &str, content: &[u8]) -> Vec<(String, Vec<u8>)> {
    vec![(name.to_owned(), content.to_vec())]
}

#[test]
fn of_two_entries_with_one_name_zip_shows_one() {
    let twice = archive(&[stored("a", b"first"), stored("a", b"second")]);
    assert_eq!(zip_reads(&twice), one("a", b"second"));
    refuse_zip(&twice, Error::is_conflict);
}

#[test]
fn bytes_in_front_of_the_archive_are_stepped_over() {
    let prefixed = [b"#!/bin/sh\n", &archive(&[stored("a", b"x")])[..]].concat();
    assert_eq!(zip_reads(&prefixed), one("a", b"x"));
    refuse_zip(&prefixed, Error::is_corrupt);
}

#[test]
fn a_file_that_the_directory_hides_stays_hidden() {
    let hidden = stored("hidden", b"y").with(|raw| raw.in_central = false);
    let hidden = archive(&[stored("a", b"x"), hidden]);
    assert_eq!(zip_reads(&hidden), one("a", b"x"));
    refuse_zip(&hidden, Error::is_corrupt);
}

#[test]
fn a_directory_longer_than_counted_is_cut() {
    let end = End { entries: Some(1), ..End::default() };
    let cut = archive_with(&[stored("a", b"x"), stored("b", b"y")], &end);
    assert_eq!(zip_reads(&cut), one("a", b"x"));
    refuse_zip(&cut, Error::is_corrupt);
}
