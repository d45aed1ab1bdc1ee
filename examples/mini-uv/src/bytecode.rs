//! `--compile-bytecode`: runs Python's own compiler over what was installed.
//!
//! Off by default, as in uv: most of what is installed is never imported. A file that does not compile
//! (a template, code for another version) is no error, as it is none for pip.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use crate::interpreter::Interpreter;
use crate::ui::{self, Ui};

/// Compiles the files whose names come in on stdin, on every core.
const COMPILE: &str = "
import compileall, sys
from concurrent.futures import ProcessPoolExecutor
names = sys.stdin.read().splitlines()
def one(name):
    return compileall.compile_file(name, quiet=2)
with ProcessPoolExecutor() as pool:
    list(pool.map(one, names, chunksize=64))
";

/// Compiles `sources` with `interpreter`.
pub(crate) fn compile(
    interpreter: &Interpreter,
    sources: &[PathBuf],
    ui: Ui,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut child = Command::new(&interpreter.executable)
        .args(["-I", "-c", COMPILE])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("failed to start `{}`", interpreter.executable.display()))?;
    let names: Vec<String> = sources.iter().map(|path| path.display().to_string()).collect();
    child
        .stdin
        .take()
        .context("the compiler takes no input")?
        .write_all(names.join("\n").as_bytes())?;
    ensure!(child.wait()?.success(), "Python failed to compile what was installed");
    ui.status(format!(
        "Bytecode compiled {} in {:.2}s",
        ui::plural(sources.len() as u64, "file"),
        started.elapsed().as_secs_f64()
    ));
    Ok(())
}
