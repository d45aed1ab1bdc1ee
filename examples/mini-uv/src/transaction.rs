//! Changes an environment all or not at all.
//!
//! Packages are prepared in a private stage folder inside the environment, then moved into place;
//! what they replace is moved into the stage first. Each move is written to a journal before it is
//! done. An error, a panic or the death of the process undoes the journal backwards: at once, or by
//! the next process that takes the environment's lock. When the last move is done the journal is
//! renamed, and from then on only the stage is left to delete.
//!
//! # Durability
//!
//! The journal is not synced: after a power failure the environment is as durable as what the
//! kernel had written, which is what pip and uv give. Against the death of the process it is exact.
//!
//! ```text
//! site-packages/.mini-uv-stage/
//!     journal     one JSON line per change, written before the change
//!     done        the journal, once everything is in place
//!     new/N       packages being prepared
//!     old/N       files that were replaced or removed
//! ```

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use crate::fault::Advise;

const STAGE: &str = ".mini-uv-stage";
const JOURNAL: &str = "journal";
const DONE: &str = "done";

/// One change, with what it takes to undo it.
#[derive(Debug, Serialize, Deserialize)]
enum Step {
    Moved { from: PathBuf, to: PathBuf },
    Made(PathBuf),
    Removed(PathBuf),
}

/// The steps so far, each on disk before it is done.
#[derive(Debug)]
struct Journal {
    file: fs::File,
    /// Where each step's line starts.
    steps: Vec<(u64, Step)>,
    bytes: u64,
}

impl Journal {
    fn create(path: PathBuf) -> anyhow::Result<Self> {
        Ok(Self { file: fs::File::create(path)?, steps: Vec::new(), bytes: 0 })
    }

    /// Reads the lines that were written whole; a torn last line was never acted upon.
    fn open(path: PathBuf) -> anyhow::Result<Self> {
        let text = fs::read(&path)?;
        let mut journal = Self {
            file: fs::OpenOptions::new().write(true).open(path)?,
            steps: Vec::new(),
            bytes: 0,
        };
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Ok(step) = serde_json::from_slice(line) else { break };
            journal.steps.push((journal.bytes, step));
            journal.bytes += line.len() as u64;
        }
        Ok(journal)
    }

    fn log(&mut self, step: Step) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&step)?;
        line.push(b'\n');
        self.file.write_all(&line).context("failed to write the journal")?;
        self.steps.push((self.bytes, step));
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Undoes every step, last first.
    ///
    /// Each undone step leaves the journal at once: undoing it twice, after the steps before it have
    /// been undone too, could take a restored file for a half-made copy.
    fn undo(&mut self) -> anyhow::Result<()> {
        while let Some((start, step)) = self.steps.last() {
            undo_step(step)?;
            self.file.set_len(*start)?;
            self.steps.pop();
        }
        Ok(())
    }
}

/// An unfinished change of an environment. Dropping it undoes everything.
#[derive(Debug)]
pub(crate) struct Transaction {
    stage: PathBuf,
    journal: Journal,
    prepared: usize,
    replaced: usize,
    committed: bool,
}

impl Transaction {
    /// Starts a change of the packages in `site`, whose lock the caller holds.
    ///
    /// What an interrupted process left behind is undone first.
    pub(crate) fn begin(site: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(site)?;
        recover(site)?;
        let stage = site.join(STAGE);
        fs::create_dir(&stage)?;
        fs::create_dir(stage.join("new"))?;
        fs::create_dir(stage.join("old"))?;
        let journal = Journal::create(stage.join(JOURNAL))?;
        Ok(Self { stage, journal, prepared: 0, replaced: 0, committed: false })
    }

    /// An empty private folder for one package.
    pub(crate) fn prepare(&mut self) -> anyhow::Result<PathBuf> {
        let dir = self.stage.join("new").join(self.prepared.to_string());
        fs::create_dir(&dir)?;
        self.prepared += 1;
        Ok(dir)
    }

    /// Takes `path` out of the environment; a path that is not there is no error.
    pub(crate) fn remove(&mut self, path: &Path) -> anyhow::Result<()> {
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        let backup = self.stage.join("old").join(self.replaced.to_string());
        self.replaced += 1;
        self.relocate(path, &backup)
    }

    /// Removes `dir` when it is empty; true when it was.
    pub(crate) fn remove_empty(&mut self, dir: &Path) -> anyhow::Result<bool> {
        if !is_empty(dir) {
            return Ok(false);
        }
        self.journal.log(Step::Removed(dir.to_owned()))?;
        fs::remove_dir(dir)?;
        Ok(true)
    }

    /// Moves `from` to `to`: a folder that is already there is merged, a file is replaced.
    ///
    /// A folder never replaces a file, nor a file a folder: something else is there, which would be
    /// destroyed, whole packages even.
    pub(crate) fn place(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        if from.symlink_metadata()?.is_dir() {
            self.place_dir(from, to)
        } else {
            self.place_file(from, to)
        }
    }

    fn place_dir(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        match to.symlink_metadata() {
            Err(_) if self.try_relocate(from, to)? => return Ok(()),
            Err(_) => self.make_dir(to)?,
            Ok(existing) if !existing.is_dir() && !to.is_dir() => return Err(conflict(to, "file")),
            Ok(_) => {}
        }
        for child in children(from)? {
            let name = child.file_name().unwrap_or_default().to_owned();
            self.place(&child, &to.join(name))?;
        }
        Ok(())
    }

    fn place_file(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        if to.symlink_metadata().is_ok_and(|existing| existing.is_dir()) {
            return Err(conflict(to, "folder"));
        }
        self.remove(to)?;
        self.relocate(from, to)
    }

    /// Makes `dir` and the folders above it that are missing.
    pub(crate) fn make_dirs(&mut self, dir: &Path) -> anyhow::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        if let Some(parent) = dir.parent() {
            self.make_dirs(parent)?;
        }
        self.make_dir(dir)
    }

    fn make_dir(&mut self, dir: &Path) -> anyhow::Result<()> {
        self.journal.log(Step::Made(dir.to_owned()))?;
        Ok(fs::create_dir(dir)?)
    }

    fn relocate(&mut self, from: &Path, to: &Path) -> anyhow::Result<()> {
        if !self.try_relocate(from, to)? {
            copy_over(from, to)?;
        }
        Ok(())
    }

    /// Renames; false when the two places are on different file systems.
    fn try_relocate(&mut self, from: &Path, to: &Path) -> anyhow::Result<bool> {
        self.journal.log(Step::Moved { from: from.to_owned(), to: to.to_owned() })?;
        match fs::rename(from, to) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::CrossesDevices => Ok(false),
            Err(error) => Err(error).context("failed to move a file of the environment"),
        }
    }

    /// Keeps what was done. From here on nothing can fail that would need to be undone.
    pub(crate) fn commit(mut self) -> anyhow::Result<()> {
        fs::rename(self.stage.join(JOURNAL), self.stage.join(DONE))?;
        self.committed = true;
        // What is left here is deleted by the next process at the latest.
        fs::remove_dir_all(&self.stage).unwrap_or(());
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.committed && self.journal.undo().is_ok() {
            // A stage that cannot be deleted now is undone again, without effect, by the next process.
            fs::remove_dir_all(&self.stage).unwrap_or(());
        }
    }
}

/// What a package brings cannot be put where something of another kind is.
fn conflict(path: &Path, kind: &str) -> anyhow::Error {
    let found = anyhow::anyhow!("`{}` is a {kind} that something else put there", path.display());
    let result: anyhow::Result<()> = Err(found);
    let hint =
        "these packages cannot be in one environment: leave one out, or remove what is there";
    result.hint(hint).err().unwrap_or_else(|| anyhow::anyhow!("a conflict"))
}

/// Undoes or finishes what an interrupted process left in `site`.
pub(crate) fn recover(site: &Path) -> anyhow::Result<()> {
    let stage = site.join(STAGE);
    if stage.symlink_metadata().is_err() {
        return Ok(());
    }
    let journal = stage.join(JOURNAL);
    if exists(&journal) {
        Journal::open(journal)?.undo().context("failed to undo an interrupted installation")?;
    }
    Ok(fs::remove_dir_all(&stage)?)
}

/// Undoes one step; a step that was logged but not done is left alone.
fn undo_step(step: &Step) -> anyhow::Result<()> {
    match step {
        Step::Moved { from, to } if exists(to) && !exists(from) => {
            if let Err(error) = fs::rename(to, from) {
                if error.kind() != ErrorKind::CrossesDevices {
                    return Err(error.into());
                }
                copy_over(to, from)?;
            }
            Ok(())
        }
        // A copy between file systems that was interrupted: the original is still there.
        Step::Moved { from, to } if exists(to) && exists(from) && to.is_file() => {
            Ok(fs::remove_file(to)?)
        }
        Step::Made(dir) if is_empty(dir) => Ok(fs::remove_dir(dir)?),
        Step::Moved { .. } | Step::Made(_) => Ok(()),
        Step::Removed(dir) => Ok(fs::create_dir_all(dir)?),
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
}

fn children(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}

/// Moves a file to another file system: the original goes only when the copy is complete.
fn copy_over(from: &Path, to: &Path) -> anyhow::Result<()> {
    let metadata = fs::symlink_metadata(from)?;
    anyhow::ensure!(metadata.is_file(), "`{}` is no file to copy", from.display());
    fs::copy(from, to)?;
    Ok(fs::remove_file(from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Every file below `dir` with its content; folders with none.
    fn picture(dir: &Path) -> BTreeMap<PathBuf, Option<String>> {
        let mut seen = BTreeMap::new();
        for path in children(dir).unwrap() {
            if path.is_dir() {
                seen.extend(picture(&path));
                seen.insert(path, None);
            } else {
                let text = std::fs::read_to_string(&path).unwrap();
                seen.insert(path, Some(text));
            }
        }
        seen
    }

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// An environment with a namespace folder and a package that is about to be replaced.
    fn environment() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        write(&dir.path().join("ns/a.py"), "old a");
        write(&dir.path().join("pkg/old.py"), "old");
        write(&dir.path().join("plain"), "a file");
        dir
    }

    /// Does every kind of step; `after` is called before the commit.
    fn change(site: &Path) -> anyhow::Result<Transaction> {
        let mut transaction = Transaction::begin(site)?;
        let new = transaction.prepare()?;
        write(&new.join("ns/b.py"), "new b");
        write(&new.join("ns/a.py"), "new a");
        write(&new.join("fresh/x.py"), "x");
        write(&new.join("plain"), "another file");
        transaction.remove(&site.join("pkg/old.py"))?;
        assert!(transaction.remove_empty(&site.join("pkg"))?);
        for top in children(&new)? {
            transaction.place(&top, &site.join(top.file_name().unwrap()))?;
        }
        transaction.make_dirs(&site.join("deep/er"))?;
        Ok(transaction)
    }

    #[test]
    fn a_committed_change_merges_folders_and_leaves_no_stage() {
        let dir = environment();
        change(dir.path()).unwrap().commit().unwrap();
        let read = |path: &str| std::fs::read_to_string(dir.path().join(path)).unwrap();
        assert_eq!(read("ns/a.py"), "new a");
        assert_eq!(read("ns/b.py"), "new b");
        assert_eq!(read("fresh/x.py"), "x");
        assert_eq!(read("plain"), "another file");
        assert!(!dir.path().join("pkg").exists() && !dir.path().join(STAGE).exists());
    }

    #[test]
    fn a_dropped_change_leaves_the_environment_as_it_was() {
        let dir = environment();
        let before = picture(dir.path());
        drop(change(dir.path()).unwrap());
        assert_eq!(picture(dir.path()), before);
    }

    /// The process dies after each step, and in the middle of writing one: the next one repairs.
    #[test]
    fn death_at_any_step_is_undone_by_the_next_process() {
        let full = {
            let dir = environment();
            let transaction = change(dir.path()).unwrap();
            transaction.journal.steps.len()
        };
        assert!(full > 8, "{full}");
        for survived in 0..=full {
            let dir = environment();
            let before = picture(dir.path());
            let mut transaction = change(dir.path()).unwrap();
            // Undo what was not reached, as if it had never happened, then lose the process.
            let mut reached: Vec<_> = transaction.journal.steps.drain(..survived).collect();
            transaction.journal.undo().unwrap();
            transaction.journal.steps.append(&mut reached);
            transaction.journal.file.write_all(b"{\"Mov").unwrap();
            transaction.committed = true;
            drop(transaction);
            recover(dir.path()).unwrap();
            assert_eq!(picture(dir.path()), before, "after {survived} steps");
        }
    }

    #[test]
    fn death_after_the_commit_keeps_the_new_state() {
        let dir = environment();
        let mut transaction = change(dir.path()).unwrap();
        fs::rename(transaction.stage.join(JOURNAL), transaction.stage.join(DONE)).unwrap();
        transaction.committed = true;
        drop(transaction);
        recover(dir.path()).unwrap();
        assert!(dir.path().join("fresh/x.py").exists() && !dir.path().join(STAGE).exists());
    }
}
