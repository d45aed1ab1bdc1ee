//! The comparisons: each command by both programs from the same lock file.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context as _, Result, bail};

use crate::projects::Project;

/// What [`Outcome::cells`] means.
pub(crate) const HEAD: [&str; 7] =
    ["packages", "generate", "accepted", "workspace", "update", "-p", "--precise"];

/// How one project went.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) project: String,
    pub(crate) differences: Vec<String>,
    packages: usize,
    generate: Tally,
    accepted: Tally,
    workspace: Tally,
    update: Tally,
    package: Tally,
    precise: Tally,
}

/// How many were equal.
#[derive(Default)]
struct Tally {
    equal: usize,
    all: usize,
}

impl Tally {
    fn cell(&self) -> String {
        if self.all == 0 { "-".to_owned() } else { format!("{}/{}", self.equal, self.all) }
    }
}

impl Outcome {
    pub(crate) fn cells(&self) -> [String; 7] {
        let tallies = [
            &self.generate,
            &self.accepted,
            &self.workspace,
            &self.update,
            &self.package,
            &self.precise,
        ];
        let mut cells = [const { String::new() }; 7];
        cells[0] = self.packages.to_string();
        for (cell, tally) in cells[1..].iter_mut().zip(tallies) {
            *cell = tally.cell();
        }
        cells
    }
}

/// Everything for one project.
pub(crate) fn check(project: &Project, updates: usize) -> Result<Outcome> {
    let mut outcome = Outcome { project: project.name.clone(), ..Outcome::default() };
    let came_with = project.lock()?;
    if project.online {
        project.put(None)?;
        project.programs.cargo_online(&project.dir, &["generate-lockfile"])?;
    }
    let newest = outcome.compare(project, &["generate-lockfile"], None, |o| &mut o.generate)?;
    let newest = newest.context("cargo wrote no lock file")?;
    outcome.packages = newest.matches("[[package]]").count();
    outcome.take_unchanged(project, &newest)?;
    let Some(came_with) = came_with else { return Ok(outcome) };
    let start = Some(came_with.as_str());
    let synced =
        outcome.compare(project, &["update", "--workspace"], start, |o| &mut o.workspace)?;
    outcome.compare(project, &["update"], start, |o| &mut o.update)?;
    let synced = synced.context("cargo left no lock file")?;
    for (name, version) in chosen(&synced, updates) {
        outcome.update_one(project, &name, &version, &synced)?;
    }
    Ok(outcome)
}

impl Outcome {
    /// Runs `arguments` with both programs from `start`; gives cargo's lock.
    fn compare(
        &mut self,
        project: &Project,
        arguments: &[&str],
        start: Option<&str>,
        tally: fn(&mut Self) -> &mut Tally,
    ) -> Result<Option<String>> {
        project.put(start)?;
        let theirs = project.programs.cargo(&project.dir, arguments)?;
        let their_lock = project.lock()?;
        project.put(start)?;
        let ours = project.programs.mini(&project.dir, arguments)?;
        let our_lock = project.lock()?;
        let equal = their_lock == our_lock && theirs.status.code() == ours.status.code();
        tally(self).all += 1;
        tally(self).equal += usize::from(equal);
        if !equal {
            let locks = (their_lock.as_deref(), our_lock.as_deref());
            self.differences.push(difference(arguments, locks, &theirs, &ours));
        }
        Ok(their_lock)
    }

    /// Real cargo must keep our lock as it is; `compare` left it in place.
    fn take_unchanged(&mut self, project: &Project, newest: &str) -> Result<()> {
        let arguments = ["update", "--workspace", "--offline", "--locked"];
        let ran = project.programs.cargo(&project.dir, &arguments)?;
        let taken = ran.status.success() && project.lock()?.as_deref() == Some(newest);
        self.accepted.all += 1;
        self.accepted.equal += usize::from(taken);
        if !taken {
            let text = String::from_utf8_lossy(&ran.stderr).into_owned();
            self.differences.push(format!("  cargo does not take our lock:\n{text}"));
        }
        Ok(())
    }

    fn update_one(
        &mut self,
        project: &Project,
        name: &str,
        version: &str,
        start: &str,
    ) -> Result<()> {
        let spec = format!("{name}@{version}");
        let start = Some(start);
        self.compare(project, &["update", "-p", &spec], start, |o| &mut o.package)?;
        let current = semver::Version::parse(version)?;
        let versions = project.programs.versions(name)?;
        let Some(lower) = versions.iter().rfind(|version| **version < current) else {
            return Ok(());
        };
        let lower = lower.to_string();
        let arguments = ["update", "-p", &spec, "--precise", &lower];
        self.compare(project, &arguments, start, |o| &mut o.precise)?;
        Ok(())
    }
}

impl Project {
    fn path(&self) -> PathBuf {
        self.dir.join("Cargo.lock")
    }

    fn lock(&self) -> Result<Option<String>> {
        match fs::read_to_string(self.path()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).context("failed to read Cargo.lock"),
        }
    }

    fn put(&self, lock: Option<&str>) -> Result<()> {
        if let Some(text) = lock {
            return fs::write(self.path(), text).context("failed to write Cargo.lock");
        }
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => bail!(error),
            _ => Ok(()),
        }
    }
}

/// Registry packages at even distances, so that a rerun takes the same ones.
fn chosen(lock: &str, count: usize) -> Vec<(String, String)> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").filter(|block| block.contains("\nsource = "));
    let all: Vec<_> = packages
        .filter_map(|block| Some((value(block, "name")?, value(block, "version")?)))
        .collect();
    let step = all.len().div_ceil(count.max(1)).max(1);
    all.into_iter().step_by(step).take(count).collect()
}

fn difference(
    arguments: &[&str],
    (theirs, ours): (Option<&str>, Option<&str>),
    cargo: &Output,
    mini: &Output,
) -> String {
    let mut text = format!(
        "  {}: exit codes {:?} (cargo) and {:?}\n",
        arguments.join(" "),
        cargo.status.code(),
        mini.status.code()
    );
    let (theirs, ours) = (theirs.unwrap_or_default(), ours.unwrap_or_default());
    let only = |from: &str, other: &str, mark: &str| -> String {
        let known: std::collections::HashSet<_> = other.lines().collect();
        let lines = from.lines().filter(|line| !known.contains(line)).take(8);
        lines.flat_map(|line| ["    ", mark, " ", line, "\n"]).collect()
    };
    text += &only(theirs, ours, "cargo only:");
    text += &only(ours, theirs, "ours only: ");
    for (name, output) in [("cargo", cargo), ("mini-cargo", mini)] {
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.trim().replace('\n', "\n      ");
            text.extend(["    ", name, " says: ", &said, "\n"]);
        }
    }
    text
}
