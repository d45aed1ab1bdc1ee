//! The tests under Wine, how many there are, and which ones are left out.
//!
//! A test that is not compiled for Windows is easily forgotten: nothing is red. So the tests of both
//! platforms are listed, and what Windows lacks must be covered by a row of `docs/PLATFORMS.md` that
//! says why; a row that covers nothing is an error too. Compiling and running is done by
//! `.ci/cross`, which knows how.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Result, shell};

const TARGET: &str = "x86_64-pc-windows-gnu";

/// Heading of the table of reasons.
const HEADING: &str = "## Left out under Wine";

/// A row: the beginning of the names it is about, and the reason.
struct Reason {
    names: String,
    why: String,
}

/// Lists, compares, and runs; `arguments` choose the packages as cargo's own do.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let document = fs::read_to_string(shell::workspace().join("docs/PLATFORMS.md"))?;
    let here = tests(shell::cargo().arg("test"), arguments, |program| Command::new(program))?;
    let there = tests(cross().arg("test"), arguments, wine)?;
    let mut reasons = reasons(&document);
    if !arguments.is_empty() {
        reasons.retain(|reason| is_about_any(reason, &here));
    }
    let listed = report(&here, &there, &reasons);
    let passed = run_tests(arguments);
    listed.and(passed)
}

fn cross() -> Command {
    let mut command = Command::new(shell::workspace().join(".ci/cross"));
    command.current_dir(shell::workspace()).arg(TARGET);
    command
}

/// Runs a Windows program.
fn wine(program: &Path) -> Command {
    let mut command = Command::new(shell::workspace().join(".ci/wine"));
    command.env("WORKSPACE", shell::workspace()).arg(program);
    command
}

/// The names of all tests of the chosen packages, as `package/target name`.
fn tests(
    cargo: &mut Command,
    packages: &[String],
    start: impl Fn(&Path) -> Command,
) -> Result<BTreeSet<String>> {
    cargo.args(["--no-run", "--message-format=json"]).args(packages);
    let mut names = BTreeSet::new();
    for (target, program) in programs(&shell::output(cargo)?) {
        let listed = shell::output(start(&program).args(["--list", "--format", "terse"]))?;
        let found = listed.lines().filter_map(|line| line.trim_end().strip_suffix(": test"));
        names.extend(found.map(|name| format!("{target} {name}")));
    }
    Ok(names)
}

/// The test programs that cargo names in its messages, each with `package/target`.
fn programs(messages: &str) -> Vec<(String, PathBuf)> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |message: Value| {
        let path = message["executable"].as_str().map(PathBuf::from)?;
        let is_test = message["profile"]["test"].as_bool()?;
        is_test.then(|| (target_name(&message), path))
    };
    messages.filter_map(program).collect()
}

fn target_name(message: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let manifest = text(&message["manifest_path"]);
    let package = Path::new(&manifest).parent().and_then(Path::file_name).unwrap_or_default();
    let target = match &*text(&message["target"]["kind"][0]) {
        "test" => text(&message["target"]["name"]),
        kind => kind.to_owned(),
    };
    format!("{}/{target}", package.to_string_lossy())
}

/// The rows of the table of reasons.
fn reasons(document: &str) -> Vec<Reason> {
    let section = document.split_once(HEADING).map_or("", |(_, after)| after);
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let names = cells.next()?.trim_end().strip_suffix('`')?.to_owned();
        let why = cells.next()?.trim_end_matches([' ', '|']).to_owned();
        Some(Reason { names, why })
    };
    section.lines().filter_map(row).collect()
}

/// Are tests of the row's package among `names`?
fn is_about_any(reason: &Reason, names: &BTreeSet<String>) -> bool {
    let package = |name: &str| name.split('/').next().map(str::to_owned);
    names.iter().any(|name| package(name) == package(&reason.names))
}

/// Prints what is left out and why; an error says what the table of reasons lacks or has too much.
#[expect(clippy::print_stdout, reason = "the list is this chore's product")]
fn report(here: &BTreeSet<String>, there: &BTreeSet<String>, reasons: &[Reason]) -> Result<()> {
    let (left_out, faults) = judge(here, there, reasons);
    println!("left out under Wine, of {} tests on this platform:", here.len());
    for (name, why) in &left_out {
        println!("  {name}: {why}");
    }
    let only_there = there.difference(here).count();
    println!(
        "left out: {}; to run: {}, {only_there} of them only on Windows",
        left_out.len(),
        there.len()
    );
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// What is left out, each with its reason; and what is wrong with the reasons.
fn judge<'a>(
    here: &'a BTreeSet<String>,
    there: &'a BTreeSet<String>,
    reasons: &'a [Reason],
) -> (Vec<(&'a str, &'a str)>, Vec<String>) {
    let (mut left_out, mut faults) = (Vec::new(), Vec::new());
    for name in here.difference(there) {
        match reasons.iter().find(|reason| name.starts_with(&reason.names)) {
            Some(reason) => left_out.push((&**name, &*reason.why)),
            None => faults.push(format!("no reason in docs/PLATFORMS.md to leave out `{name}`")),
        }
    }
    let covers = |reason: &Reason| left_out.iter().any(|(name, _)| name.starts_with(&reason.names));
    let idle = reasons.iter().filter(|reason| !covers(reason));
    faults.extend(
        idle.map(|reason| format!("nothing that starts with `{}` is left out", reason.names)),
    );
    (left_out, faults)
}

/// Runs everything, documentation included, and counts what passed.
#[expect(clippy::print_stdout, reason = "a person following the log sees where it is")]
fn run_tests(packages: &[String]) -> Result<()> {
    let mut command = cross();
    command.args(["test", "--no-fail-fast"]).args(packages).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let mut passed = 0;
    for line in BufReader::new(child.stdout.take().ok_or("no output")?).lines() {
        let line = line?;
        println!("{line}");
        passed += passed_of(&line).unwrap_or(0);
    }
    println!("{passed} tests passed under Wine");
    if child.wait()?.success() { Ok(()) } else { Err("tests failed under Wine".into()) }
}

/// The number in `test result: ok. 12 passed; ...`.
fn passed_of(line: &str) -> Option<u64> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    counts.split_once(" passed")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_test_left_out_needs_a_reason_and_a_reason_needs_a_test() {
        let reasons = reasons(&format!(
            "{HEADING}\n\n| names | why |\n| --- | --- |\n| `a/it unix::` | modes |\n| `b/it` | gone |\n\n## Next\n| `c/it` | not of this table |\n"
        ));
        let here = set(&["a/it unix::x", "a/it unix::y", "a/it all", "c/it z"]);
        let there = set(&["a/it all", "a/it windows::w"]);
        let (left_out, faults) = judge(&here, &there, &reasons);
        assert_eq!(left_out, [("a/it unix::x", "modes"), ("a/it unix::y", "modes")]);
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(faults[0].contains("`c/it z`") && faults[1].contains("`b/it`"), "{faults:?}");
    }

    #[test]
    fn a_reason_of_a_package_that_is_not_chosen_is_not_idle() {
        let about = |names: &str| Reason { names: names.to_owned(), why: "why".to_owned() };
        let here = set(&["cas-store/it place::x"]);
        assert!(is_about_any(&about("cas-store/lib"), &here));
        assert!(!is_about_any(&about("cas/it"), &here));
    }

    #[test]
    fn the_table_of_reasons_is_found() {
        let document = fs::read_to_string(shell::workspace().join("docs/PLATFORMS.md")).unwrap();
        let reasons = reasons(&document);
        assert!(reasons.len() > 5 && reasons.iter().all(|reason| !reason.why.is_empty()));
    }

    #[test]
    fn programs_are_named_by_package_and_target() {
        let message = |kind: &str, name: &str, test: bool| {
            format!(
                r#"{{"executable":"/t/{name}-1","profile":{{"test":{test}}},"manifest_path":"/w/crates/cas-store/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}}}}"#
            )
        };
        let messages = [
            message("lib", "cas_store", true),
            message("test", "it", true),
            message("bin", "no", false),
        ];
        let names: Vec<_> =
            programs(&messages.join("\n")).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["cas-store/lib", "cas-store/it"]);
    }

    #[test]
    fn passed_tests_are_counted() {
        assert_eq!(passed_of("test result: ok. 12 passed; 0 failed; 0 ignored"), Some(12));
        assert_eq!(passed_of("test result: FAILED. 3 passed; 1 failed"), Some(3));
        assert_eq!(passed_of("running 3 tests"), None);
    }
}
