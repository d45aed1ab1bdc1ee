//! The report as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use super::units::{ratio, show, suffix};
use super::{LEGEND, Report, Table};
use crate::comparison::{Comparison, Row};

const HEAD: &str = "| case | reference | this case | ratio | 95 % interval | goal | verdict |\n\
                    | --- | ---: | ---: | ---: | :---: | --- | --- |\n";

/// Writing to a `String` cannot fail, so the results of `writeln!` are not looked at.
pub(super) fn write(report: &Report) -> String {
    let mut text = format!("# {}\n\n{}\n\n", report.name, report.question);
    let _ = writeln!(text, "* Machine: {}", report.stamp.machine());
    let _ = writeln!(text, "* Command: `{}`", report.stamp.command);
    if let Some(commit) = &report.stamp.commit {
        let _ = writeln!(text, "* Commit: {commit}");
    }
    let _ = writeln!(text, "\n{LEGEND}");
    for comparison in &report.comparisons {
        text.push_str(&one(comparison));
    }
    for table in &report.tables {
        text.push_str(&plain(table));
    }
    text.push_str(&absent(report));
    for note in &report.notes {
        let _ = writeln!(text, "\n> {note}");
    }
    text
}

fn one(comparison: &Comparison) -> String {
    let mut text = format!("\n## {}\n\n{HEAD}", comparison.name);
    for row in &comparison.rows {
        text.push_str(&line(row));
    }
    let _ = writeln!(text, "\n{}", footing(comparison));
    for note in &comparison.notes {
        let _ = writeln!(text, "{note}");
    }
    text
}

fn line(row: &Row) -> String {
    format!(
        "| {}{} | {} {} | {} | {} | {} | {} | {} |\n",
        cell(&row.case),
        suffix(&row.metric),
        cell(&row.reference),
        show(row.reference_median, &row.metric),
        show(row.median, &row.metric),
        ratio(row.ratio.median),
        interval(row),
        row.goal.map_or_else(String::new, |goal| goal.to_string()),
        row.outcome(),
    )
}

pub(super) fn interval(row: &Row) -> String {
    if row.ratio.is_exact() {
        return "exact".to_owned();
    }
    format!("{} to {}", ratio(row.ratio.low), ratio(row.ratio.high))
}

/// How the numbers came to be.
pub(super) fn footing(comparison: &Comparison) -> String {
    if comparison.rounds.is_empty() {
        return format!("{}.", capital(&comparison.stopped.to_string()));
    }
    let mut text = format!(
        "{} rounds of all cases in shuffled order (seed {}); {}.",
        comparison.rounds.len(),
        comparison.seed,
        comparison.stopped
    );
    let disturbed = comparison.disturbed_rounds();
    if disturbed > 0 {
        let _ = write!(text, " The machine's load moved during {disturbed} of them.");
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn plain(table: &Table) -> String {
    let row = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "))
    };
    let mut text = format!("\n## {}\n\n{}", table.name, row(&table.head));
    let _ = writeln!(text, "|{}", " --- |".repeat(table.head.len()));
    text.extend(table.rows.iter().map(|cells| row(cells)));
    text
}

fn absent(report: &Report) -> String {
    if report.missing.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\n## Not measured\n\n| what | why | how to get it |\n| --- | --- | --- |\n");
    for missing in &report.missing {
        let (what, why) = (cell(&missing.what), cell(&missing.why));
        let _ = writeln!(text, "| {what} | {why} | {} |", cell(&missing.remedy));
    }
    text
}

/// A bar or a line break would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}
