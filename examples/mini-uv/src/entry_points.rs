//! Reads `entry_points.txt`: which commands a package wants to have.
//!
//! Text in, entries out. A name becomes a file in `bin`, so a name that is a path, or the name of
//! the interpreter itself, is refused here and cannot reach the file system.
//!
//! # References
//!
//! "Entry points specification" of the Python packaging user guide.

use anyhow::{Context, ensure};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryPoint {
    pub(crate) name: String,
    pub(crate) module: String,
    /// The object to call, possibly dotted.
    pub(crate) object: String,
    pub(crate) gui: bool,
}

/// The commands of `[console_scripts]` and `[gui_scripts]`, sorted by name.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<EntryPoint>> {
    let mut gui = None;
    let mut entries = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(section) = section(line) {
            gui = is_gui(section);
        } else if let (Some(gui), false) = (gui, is_blank(line)) {
            entries.push(parse_entry(line, gui).with_context(|| format!("entry point `{line}`"))?);
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

fn is_gui(section: &str) -> Option<bool> {
    match section {
        "console_scripts" => Some(false),
        "gui_scripts" => Some(true),
        _ => None,
    }
}

fn is_blank(line: &str) -> bool {
    line.is_empty() || line.starts_with(['#', ';'])
}

fn parse_entry(line: &str, gui: bool) -> anyhow::Result<EntryPoint> {
    let (name, target) = line.split_once('=').context("it has no `=`")?;
    let (name, target) = (name.trim(), target.trim());
    let target = target.split('[').next().unwrap_or_default().trim();
    let (module, object) = target.split_once(':').context("it names no object to call")?;
    let (module, object) = (module.trim(), object.trim());
    check_name(name)?;
    ensure!(is_dotted(module) && is_dotted(object), "`{target}` is not `module:object`");
    Ok(EntryPoint {
        name: name.to_owned(),
        module: module.to_owned(),
        object: object.to_owned(),
        gui,
    })
}

/// Refuses names that would leave `bin` or replace the interpreter.
pub(crate) fn check_name(name: &str) -> anyhow::Result<()> {
    ensure!(!name.is_empty(), "a script without a name");
    ensure!(
        !name.contains(['/', '\\', '\0', ':']) && name != "." && name != "..",
        "the name `{name}` would be written outside the scripts folder"
    );
    ensure!(!is_reserved(name), "the name `{name}` is reserved for the interpreter");
    Ok(())
}

/// True for `python`, `python3`, `python3.12`, `pythonw` and their `.exe` forms.
fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".exe").unwrap_or(&name);
    stem.strip_prefix("python").is_some_and(|rest| {
        rest.trim_start_matches('w')
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.')
    })
}

/// True for `a.b.c` of identifiers; anything else could be code in the script that is made of it.
fn is_dotted(text: &str) -> bool {
    text.split('.').all(|part| {
        !part.is_empty()
            && !part.starts_with(|first: char| first.is_ascii_digit())
            && part.chars().all(|character| character.is_alphanumeric() || character == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_script_sections_make_commands() {
        let text = "[other]\nx = y:z\n[console_scripts]\n# no\nb=m.n:f.g [extra]\n\n[gui_scripts]\na = m:f\n";
        let entries = parse(text).unwrap();
        assert_eq!(
            entries.iter().map(|entry| (&*entry.name, entry.gui)).collect::<Vec<_>>(),
            [("a", true), ("b", false)]
        );
        assert_eq!((&*entries[1].module, &*entries[1].object), ("m.n", "f.g"));
    }

    #[test]
    fn names_that_escape_or_replace_the_interpreter_are_refused() {
        for name in
            ["../evil", "a/b", "a\\b", "python", "python3", "Python3.12", "pythonw.exe", "..", ""]
        {
            assert!(parse(&format!("[console_scripts]\n{name} = m:f")).is_err(), "{name}");
        }
        assert!(check_name("pythonic").is_ok());
    }

    #[test]
    fn a_target_that_is_code_is_refused() {
        for target in ["m", "m:f();import os", "m m:f", ":f", "m:", "m:1f"] {
            assert!(parse(&format!("[console_scripts]\nx = {target}")).is_err(), "{target}");
        }
    }
}
