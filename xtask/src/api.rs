//! The public interface of every library, one line per item, as `docs/api/NAME.txt`.
//!
//! A change of an interface is then a line in a diff that somebody reads: a line that goes away or
//! changes is a breaking change, a new line is a minor release. Nothing was released yet, so there is no
//! older interface that this one must stay compatible with.
//!
//! The compiler describes the interface (rustdoc's JSON, which is not stable: `RUSTC_BOOTSTRAP`), and
//! `public-api` renders it. Each version of that crate reads one version of the format, hence its
//! exact version in the manifest: it goes with Rust 1.95.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::{Result, shell};

const CRATES: [&str; 5] =
    ["bench-util", "cas-store", "deferred-close", "index-cache", "stream-extract"];

/// Compares the interfaces with the lists, or writes the lists with `--write`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let write = arguments.iter().any(|argument| argument == "--write");
    let mut changes = String::new();
    for name in CRATES {
        let found = interface(name)?;
        let path = shell::workspace().join("docs/api").join(format!("{name}.txt"));
        if write {
            fs::create_dir_all(path.parent().ok_or("the list has a folder")?)?;
            fs::write(path, found)?;
        } else {
            describe(name, &fs::read_to_string(path)?, &found, &mut changes);
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    Err(format!("interfaces changed (`cargo xtask api --write` accepts it):\n{changes}").into())
}

/// One line per public item, sorted.
fn interface(name: &str) -> Result<String> {
    let json = rustdoc_json(name)?;
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()?;
    Ok(format!("{api}"))
}

fn rustdoc_json(name: &str) -> Result<PathBuf> {
    let folder = shell::target_folder().join("api");
    let mut command = shell::cargo();
    command.args(["rustdoc", "--quiet", "--lib", "--all-features", "--package", name]);
    command.args(["--", "-Zunstable-options", "--output-format", "json"]);
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_TARGET_DIR", &folder);
    shell::output(&mut command)?;
    Ok(folder.join("doc").join(format!("{}.json", name.replace('-', "_"))))
}

/// Adds the lines that one list has and the other lacks.
fn describe(name: &str, listed: &str, found: &str, changes: &mut String) {
    let (listed, found): (BTreeSet<_>, BTreeSet<_>) =
        (listed.lines().collect(), found.lines().collect());
    let gone = listed.difference(&found).map(|line| ('-', line));
    let new = found.difference(&listed).map(|line| ('+', line));
    for (sign, line) in gone.chain(new) {
        writeln!(changes, "{name}: {sign} {line}").expect("text can always be written to");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The crates that the items of a list are of: the first name of each path. Names of types, such
    /// as `Self` in `Self::File`, begin otherwise; `bool` is the one primitive that methods are of.
    fn crates_named(list: &str) -> BTreeSet<&str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let paths = list.split(|c: char| !is_name(c)).filter_map(|path| path.split_once("::"));
        let crates = paths.map(|(first, _)| first);
        crates.filter(|name| name.starts_with(char::is_lowercase) && *name != "bool").collect()
    }

    #[test]
    fn the_libraries_show_no_types_of_other_crates() {
        for name in ["cas-store", "deferred-close", "index-cache", "stream-extract"] {
            let path = shell::workspace().join("docs/api").join(format!("{name}.txt"));
            let list = fs::read_to_string(path).unwrap();
            let own = name.replace('-', "_");
            let known = BTreeSet::from(["alloc", "core", "std", own.as_str()]);
            let named = crates_named(&list);
            assert!(named.contains(&*own) && named.is_subset(&known), "{name}: {named:?}");
        }
    }

    #[test]
    fn what_goes_and_what_comes_is_told() {
        let mut changes = String::new();
        describe("x", "pub fn a()\npub fn b()\n", "pub fn a()\npub fn c()\n", &mut changes);
        assert_eq!(changes, "x: - pub fn b()\nx: + pub fn c()\n");
        describe("x", "pub fn a()\n", "pub fn a()\n", &mut changes);
        assert_eq!(changes.lines().count(), 2, "equal lists add nothing");
    }
}
