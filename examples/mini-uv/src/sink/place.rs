//! The two kinds of places that a wheel's files are written to.
//!
//! A file goes into the store and is a link of it in the stage folder; that is how this tool works.
//! With `--no-deduplication` it goes into a folder that only its wheel has, as installers without a
//! store do it: the same program with the feature off, to measure what the feature costs. Digests are
//! not looked up there, so none is computed.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cas_store::{Destination, Digest, Lookup, Publish, StreamedFile};
use stream_extract::{Done, SinkError};

use super::share::bit;

/// Where the files of one wheel are written.
#[derive(Clone)]
pub(crate) enum Place {
    Shared(Destination),
    Separate(Folder),
}

/// A file that is being written.
pub(crate) enum Writing {
    Shared(StreamedFile),
    Separate(File),
}

/// A written file that is still open, and what is to be done once it is closed.
pub(super) struct Written {
    pub(super) file: File,
    pub(super) publish: Option<Publish>,
}

/// A folder of one wheel, and the folders in it that were made.
#[derive(Clone)]
pub(crate) struct Folder {
    root: PathBuf,
    known: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Place {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Shared(destination) => destination.path(),
            Self::Separate(folder) => &folder.root,
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Opens a file whose digest is not known yet.
    pub(super) fn create(&self, path: &str, executable: bool) -> Result<Writing, SinkError> {
        Ok(match self {
            Self::Shared(destination) => {
                Writing::Shared(destination.create(path, bit(executable))?)
            }
            Self::Separate(folder) => Writing::Separate(folder.create(path, executable)?),
        })
    }

    /// Stores a file whose bytes are in hand; none when nothing had to be written.
    pub(super) fn put(
        &self,
        path: &str,
        bytes: &[u8],
        executable: bool,
        done: &Done,
    ) -> Result<Option<Written>, SinkError> {
        match self {
            Self::Shared(destination) => {
                let digest = digest(done)?;
                let found = destination.place_or_create(path, digest, bit(executable))?;
                let Lookup::Missing(mut new) = found else { return Ok(None) };
                new.write_all(bytes)?;
                let (file, publish) = new.into_parts()?;
                Ok(Some(Written { file, publish: Some(publish) }))
            }
            Self::Separate(folder) => {
                let mut file = folder.create(path, executable)?;
                file.write_all(bytes)?;
                Ok(Some(Written { file, publish: None }))
            }
        }
    }

    /// Changes the executable bit of a stored file.
    pub(super) fn set_executable(
        &self,
        path: &str,
        digest: Option<Digest>,
        executable: bool,
    ) -> Result<(), SinkError> {
        match self {
            Self::Shared(destination) => {
                let digest = digest.ok_or("a file of the store has no digest")?;
                destination.set_executable(path, digest, bit(executable))?;
            }
            Self::Separate(folder) => set_mode(&folder.root.join(path), executable)?,
        }
        Ok(())
    }
}

impl Writing {
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Shared(file) => file.write_all(bytes),
            Self::Separate(file) => file.write_all(bytes),
        }
    }

    pub(super) fn finish(self, done: &Done) -> Result<Written, SinkError> {
        Ok(match self {
            Self::Shared(file) => {
                let (file, publish) = file.finish(digest(done)?)?;
                Written { file, publish: Some(publish) }
            }
            Self::Separate(file) => Written { file, publish: None },
        })
    }
}

impl Folder {
    /// The folder `root`, which must exist and be empty.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, known: Arc::default() }
    }

    fn create(&self, path: &str, executable: bool) -> io::Result<File> {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if !known.contains(parent) {
                std::fs::create_dir_all(parent)?;
                known.insert(parent.to_owned());
            }
        }
        create_new(&path, executable)
    }
}

fn digest(done: &Done) -> Result<Digest, SinkError> {
    Ok(Digest::from(done.blake3.ok_or("the extractor computed no BLAKE3")?))
}

#[cfg(unix)]
fn create_new(path: &Path, executable: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if executable { 0o777 } else { 0o666 };
    File::options().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create_new(path: &Path, _: bool) -> io::Result<File> {
    File::create_new(path)
}

#[cfg(unix)]
fn set_mode(path: &Path, executable: bool) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = path.metadata()?.permissions();
    let plain = permissions.mode() & !0o111;
    permissions.set_mode(if executable { plain | (plain & 0o444) >> 2 } else { plain });
    std::fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
fn set_mode(_: &Path, _: bool) -> io::Result<()> {
    Ok(())
}
