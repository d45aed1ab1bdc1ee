//! What each crate for other people's programs drags in, as a table that a test keeps true.
//!
//! Counted on Linux without optional features: what nobody can leave out. Cargo does the counting
//! (`cargo tree`); the oldest compiler is the highest `rust-version` that a member of the tree
//! states in its manifest, since compilers older than the pinned one are not at hand to try. (The
//! standard library's part is checked by clippy's `incompatible_msrv`.)

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::{Result, shell};

/// The crates, each with the most direct dependencies that it may have.
const CRATES: [(&str, usize); 4] =
    [("cas-store", 6), ("deferred-close", 3), ("index-cache", 5), ("stream-extract", 9)];

/// Prints the table as `docs/DEPENDENCIES.md` holds it.
#[expect(clippy::print_stdout, reason = "the table is this chore's product")]
pub(crate) fn run() -> Result<()> {
    print!("{}", table()?);
    Ok(())
}

fn table() -> Result<String> {
    let mut table = String::from(
        "| crate | direct | at most | whole tree | newest compiler that the tree asks for |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
    );
    let metadata = metadata()?;
    for (name, direct_max) in CRATES {
        let direct = tree(name, &["--depth", "1"])?.len();
        let whole = tree(name, &[])?;
        let compiler = newest_compiler(&metadata, &whole);
        let whole = whole.len();
        writeln!(table, "| {name} | {direct} | {direct_max} | {whole} | {compiler} |")?;
    }
    Ok(table)
}

/// The crates that `name` needs, as `name version`, itself left out.
fn tree(name: &str, more: &[&str]) -> Result<BTreeSet<String>> {
    let mut command = shell::cargo();
    command.args(["tree", "--locked", "--package", name, "--edges", "normal,build", "--no-dedupe"]);
    command.args(["--no-default-features", "--target", "x86_64-unknown-linux-gnu"]);
    command.args(["--prefix", "none", "--format", "{p}"]).args(more);
    let text = shell::output(&mut command)?;
    let members = text.lines().map(name_and_version).filter(|member| !is_named(member, name));
    Ok(members.collect())
}

/// `libc v0.2.191 (proc-macro)` to `libc 0.2.191`.
fn name_and_version(line: &str) -> String {
    line.split_whitespace().take(2).collect::<Vec<_>>().join(" ").replacen(" v", " ", 1)
}

fn is_named(member: &str, name: &str) -> bool {
    member.split(' ').next() == Some(name)
}

fn metadata() -> Result<Value> {
    let mut command = shell::cargo();
    command.args(["metadata", "--locked", "--format-version", "1"]);
    Ok(serde_json::from_str(&shell::output(&mut command)?)?)
}

/// The highest `rust-version` of the members of a tree.
fn newest_compiler(metadata: &Value, members: &BTreeSet<String>) -> String {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let stated = packages
        .filter(|package| members.contains(&identity(package)))
        .filter_map(|package| package["rust_version"].as_str());
    stated.max_by_key(|version| release(version)).unwrap_or("none").to_owned()
}

fn identity(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}", text("name"), text("version"))
}

/// `1.89` or `1.89.0` as numbers that compare.
fn release(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_table_of_dependencies_is_true() {
        let document = fs::read_to_string(shell::workspace().join("docs/DEPENDENCIES.md")).unwrap();
        let table = table().unwrap();
        assert!(document.contains(&table), "`cargo xtask dependencies` prints:\n{table}");
    }

    #[test]
    fn no_library_has_more_direct_dependencies_than_it_promises() {
        for (name, direct_max) in CRATES {
            let direct = tree(name, &["--depth", "1"]).unwrap();
            assert!(direct.len() <= direct_max, "{name} has {direct:?}");
            assert!(!direct.is_empty(), "nothing was counted for {name}");
        }
    }

    #[test]
    fn no_dependency_asks_for_a_newer_compiler_than_the_libraries_promise() {
        let metadata = metadata().unwrap();
        for (name, _) in CRATES {
            let newest = newest_compiler(&metadata, &tree(name, &[]).unwrap());
            assert!(release(&newest) <= (1, 89), "{name}'s tree asks for {newest}");
        }
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(release("1.100") > release("1.89.0"));
        assert_eq!(name_and_version("libc v0.2.191 (proc-macro)"), "libc 0.2.191");
    }
}
