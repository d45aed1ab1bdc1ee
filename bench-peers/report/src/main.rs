//! `bench-report FOLDER NAME...`: joins the named reports in the folder into `all`, and draws
//! `headline.svg`.
//! `bench-report FOLDER --missing NAME WHY`: writes a report that says why there is none.
//!
//! A report that is not there is named among what was not measured: nothing is left out silently.

use std::path::Path;
use std::process::ExitCode;

use bench_util::{Comparison, Error, Report, Row, conclude, redact};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, report) = match arguments.as_slice() {
        [folder, missing, name, why] if missing == "--missing" => (folder, absent(name, why)),
        [folder, names @ ..] if !names.is_empty() => (folder, join(Path::new(folder), names)),
        _ => {
            eprintln!("usage: bench-report FOLDER (NAME... | --missing NAME WHY)");
            return ExitCode::from(2);
        }
    };
    let folder = Path::new(folder);
    let written = report.write(folder).and_then(|()| draw(folder, &arguments[1..]));
    conclude(written.map(|()| ExitCode::SUCCESS))
}

fn absent(name: &str, why: &str) -> Report {
    let mut report = Report::new(name, "Why is there no result?");
    report.stamp.command = format!("cargo xtask bench {name}");
    report.missing(name, redact(why, &[]), "do what the reason says, then run it again");
    report
}

fn join(folder: &Path, names: &[String]) -> Report {
    let mut all =
        Report::new("all", "How do the crates and the installers compare with their peers?");
    all.stamp.command = "cargo xtask bench all".to_owned();
    for name in names {
        match read(folder, name) {
            Ok(report) => {
                if report.stamp.command.contains("--quick") {
                    all.stamp.command = "cargo xtask bench all --quick".to_owned();
                }
                all.merge(report);
            }
            Err(error) => {
                all.missing(name, error.to_string(), format!("cargo xtask bench {name}"));
            }
        }
    }
    all
}

/// Of each report the first three comparisons with a goal, and of each its first goal: a rule, so that
/// nobody chooses which results are shown.
const SHOWN: usize = 3;

fn draw(folder: &Path, names: &[String]) -> Result<(), Error> {
    let mut headline = Report::new("headline", "");
    for report in names.iter().filter_map(|name| read(folder, name).ok()) {
        let name = format!("{} ({})", report.name, reference(&report));
        let rows = report.comparisons.into_iter().filter_map(first_goal).take(SHOWN).collect();
        let mut shown = Comparison::exact(name, "", ("", 1), ("", 1));
        shown.rows = rows;
        if !shown.rows.is_empty() {
            headline.add(shown);
        }
    }
    if headline.comparisons.len() < 2 {
        return Ok(());
    }
    let path = folder.join("headline.svg");
    std::fs::write(path, headline.to_svg())
        .map_err(|error| Error::unavailable(format!("headline.svg ({error})"), "free space"))
}

/// The row with the first goal, called after its comparison.
fn first_goal(comparison: Comparison) -> Option<Row> {
    let mut row = comparison.rows.into_iter().find(|row| row.goal.is_some())?;
    row.case = comparison.name;
    row.reference.clear();
    Some(row)
}

/// What the first of those rows is compared with.
fn reference(report: &Report) -> String {
    let rows = report.comparisons.iter().flat_map(|comparison| &comparison.rows);
    let first = rows.into_iter().find(|row| row.goal.is_some());
    first.map_or_else(String::new, |row| format!("against {}", row.reference))
}

fn read(folder: &Path, name: &str) -> Result<Report, Error> {
    let text = std::fs::read_to_string(folder.join(format!("{name}.json")))
        .map_err(|_| Error::unavailable("its report", "run it alone to see why"))?;
    Report::from_json(&text)
}
