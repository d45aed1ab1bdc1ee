//! `pip list` and `pip freeze`.

use std::process::ExitCode;

use super::Tool;
use crate::cli::{Format, Where};
use crate::installed::{self, Installed};
use crate::ui;

pub(super) fn run(tool: &Tool, location: &Where, format: Format) -> anyhow::Result<ExitCode> {
    let environment = tool.environment(location)?;
    let packages = installed::scan(&environment.roots)?;
    match format {
        Format::Columns => print_columns(&packages),
        Format::Freeze => packages.iter().for_each(|package| {
            ui::result(format!("{}=={}", package.name, package.version));
        }),
        Format::Json => ui::result(json(&packages)),
    }
    Ok(ExitCode::SUCCESS)
}

fn print_columns(packages: &[Installed]) {
    if packages.is_empty() {
        return;
    }
    let rows: Vec<_> = packages
        .iter()
        .map(|package| (package.name.to_string(), package.version.to_string()))
        .collect();
    let names = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max("Package".len());
    let versions =
        rows.iter().map(|(_, version)| version.len()).max().unwrap_or(0).max("Version".len());
    ui::result(format!("{:names$} Version", "Package"));
    ui::result(format!("{} {}", "-".repeat(names), "-".repeat(versions)));
    for (name, version) in rows {
        ui::result(format!("{name:names$} {version}"));
    }
}

fn json(packages: &[Installed]) -> String {
    let entries: Vec<_> = packages
        .iter()
        .map(|package| {
            serde_json::json!({"name": package.name.to_string(), "version": package.version.to_string()})
        })
        .collect();
    serde_json::Value::from(entries).to_string()
}

/// Prints requirements that would install the same packages.
pub(super) fn freeze(tool: &Tool, location: &Where) -> anyhow::Result<ExitCode> {
    let environment = tool.environment(location)?;
    for package in installed::scan(&environment.roots)? {
        match package.direct_url() {
            Some(url) if package.is_editable() => ui::result(format!("-e {url}")),
            Some(url) => ui::result(format!("{} @ {url}", package.name)),
            None => ui::result(format!("{}=={}", package.name, package.version)),
        }
    }
    Ok(ExitCode::SUCCESS)
}
