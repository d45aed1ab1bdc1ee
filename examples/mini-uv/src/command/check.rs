//! `pip check`: does every installed package find what it needs?

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Instant;

use pep440_rs::Version;
use pep508_rs::{MarkerEnvironment, PackageName, Requirement, VersionOrUrl};

use super::Tool;
use crate::cli::Check;
use crate::installed::{self, Installed};
use crate::ui;

pub(super) fn run(tool: &Tool, options: &Check) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let environment = tool.environment(&options.location)?;
    let packages = installed::scan(&environment.roots)?;
    let problems = problems(&packages, &environment.interpreter.markers);
    tool.ui.done("Checked", packages.len(), started);
    if options.output.is_json() {
        ui::result(json(packages.len(), &problems));
        return Ok(ExitCode::from(u8::from(!problems.is_empty())));
    }
    if problems.is_empty() {
        tool.ui.status("All installed packages are compatible");
        return Ok(ExitCode::SUCCESS);
    }
    let noun = if problems.len() == 1 { "incompatibility" } else { "incompatibilities" };
    tool.ui.status(format!("Found {} {noun}", problems.len()));
    problems.iter().map(|problem| &problem.text).for_each(ui::result);
    Ok(ExitCode::from(1))
}

/// Something that does not fit.
struct Problem {
    package: PackageName,
    text: String,
}

fn json(packages: usize, problems: &[Problem]) -> String {
    let problems: Vec<_> = problems
        .iter()
        .map(|problem| {
            serde_json::json!({"package": problem.package.to_string(), "problem": problem.text})
        })
        .collect();
    serde_json::json!({"packages": packages, "problems": problems}).to_string()
}

/// Everything that does not fit, package by package.
fn problems(packages: &[Installed], markers: &MarkerEnvironment) -> Vec<Problem> {
    let versions: HashMap<&PackageName, &Version> =
        packages.iter().map(|package| (&package.name, &package.version)).collect();
    let mut problems = duplicates(packages);
    for package in packages {
        let texts = problems_of(package, &versions, markers);
        problems
            .extend(texts.into_iter().map(|text| Problem { package: package.name.clone(), text }));
    }
    problems
}

fn duplicates(packages: &[Installed]) -> Vec<Problem> {
    packages
        .windows(2)
        .filter(|pair| pair[0].name == pair[1].name)
        .map(|pair| Problem {
            package: pair[0].name.clone(),
            text: format!(
                "The package `{}` has several installations: {} and {}",
                pair[0].name, pair[0].version, pair[1].version
            ),
        })
        .collect()
}

fn problems_of(
    package: &Installed,
    versions: &HashMap<&PackageName, &Version>,
    markers: &MarkerEnvironment,
) -> Vec<String> {
    let metadata = match package.metadata() {
        Ok(metadata) => metadata,
        Err(error) => return vec![format!("The package `{}` is broken: {error:#}", package.name)],
    };
    let mut problems = Vec::new();
    let python = &markers.python_full_version().version;
    if let Some(wanted) = metadata.requires_python.filter(|wanted| !wanted.contains(python)) {
        problems.push(format!(
            "The package `{}` requires Python {wanted}, but `{python}` is installed",
            package.name
        ));
    }
    let needed =
        metadata.requires.iter().filter(|requirement| requirement.evaluate_markers(markers, &[]));
    problems.extend(needed.filter_map(|requirement| problem(package, requirement, versions)));
    problems
}

fn problem(
    package: &Installed,
    requirement: &Requirement,
    versions: &HashMap<&PackageName, &Version>,
) -> Option<String> {
    let wanted = format!("The package `{}` requires `{requirement}`", package.name);
    let Some(version) = versions.get(&requirement.name) else {
        return Some(format!("{wanted}, but it's not installed"));
    };
    match &requirement.version_or_url {
        Some(VersionOrUrl::VersionSpecifier(specifiers)) if !specifiers.contains(version) => {
            Some(format!("{wanted}, but `{version}` is installed"))
        }
        _ => None,
    }
}
