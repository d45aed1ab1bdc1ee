//! A whole benchmark's results: comparisons, curves, plain tables, and what could not be had.
//!
//! Holds data and writes files; each output format is one file below. Nothing here measures.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::comparison::Comparison;
use crate::error::{Error, Result};
use crate::goal::Verdict;
use crate::redact::redact;
use crate::stamp::Stamp;

mod axis;
mod html;
mod markdown;
mod svg;
mod units;

/// How to read a line of the tables.
const LEGEND: &str = "A ratio below 1 is faster or smaller than the reference. \
    What is shown of a case is its median; a ratio is the median of the ratios within each round, \
    so it need not be the quotient of the two.";

/// What one benchmark program found.
///
/// # Examples
///
/// ```
/// use bench_util::{Comparison, Goal, Report};
///
/// let mut report = Report::new("sizes", "How large is the cache?");
/// let size = Comparison::exact("index", "size_bytes", ("files", 1000), ("ours", 1010));
/// report.add(size.goal(Goal::AtMost(1.02)));
/// report.missing("sled", "it did not build", "install a C compiler");
/// assert!(report.to_markdown().contains("| ours (size) | files 1,000 B | 1,010 B | 1.010 |"));
/// assert_eq!(report.status(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Short name, also of the files.
    pub name: String,
    /// The question that the report answers.
    pub question: String,
    /// Machine, moment and command.
    pub stamp: Stamp,
    /// Comparisons in reading order.
    pub comparisons: Vec<Comparison>,
    /// How something grows.
    pub curves: Vec<Curve>,
    /// Numbers without a ratio.
    pub tables: Vec<Table>,
    /// Peers, privileges and data that could not be had: nothing is left out silently.
    pub missing: Vec<Missing>,
    /// What the numbers show and do not show.
    pub notes: Vec<String>,
}

/// Several lines over the same axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Curve {
    /// What is drawn.
    pub name: String,
    /// Label of the horizontal axis, with its unit.
    pub x_label: String,
    /// Label of the vertical axis, with its unit.
    pub y_label: String,
    /// Lines by name, each a list of points `(x, y)` with positive numbers.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

impl Curve {
    /// Starts a picture without lines.
    pub fn new(
        name: impl Into<String>,
        x_label: impl Into<String>,
        y_label: impl Into<String>,
    ) -> Self {
        let (name, x_label, y_label) = (name.into(), x_label.into(), y_label.into());
        Self { name, x_label, y_label, lines: Vec::new() }
    }

    /// Adds one line.
    #[must_use]
    pub fn line(
        mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        self.lines.push((name.into(), points.into_iter().collect()));
        self
    }
}

/// A plain table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Table {
    /// What it shows.
    pub name: String,
    /// Heads of the columns.
    pub head: Vec<String>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Starts a table without rows.
    pub fn new(name: impl Into<String>, head: &[&str]) -> Self {
        let head = head.iter().map(|&cell| cell.to_owned()).collect();
        Self { name: name.into(), head, rows: Vec::new() }
    }

    /// Adds one row.
    pub fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }
}

/// Something a benchmark needed and did not get.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Missing {
    /// The row, peer or privilege.
    pub what: String,
    /// Why it is not there.
    pub why: String,
    /// How to get it.
    pub remedy: String,
}

fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
}

impl Report {
    /// Starts an empty report stamped with this process, now.
    pub fn new(name: impl Into<String>, question: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            question: question.into(),
            stamp: Stamp::collect(),
            comparisons: Vec::new(),
            curves: Vec::new(),
            tables: Vec::new(),
            missing: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a finished comparison.
    pub fn add(&mut self, comparison: Comparison) {
        self.comparisons.push(comparison);
    }

    /// Adds the comparison, or names what it lacked.
    ///
    /// # Errors
    ///
    /// When the comparison failed for another reason than something missing.
    pub fn add_or_missing(&mut self, what: &str, result: Result<Comparison>) -> Result<()> {
        match result {
            Ok(comparison) => self.add(comparison),
            Err(error) if error.is_unavailable() => {
                let remedy = error.remedy().unwrap_or_default().to_owned();
                self.missing(what, error.to_string(), remedy);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Adds the comparison, or names why there is none, whatever the reason: one failing peer does
    /// not take the other rows with it.
    pub fn add_or_failed(&mut self, what: &str, result: Result<Comparison>) {
        match result {
            Ok(comparison) => self.add(comparison),
            Err(error) => self.failed(what, &error),
        }
    }

    /// Names a failure with its causes among what was not measured.
    pub fn failed(&mut self, what: &str, error: &Error) {
        let (mut why, mut remedy) = (error.to_string(), error.remedy().unwrap_or("see the reason"));
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            why = format!("{why}: {inner}");
            if is_full(inner) {
                remedy = "free space there, or choose another place";
            }
            cause = inner.source();
        }
        self.missing(what, redact(&why, &[]), remedy);
    }

    /// Names something that could not be had.
    pub fn missing(
        &mut self,
        what: impl Into<String>,
        why: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let (why, remedy) = (why.into(), remedy.into());
        // The text of an error ends with its remedy, which has a column of its own here.
        let why = why.strip_suffix(&format!("; {remedy}")).unwrap_or(&why).to_owned();
        self.missing.push(Missing { what: what.into(), why, remedy });
    }

    /// Adds a remark.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Takes in another program's report, as `xtask bench all` does.
    pub fn merge(&mut self, other: Self) {
        let names = |name: &str| format!("{}: {name}", other.name);
        self.comparisons.extend(other.comparisons.into_iter().map(|mut comparison| {
            comparison.name = names(&comparison.name);
            comparison
        }));
        self.curves.extend(other.curves);
        self.tables.extend(other.tables);
        self.missing.extend(other.missing);
        self.notes.extend(other.notes.iter().map(|note| names(note)));
        let unique: BTreeSet<Missing> = self.missing.drain(..).collect();
        self.missing = unique.into_iter().collect();
    }

    /// Returns 0 when all goals are met, 1 when one is missed, 2 when one is inconclusive or
    /// something is missing.
    pub fn status(&self) -> u8 {
        match self.comparisons.iter().filter_map(Comparison::verdict).max() {
            Some(Verdict::Missed) => 1,
            Some(Verdict::Inconclusive) => 2,
            _ if !self.missing.is_empty() => 2,
            _ => 0,
        }
    }

    /// The [`status`](Self::status) as a process hands it back.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    /// Everything, raw rounds included.
    ///
    /// # Panics
    ///
    /// Never: all keys are strings and all numbers have a JSON form.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is made of plain values")
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    ///
    /// `is_usage` when the text is not a report.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::usage(format!("not a report: {error}")))
    }

    /// The tables for a terminal or a README.
    pub fn to_markdown(&self) -> String {
        markdown::write(self)
    }

    /// One self-contained page: tables and pictures, light and dark, no script.
    pub fn to_html(&self) -> String {
        html::write(self)
    }

    /// One picture of all ratios, with its own style, for a README.
    pub fn to_svg(&self) -> String {
        let groups: Vec<_> =
            self.comparisons.iter().map(|one| svg::lanes(&one.name, one)).collect();
        svg::standalone(&svg::ratios(&groups))
    }

    /// Writes `NAME.json`, `NAME.md`, `NAME.html` and, if there are ratios, `NAME.svg` into `folder`.
    ///
    /// # Errors
    ///
    /// When the folder or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(|error| Error::io("make", folder, error))?;
        let file = |ending: &str, text: String| {
            let path = folder.join(format!("{}.{ending}", self.name));
            fs::write(&path, text).map_err(|error| Error::io("write", &path, error))
        };
        file("json", self.to_json())?;
        file("md", self.to_markdown())?;
        file("html", self.to_html())?;
        if self.comparisons.is_empty() { Ok(()) } else { file("svg", self.to_svg()) }
    }
}
