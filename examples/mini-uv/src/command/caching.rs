//! `cache dir | size | clean | prune | verify`.

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use cas_store::{SweepOptions, SweepReport};
use pep508_rs::PackageName;

use super::Tool;
use crate::cache::Cache;
use crate::cli::{self, Output};
use crate::fault::Advise;
use crate::ui;
use crate::verify::Checked;

pub(super) fn run(tool: &Tool, command: &cli::Cache) -> anyhow::Result<ExitCode> {
    match command {
        cli::Cache::Dir => {
            ui::result(tool.cache_dir()?.display().to_string());
            Ok(ExitCode::SUCCESS)
        }
        cli::Cache::Size { bytes, output } => size(&tool.cache_dir()?, *bytes, *output),
        cli::Cache::Clean { packages } if packages.is_empty() => clean_all(tool),
        cli::Cache::Clean { packages } => clean(tool, packages),
        cli::Cache::Prune => prune(tool),
        cli::Cache::Verify { repair, output } => verify(tool, *repair, *output),
    }
}

fn size(dir: &Path, exact: bool, output: Output) -> anyhow::Result<ExitCode> {
    let usage = usage(dir)?;
    if output.is_json() {
        let (files, bytes) = (usage.files, usage.bytes);
        ui::result(serde_json::json!({"files": files, "bytes": bytes}).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    ui::result(if exact { usage.bytes.to_string() } else { ui::bytes(usage.bytes) });
    Ok(ExitCode::SUCCESS)
}

#[derive(Default)]
struct Usage {
    files: u64,
    bytes: u64,
}

/// Files and bytes below `dir`; a file that environments link to counts once, as here it is whole.
fn usage(dir: &Path) -> anyhow::Result<Usage> {
    let mut usage = Usage::default();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if is_absence(&error) => continue,
            entries => entries.with_context(|| format!("failed to list `{}`", folder.display()))?,
        };
        for entry in entries {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                usage.files += 1;
                usage.bytes += metadata.len();
            }
        }
    }
    Ok(usage)
}

/// True where nothing is, or where a file is in the way of a folder.
fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn clean_all(tool: &Tool) -> anyhow::Result<ExitCode> {
    let dir = tool.cache_dir()?;
    if !dir.exists() {
        tool.ui.status(format!("No cache found at: {}", dir.display()));
        return Ok(ExitCode::SUCCESS);
    }
    tool.ui.status(format!("Clearing cache at: {}", dir.display()));
    let usage = usage(&dir)?;
    for name in crate::cache::own_names(&dir)? {
        let path = dir.join(name);
        if path.is_dir() {
            fs_err::remove_dir_all(path)?;
        } else {
            fs_err::remove_file(path)?;
        }
    }
    tool.ui.status(removed(usage.files, usage.bytes));
    Ok(ExitCode::SUCCESS)
}

fn removed(files: u64, bytes: u64) -> String {
    format!("Removed {} ({})", ui::plural(files, "file"), ui::bytes(bytes))
}

/// Forgets the trees of some packages, then sweeps what only they used.
fn clean(tool: &Tool, packages: &[String]) -> anyhow::Result<ExitCode> {
    let Some(cache) = tool.existing_cache()? else { return Ok(ExitCode::SUCCESS) };
    cache.ensure_writable()?;
    let names = packages
        .iter()
        .map(|text| text.parse().with_context(|| format!("`{text}` is not a package name")))
        .collect::<anyhow::Result<Vec<PackageName>>>()?;
    let forgotten = cache.forget(&names)?;
    tracing::debug!("forgot {forgotten} unpacked wheels");
    let report = sweep(cache)?;
    if forgotten == 0 && report.objects_removed == 0 {
        tool.ui.status("No cache entries found");
    } else {
        tool.ui.status(removed(report.objects_removed, report.bytes_removed));
    }
    Ok(ExitCode::SUCCESS)
}

fn prune(tool: &Tool) -> anyhow::Result<ExitCode> {
    let Some(cache) = tool.existing_cache()? else { return Ok(ExitCode::SUCCESS) };
    cache.ensure_writable()?;
    tool.ui.status(format!("Pruning cache at: {}", cache.dir.display()));
    for key in cache.unfinished()? {
        cache.store.remove_tree(&key)?;
    }
    let report = sweep(cache)?;
    tracing::debug!("{:?}", cache.index.compact()?);
    if report.objects_removed + report.temporaries_removed == 0 {
        tool.ui.status("No unused entries found");
    } else {
        tool.ui.status(removed(report.objects_removed, report.bytes_removed));
    }
    Ok(ExitCode::SUCCESS)
}

/// No grace: an object that an installation is about to use has a second link already.
fn sweep(cache: &Cache) -> anyhow::Result<SweepReport> {
    Ok(cache.store.sweep(SweepOptions::default().grace(Duration::ZERO))?)
}

fn json(checked: &Checked, repair: bool) -> String {
    serde_json::json!({
        "wheels": checked.wheels,
        "files": checked.files,
        "bytes": checked.bytes,
        "damage": checked.damage,
        "repaired": repair,
    })
    .to_string()
}

/// A cache that is not there has no faults.
fn nothing_to_verify(output: Output) -> ExitCode {
    if output.is_json() {
        ui::result(json(&Checked::default(), false));
    }
    ExitCode::SUCCESS
}

/// Reads everything and says what is damaged.
fn verify(tool: &Tool, repair: bool, output: Output) -> anyhow::Result<ExitCode> {
    let Some(cache) = tool.existing_cache()? else { return Ok(nothing_to_verify(output)) };
    if repair {
        cache.ensure_writable()?;
    }
    let started = Instant::now();
    let checked = crate::verify::check(cache, repair)?;
    if output.is_json() {
        ui::result(json(&checked, repair));
    } else {
        checked.damage.iter().for_each(ui::result);
    }
    tool.ui.status(format!(
        "Verified {} ({}) of {} in {:.2}s",
        ui::plural(checked.files, "file"),
        ui::bytes(checked.bytes),
        ui::plural(checked.wheels, "wheel"),
        started.elapsed().as_secs_f64()
    ));
    let faults = ui::plural(checked.damage.len() as u64, "fault");
    if checked.damage.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if repair {
        tool.ui.status(format!("Repaired {faults}; what is missing is fetched again when needed"));
        return Ok(ExitCode::SUCCESS);
    }
    Err(anyhow::anyhow!("the cache has {faults}"))
        .unsatisfied()
        .hint("run `mini-uv cache verify --repair` to remove or heal what is damaged")
}
