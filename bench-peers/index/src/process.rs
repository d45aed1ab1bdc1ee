//! The part of a comparison that runs in a process of its own.

use crate::data::Crate;
use crate::rows::touch;
use crate::stores::{self, Outcome};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The first argument of such a process.
pub const WORD: &str = "lookup";

/// The command that opens `store`, looks up what `list` names, and exits.
pub fn command(store: &str, task: &str, folder: &Path, list: &Path) -> Outcome<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([WORD, store, task]).arg(folder).arg(list);
    Ok(command)
}

/// Writes names and versions, one crate in a line.
pub fn write_list(path: &Path, crates: &[&Crate]) -> Outcome<()> {
    let lines: String =
        crates.iter().map(|one| format!("{} {}\n", one.name, one.version)).collect();
    Ok(fs::write(path, lines)?)
}

/// Does the work of [`command`].
pub fn run(arguments: &[String]) -> Outcome<()> {
    let [store, task, folder, list] = arguments else { return Err("four arguments".into()) };
    let store = stores::all().into_iter().find(|one| one.name() == store).ok_or("no such store")?;
    let list = fs::read_to_string(list)?;
    let mut reader = store.open(Path::new(folder))?;
    for line in list.lines() {
        let (name, version) = line.split_once(' ').ok_or("two words in a line")?;
        match task.as_str() {
            "whole" => reader.whole(name, &mut touch)?,
            _ => reader.version(name, version, &mut touch)?,
        }
    }
    Ok(())
}
