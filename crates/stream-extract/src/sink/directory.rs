//! Extracts into a new folder that appears complete or not at all.

use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::closing::Closer;
use super::stage::{Stage, Tree};
use super::{ParallelSink, Sink, SinkError};
use crate::entry::{Done, Entry, Link, Summary};

/// A sink that makes the folder `target`.
///
/// Entries are written below a private folder beside the target, readable by the owner only. `commit`
/// renames the finished tree to `target`; dropping the sink removes it. Files get the mode 0666, or
/// 0777 when executable, minus the process's umask. Nothing else of an archive's metadata is restored.
///
/// # Durability
/// Nothing is synced. After a power loss the target may be missing or hold empty files.
pub struct DirectorySink<'a> {
    stage: Stage,
    target: PathBuf,
    closer: Option<&'a dyn Closer>,
}

/// A file that is being written.
#[derive(Debug)]
pub struct DirectoryFile {
    file: File,
    /// Path and executable bit, kept only for a closer.
    closing: Option<(String, bool)>,
}

impl<'a> DirectorySink<'a> {
    /// Makes the private folder beside `target`, which must not exist.
    ///
    /// # Errors
    /// `AlreadyExists` when `target` exists; else whatever making a folder returns.
    pub fn create(target: impl Into<PathBuf>) -> io::Result<Self> {
        let target = target.into();
        if target.symlink_metadata().is_ok() {
            return Err(exists(&target));
        }
        Ok(Self { stage: Stage::beside(&target)?, target, closer: None })
    }

    /// Hands finished files to `closer` instead of closing them at once.
    #[must_use]
    pub fn closing_with(self, closer: &'a dyn Closer) -> Self {
        Self { closer: Some(closer), ..self }
    }
}

fn exists(target: &Path) -> io::Error {
    let text = format!("`{}` exists already", target.display());
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}

fn begin(
    tree: &mut Tree,
    closer: Option<&dyn Closer>,
    entry: &Entry<'_>,
) -> Result<DirectoryFile, SinkError> {
    let executable = entry.executable() == Some(true);
    let file = tree.file(entry.path(), executable)?;
    Ok(DirectoryFile { file, closing: closer.map(|_| (entry.path().to_owned(), executable)) })
}

fn end(closer: Option<&dyn Closer>, file: DirectoryFile) -> Result<(), SinkError> {
    match (closer, file.closing) {
        (Some(closer), Some((path, executable))) => Ok(closer.close(&path, file.file, executable)?),
        _ => Ok(()),
    }
}

impl Sink for DirectorySink<'_> {
    type File = DirectoryFile;
    type Committed = PathBuf;

    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError> {
        Ok(self.stage.tree().directory(entry.path())?)
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<DirectoryFile, SinkError> {
        begin(self.stage.tree(), self.closer, entry)
    }

    fn chunk(&mut self, file: &mut DirectoryFile, bytes: &[u8]) -> Result<(), SinkError> {
        Ok(file.file.write_all(bytes)?)
    }

    fn end(&mut self, file: DirectoryFile, _: &Done) -> Result<(), SinkError> {
        end(self.closer, file)
    }

    fn link(&mut self, entry: &Entry<'_>, link: Link<'_>) -> Result<(), SinkError> {
        let tree = self.stage.tree();
        match link {
            Link::Symbolic(target) => tree.symlink(entry.path(), target)?,
            Link::Hard(target) => tree.hard_link(entry.path(), target)?,
        }
        Ok(())
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        if executable {
            self.stage.tree().make_executable(entry.path())?;
        }
        Ok(())
    }

    fn commit(self, _: &Summary) -> Result<PathBuf, SinkError> {
        let Self { stage, target, closer } = self;
        closer.map_or(Ok(()), Closer::wait)?;
        stage.publish(&target)?;
        Ok(target)
    }
}

impl<'a> ParallelSink for DirectorySink<'a> {
    type Worker = DirectoryWorker<'a>;

    fn worker(&self) -> Result<DirectoryWorker<'a>, SinkError> {
        Ok(DirectoryWorker { tree: self.stage.share()?, closer: self.closer })
    }
}

/// One thread's share of a [`DirectorySink`].
pub struct DirectoryWorker<'a> {
    tree: Tree,
    closer: Option<&'a dyn Closer>,
}

impl Sink for DirectoryWorker<'_> {
    type File = DirectoryFile;
    type Committed = ();

    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError> {
        Ok(self.tree.directory(entry.path())?)
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<DirectoryFile, SinkError> {
        begin(&mut self.tree, self.closer, entry)
    }

    fn chunk(&mut self, file: &mut DirectoryFile, bytes: &[u8]) -> Result<(), SinkError> {
        Ok(file.file.write_all(bytes)?)
    }

    fn end(&mut self, file: DirectoryFile, _: &Done) -> Result<(), SinkError> {
        end(self.closer, file)
    }

    fn late_exec(&mut self, _: &Entry<'_>, _: bool) -> Result<(), SinkError> {
        Ok(()) // A seekable archive tells before the file is made.
    }

    fn commit(self, _: &Summary) -> Result<(), SinkError> {
        Ok(())
    }
}

impl fmt::Debug for DirectorySink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectorySink")
            .field("stage", &self.stage)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for DirectoryWorker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryWorker").field("tree", &self.tree).finish_non_exhaustive()
    }
}
