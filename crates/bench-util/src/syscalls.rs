//! How often a command asks the kernel, and for what.
//!
//! Counts do not depend on the machine's load, so they make a gate where times cannot. Tracing
//! slows a process many times over: a traced run is an extra one and is never timed.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use fs_err as fs;

use crate::error::{Error, Result};
use crate::meter::program_name;

/// System calls by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Syscalls {
    /// How often each was made, by all threads and children.
    pub calls: BTreeMap<String, u64>,
}

impl Syscalls {
    /// All calls together.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    /// How often any of `names` was made.
    pub fn of(&self, names: &[&str]) -> u64 {
        names.iter().filter_map(|name| self.calls.get(*name)).sum()
    }

    fn parse(table: &str) -> Self {
        let line = |line: &str| {
            let (calls, name) = line.trim().split_once(char::is_whitespace)?;
            let name = name.trim();
            (name != "total").then_some((name.to_owned(), calls.parse().ok()?))
        };
        Self { calls: table.lines().filter_map(line).collect() }
    }
}

/// Runs `command` once under `strace` and returns its system calls.
///
/// # Errors
///
/// `is_unavailable` without `strace`; else when the command fails.
pub fn count_syscalls(command: &Command) -> Result<Syscalls> {
    let table = tempfile::NamedTempFile::new()
        .map_err(|error| Error::io("create", &std::env::temp_dir(), error))?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-c", "-U", "calls,name", "-o"]).arg(table.path());
    strace.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        strace.current_dir(folder);
    }
    let output = strace
        .stdin(Stdio::null())
        .output()
        .map_err(|_| Error::unavailable("strace", "install the package `strace`"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Error::command(program_name(command), output.status.to_string(), text));
    }
    let text =
        fs::read_to_string(table.path()).map_err(|error| Error::io("read", table.path(), error))?;
    Ok(Syscalls::parse(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_strace_is_read() {
        let table = "    calls syscall\n--------- ----------------\n       12 openat\n        3 close\n--------- ----------------\n       15 total\n";
        let counts = Syscalls::parse(table);
        assert_eq!(counts.total(), 15);
        assert_eq!(counts.of(&["openat", "unlinkat"]), 12);
    }
}
