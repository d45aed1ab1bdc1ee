//! `venv DIR`.

use std::process::ExitCode;

use super::Tool;
use crate::cli::Venv;
use crate::interpreter;
use crate::venv::{self, Options};

pub(super) fn run(tool: &Tool, options: &Venv) -> anyhow::Result<ExitCode> {
    let executable = match &options.python {
        Some(request) => interpreter::locate(request)?,
        None => interpreter::default()?,
    };
    let base = tool.interpreter(&executable)?;
    let implementation = base.markers.platform_python_implementation();
    let version = base.full_version();
    tool.ui.status(format!(
        "Using {implementation} {version} interpreter at: {}",
        base.base_executable.display()
    ));
    tool.ui.status(format!("Creating virtual environment at: {}", options.dir.display()));
    let chosen = Options {
        prompt: options.prompt.clone(),
        system_site_packages: options.system_site_packages,
        clear: options.clear,
        allow_existing: options.allow_existing,
    };
    let made = venv::create(&options.dir, &base, &chosen)?;
    if made.is_copy {
        tool.ui.status("The interpreter is a copy: it stays as it is when the base one is updated");
    }
    tool.ui.status(format!("Activate with: source {}", activation(&options.dir)));
    tracing::debug!("created `{}`", made.dir.display());
    Ok(ExitCode::SUCCESS)
}

fn activation(dir: &std::path::Path) -> String {
    dir.join(venv::bin()).join("activate").display().to_string()
}
