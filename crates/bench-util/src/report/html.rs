//! The report as one page without scripts: pictures in SVG, tables that unfold on a phone.

use std::fmt::Write as _;

use super::svg::{self, escaped};
use super::units::{ratio, show, suffix};
use super::{LEGEND, Report, Table, markdown};
use crate::comparison::{Comparison, Row};
use crate::goal::Verdict;

const STYLE: &str = "\
body{margin:0 auto;max-width:60rem;padding:1rem;background:var(--paper);color:var(--ink);\
font:16px/1.5 system-ui,sans-serif}\
h1{margin:.2em 0}h2{margin:2.2em 0 .4em;border-top:1px solid var(--line);padding-top:1em}\
p.faint{color:var(--faint);font-size:.9rem}dl{display:grid;grid-template-columns:auto 1fr;gap:.1em 1em;font-size:.9rem}\
dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}\
svg{display:block;width:100%;max-width:36rem;margin:.5em 0}\
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}\
th,td{padding:.35em .6em;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}\
th{color:var(--faint);font-weight:500}\
.verdict{font-weight:600}.verdict.met{color:var(--good)}.verdict.missed{color:var(--bad)}\
.verdict.inconclusive{color:var(--doubt)}\
.sum span{display:inline-block;margin:0 1em .3em 0}blockquote{margin:1em 0;padding:.1em 1em;\
background:var(--wash);border-left:3px solid var(--line)}\
nav{columns:16rem;font-size:.9rem}nav a{display:block;break-inside:avoid}a{color:var(--plain)}\
@media(max-width:44rem){table,tbody,tr,td{display:block}thead{display:none}tr{padding:.6em 0;border-bottom:1px solid var(--line)}\
td{border:0;padding:.1em 0;display:grid;grid-template-columns:7.5rem 1fr}td::before{content:attr(data-head);color:var(--faint)}td:has(span:empty){display:none}}";

const HEAD: [&str; 7] =
    ["case", "reference", "this case", "ratio", "95 % interval", "goal", "verdict"];

/// Writing to a `String` cannot fail, so the results of `write!` are not looked at.
pub(super) fn write(report: &Report) -> String {
    let title = escaped(&report.name);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{}{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p>{}</p>\n",
        svg::STYLE,
        escaped(&report.question),
    );
    page.push_str(&summary(report));
    page.push_str(&stamp(report));
    page.push_str(&contents(report));
    for (at, comparison) in report.comparisons.iter().enumerate() {
        page.push_str(&section(at, comparison));
    }
    for curve in &report.curves {
        let _ = writeln!(page, "<h2>{}</h2>{}", escaped(&curve.name), svg::curve(curve));
    }
    for plain in &report.tables {
        let head: Vec<&str> = plain.head.iter().map(String::as_str).collect();
        let _ = writeln!(page, "<h2>{}</h2>{}", escaped(&plain.name), table(&head, &cells(plain)));
    }
    page.push_str(&absent(report));
    for note in &report.notes {
        let _ = writeln!(page, "<blockquote><p>{}</p></blockquote>", escaped(note));
    }
    page + "</body></html>\n"
}

/// How many goals are met, in words and colour.
fn summary(report: &Report) -> String {
    let verdicts: Vec<Verdict> = report
        .comparisons
        .iter()
        .flat_map(|comparison| &comparison.rows)
        .filter_map(|row| row.verdict)
        .collect();
    let part = |verdict: Verdict| {
        let count = verdicts.iter().filter(|one| **one == verdict).count();
        format!("<span class=\"verdict {verdict}\">{count} {verdict}</span>")
    };
    let parts = [Verdict::Met, Verdict::Missed, Verdict::Inconclusive].map(part).concat();
    format!(
        "<p class=\"sum\">Goals: {parts}<span>{} not measured</span></p>\n\
         <p class=\"faint\">{LEGEND} The bar is the 95 % interval, the mark its median, the \
         upright stroke the goal.</p>\n",
        report.missing.len(),
    )
}

fn stamp(report: &Report) -> String {
    let commit = report.stamp.commit.as_deref().unwrap_or("unknown");
    format!(
        "<dl><dt>Machine</dt><dd>{}</dd><dt>Command</dt><dd><code>{}</code></dd>\
         <dt>Commit</dt><dd>{}</dd></dl>\n",
        escaped(&report.stamp.machine()),
        escaped(&report.stamp.command),
        escaped(commit),
    )
}

fn contents(report: &Report) -> String {
    if report.comparisons.len() < 4 {
        return String::new();
    }
    let link = |(at, comparison): (usize, &Comparison)| {
        format!("<a href=\"#c{at}\">{}</a>", escaped(&comparison.name))
    };
    format!("<nav>{}</nav>\n", report.comparisons.iter().enumerate().map(link).collect::<String>())
}

fn section(at: usize, comparison: &Comparison) -> String {
    let rows: Vec<Vec<String>> = comparison.rows.iter().map(row).collect();
    let mut part = format!(
        "<h2 id=\"c{at}\">{}</h2>\n{}\n{}<p class=\"faint\">{}</p>\n",
        escaped(&comparison.name),
        svg::ratios(&[svg::lanes("", comparison)]),
        table(&HEAD, &rows),
        escaped(&markdown::footing(comparison)),
    );
    for note in &comparison.notes {
        let _ = writeln!(part, "<p class=\"faint\">{}</p>", escaped(note));
    }
    part
}

fn row(row: &Row) -> Vec<String> {
    let class = row.verdict.map_or_else(String::new, |verdict| verdict.to_string());
    vec![
        escaped(&format!("{}{}", row.case, suffix(&row.metric))),
        format!("{} {}", escaped(&row.reference), whole(&show(row.reference_median, &row.metric))),
        whole(&show(row.median, &row.metric)),
        ratio(row.ratio.median),
        whole(&markdown::interval(row)),
        row.goal.map_or_else(String::new, |goal| bound(&goal.to_string())),
        format!("<span class=\"verdict {class}\">{}</span>", row.outcome()),
    ]
}

/// A sign is not parted from its number; the words of a longer goal may be.
fn bound(goal: &str) -> String {
    goal.rsplit_once(' ').map_or_else(
        || escaped(goal),
        |(words, number)| {
            let (words, sign) = words.rsplit_once(' ').unwrap_or(("", words));
            format!("{} {}&nbsp;{}", escaped(words), escaped(sign), escaped(number))
        },
    )
}

/// A number is not parted from its unit.
fn whole(number: &str) -> String {
    escaped(number).replace(' ', "&nbsp;")
}

fn cells(table: &Table) -> Vec<Vec<String>> {
    table.rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()).collect()
}

/// The cells are markup already; each repeats its head for narrow screens.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = String::from("<table><thead><tr>");
    for name in head {
        let _ = write!(text, "<th>{}</th>", escaped(name));
    }
    text.push_str("</tr></thead><tbody>");
    for row in rows {
        text.push_str("<tr>");
        for (name, cell) in head.iter().zip(row) {
            let _ = write!(text, "<td data-head=\"{}\"><span>{cell}</span></td>", escaped(name));
        }
        text.push_str("</tr>");
    }
    text + "</tbody></table>\n"
}

fn absent(report: &Report) -> String {
    if report.missing.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = report
        .missing
        .iter()
        .map(|one| [&one.what, &one.why, &one.remedy].map(|text| escaped(text)).to_vec())
        .collect();
    format!("<h2>Not measured</h2>\n{}", table(&["what", "why", "how to get it"], &rows))
}
