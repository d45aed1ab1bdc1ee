//! Extracts into a new folder that appears complete or not at all.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::stage::Stage;
use super::{Sink, SinkError};
use crate::entry::{Done, Entry, Summary};

/// A sink that makes the folder `target`.
///
/// Entries are written below a private folder beside the target, readable by the owner only. `commit`
/// renames the finished tree to `target`; dropping the sink removes it. Files get the mode 0666, or
/// 0777 when executable, minus the process's umask. Nothing else of an archive's metadata is restored.
///
/// # Durability
/// Nothing is synced. After a power loss the target may be missing or hold empty files.
#[derive(Debug)]
pub struct DirectorySink {
    stage: Stage,
    target: PathBuf,
}

impl DirectorySink {
    /// Makes the private folder beside `target`, which must not exist.
    ///
    /// # Errors
    /// `AlreadyExists` when `target` exists; else whatever making a folder returns.
    pub fn create(target: impl Into<PathBuf>) -> io::Result<Self> {
        let target = target.into();
        if target.symlink_metadata().is_ok() {
            return Err(exists(&target));
        }
        Ok(Self { stage: Stage::beside(&target)?, target })
    }
}

fn exists(target: &Path) -> io::Error {
    let text = format!("`{}` exists already", target.display());
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}

impl Sink for DirectorySink {
    type File = File;
    type Committed = PathBuf;

    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError> {
        Ok(self.stage.directory(entry.path())?)
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<File, SinkError> {
        Ok(self.stage.file(entry.path(), entry.executable() == Some(true))?)
    }

    fn chunk(&mut self, file: &mut File, bytes: &[u8]) -> Result<(), SinkError> {
        Ok(file.write_all(bytes)?)
    }

    fn end(&mut self, file: File, _: &Done) -> Result<(), SinkError> {
        drop(file);
        Ok(())
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        if executable {
            self.stage.make_executable(entry.path())?;
        }
        Ok(())
    }

    fn commit(self, _: &Summary) -> Result<PathBuf, SinkError> {
        let Self { stage, target } = self;
        stage.publish(&target)?;
        Ok(target)
    }
}
