//! `bench-report FOLDER NAME...`: joins the named reports in the folder into `all`.
//!
//! A report that is not there is named among what was not measured: nothing is left out silently.

use std::path::Path;
use std::process::ExitCode;

use bench_util::{Error, Report};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: bench-report FOLDER NAME...");
        return ExitCode::from(2);
    };
    let all = join(Path::new(&folder), arguments);
    match all.write(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn join(folder: &Path, names: impl Iterator<Item = String>) -> Report {
    let mut all =
        Report::new("all", "How do the crates and the installers compare with their peers?");
    all.stamp.command = "cargo xtask bench all".to_owned();
    for name in names {
        match read(folder, &name) {
            Ok(report) => all.merge(report),
            Err(error) => {
                all.missing(&name, error.to_string(), format!("cargo xtask bench {name}"));
            }
        }
    }
    all
}

fn read(folder: &Path, name: &str) -> Result<Report, Error> {
    let text = std::fs::read_to_string(folder.join(format!("{name}.json")))
        .map_err(|_| Error::unavailable("its report", "run it alone to see why"))?;
    Report::from_json(&text)
}
