//! Every test that `docs/PLATFORMS.md` names exists: a document must not promise what was renamed.
//!
//! Names stand in the tables' column `tests`, as ``crate `module::name`, `name`; crate `module::` ``;
//! a name that ends with `::` stands for a whole module of tests.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;
use std::path::{Path, PathBuf};

/// A test or a module of tests, and the crate that has it.
#[derive(Debug, PartialEq)]
struct Named {
    package: String,
    name: String,
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// All names in the column `tests` of every table.
fn named(document: &str) -> Vec<Named> {
    let mut column = None;
    let mut found = Vec::new();
    for line in document.lines() {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        if cells.len() < 3 {
            column = None;
        } else if let Some(cell) = column.and_then(|column: usize| cells.get(column)) {
            found.extend(names_in(cell));
        } else {
            column = cells.iter().position(|cell| *cell == "tests");
        }
    }
    found
}

/// ``a `x`, `y`; b `z` `` to a's x and y and b's z.
fn names_in(cell: &str) -> Vec<Named> {
    let groups = cell.split(';').filter_map(|group| group.trim().split_once(' '));
    let names = groups.flat_map(|(package, names)| {
        let quoted = names.split('`').skip(1).step_by(2);
        quoted.map(|name| Named { package: package.to_owned(), name: name.to_owned() })
    });
    names.collect()
}

/// The text of all Rust files of the package, each with its name.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if path.is_dir() {
            sources.extend(sources_below(&name, &path));
        } else if let Some(stem) = name.strip_suffix(".rs") {
            sources.push((stem.to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
    sources
}

/// As [`sources`]; `mod.rs` and files of a folder are found under the folder's name too.
fn sources_below(folder: &str, path: &Path) -> Vec<(String, String)> {
    let below = sources(path);
    let again = below.iter().map(|(_, text)| (folder.to_owned(), text.clone()));
    again.collect::<Vec<_>>().into_iter().chain(below).collect()
}

fn exists(named: &Named, sources: &[(String, String)]) -> bool {
    let (module, name) = named.name.rsplit_once("::").unwrap_or(("", &named.name));
    let module = module.rsplit("::").next().unwrap_or_default();
    let function = format!("fn {name}(");
    sources.iter().any(|(file, text)| {
        let is_there =
            if name.is_empty() { text.contains("#[test]") } else { text.contains(&function) };
        (module.is_empty() || file == module) && is_there
    })
}

#[test]
fn every_test_that_the_page_of_platforms_names_exists() {
    let document = fs::read_to_string(workspace().join("docs/PLATFORMS.md")).unwrap();
    let named = named(&document);
    assert!(named.len() > 20, "the tables are not read: {named:?}");
    let is_missing = |named: &&Named| {
        let folder = workspace().join("crates").join(&named.package);
        !folder.is_dir() || !exists(named, &sources(&folder))
    };
    let missing: Vec<_> = named.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn names_are_read_and_looked_for() {
    let page =
        "| a | tests |\n| --- | --- |\n| x | one `m::f`, `g`; two `m::` |\n\n| b |\n| one `h` |\n";
    let names: Vec<_> = named(page).into_iter().map(|named| (named.package, named.name)).collect();
    let expected = [("one", "m::f"), ("one", "g"), ("two", "m::")];
    assert_eq!(names, expected.map(|(package, name)| (package.to_owned(), name.to_owned())));
    let sources = [("m".to_owned(), "#[test]\nfn f() {}".to_owned())];
    let is_there =
        |name: &str| exists(&Named { package: String::new(), name: name.to_owned() }, &sources);
    assert!(is_there("m::f") && is_there("f") && is_there("m::"));
    assert!(!is_there("n::f") && !is_there("g") && !is_there("n::"));
}
