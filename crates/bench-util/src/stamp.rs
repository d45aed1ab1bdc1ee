//! Where and how numbers were made: without it a number cannot be read, let alone repeated.
//!
//! Holds no host name, user name or absolute path, so that a report can be published.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The machine, the moment and the command of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stamp {
    /// Seconds since 1970-01-01 UTC.
    pub unix_s: u64,
    /// Operating system and architecture.
    pub system: String,
    /// Kernel version.
    pub kernel: Option<String>,
    /// Processor model.
    pub processor: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory, MiB.
    pub memory_mib: Option<u64>,
    /// Load average of the last minute, at the start.
    pub load: Option<f64>,
    /// Soft limit of open files.
    pub open_files_max: Option<u64>,
    /// Commit of the sources, with `+` when they were changed since.
    pub commit: Option<String>,
    /// Program and arguments; absolute paths are replaced.
    pub command: String,
}

impl Stamp {
    /// Reads the stamp of this process, now.
    pub fn collect() -> Self {
        Self {
            unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            kernel: read("/proc/sys/kernel/osrelease"),
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: field("/proc/meminfo", "MemTotal")
                .and_then(|kib| first_number(&kib))
                .map(|kib| kib / 1024),
            load: load_average(),
            open_files_max: read("/proc/self/limits").as_deref().and_then(open_files),
            commit: commit(),
            command: command_line(std::env::args()),
        }
    }

    /// One line for the head of a report.
    pub fn machine(&self) -> String {
        let unknown = || "unknown".to_owned();
        format!(
            "{}, {} cores, {} MiB, {}, kernel {}, load {}",
            self.processor.clone().unwrap_or_else(unknown),
            self.cores,
            self.memory_mib.map_or_else(unknown, |mib| mib.to_string()),
            self.system,
            self.kernel.clone().unwrap_or_else(unknown),
            self.load.map_or_else(unknown, |load| format!("{load:.1}")),
        )
    }
}

/// Load average of the last minute, where known.
pub(crate) fn load_average() -> Option<f64> {
    read("/proc/loadavg")?.split(' ').next()?.parse().ok()
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim_end().to_owned())
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = read(path)?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

fn open_files(limits: &str) -> Option<u64> {
    first_number(limits.lines().find_map(|line| line.strip_prefix("Max open files"))?)
}

fn commit() -> Option<String> {
    let hash = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { hash } else { format!("{hash}+") })
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Where the report goes is no part of how its numbers were made.
fn command_line(mut arguments: impl Iterator<Item = String>) -> String {
    let program = arguments.next().unwrap_or_default();
    let program =
        Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut shown = vec![program];
    while let Some(argument) = arguments.next() {
        match argument {
            option if option == "--out" => drop(arguments.next()),
            // Not `is_absolute`: on Windows that asks for a drive, and `/home/me` has none.
            path if Path::new(&path).has_root() => shown.push("<path>".to_owned()),
            plain => shown.push(plain),
        }
    }
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_shows_no_absolute_path() {
        let line =
            ["/home/me/bench-index", "--quick", "--out", "/home/x", "--data", "/home/me/data"];
        let line = command_line(line.into_iter().map(str::to_owned));
        assert_eq!(line, "bench-index --quick --data <path>");
    }

    #[test]
    fn the_limit_of_open_files_is_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max open files            1024                 4096                 files\n";
        assert_eq!(open_files(limits), Some(1024));
    }
}
