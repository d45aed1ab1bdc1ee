//! Where a crate's files go: into a stage folder, by link when the store has them.
//!
//! The only place where three of the libraries meet. Small files come with their digest before
//! anything is written, so that one the store has costs a link. Large ones are written while they
//! are hashed and become a link afterwards. Handles are closed by the package's group; an object
//! is published by the thread that really closed it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use cas_store::{Destination, Digest, Executable, Lookup, Publish, StreamedFile, TreeBuilder};
use deferred_close::Group;
use stream_extract::{Done, Entry, Sink, SinkError, Summary};

use crate::hex;

/// Receives one crate's entries, which all lie below `name-version/`.
pub(crate) struct CrateSink<'a, 'scope> {
    destination: Destination,
    group: &'a Group<'scope>,
    root: String,
    contents: Contents,
}

/// What a crate consists of.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) tree: TreeBuilder,
    /// SHA-256 of each file by its path, as a directory source lists them.
    pub(crate) checksums: BTreeMap<String, String>,
}

/// A file that did not fit the extractor's buffer.
pub(crate) struct Large {
    file: StreamedFile,
    path: String,
    executable: Executable,
}

impl<'a, 'scope> CrateSink<'a, 'scope> {
    pub(crate) fn new(destination: Destination, group: &'a Group<'scope>, root: &str) -> Self {
        let (root, contents) = (format!("{root}/"), Contents::default());
        Self { destination, group, root, contents }
    }

    fn path(&self, entry: &Entry<'_>) -> String {
        let path = entry.path();
        path.strip_prefix(&self.root).unwrap_or(path).to_owned()
    }

    fn close(&self, path: &str, file: File, publish: Publish) {
        let full = self.destination.path().join(path);
        self.group.close_then(file, full, move |closed| {
            closed?;
            publish.run().map(drop).map_err(io::Error::other)
        });
    }

    fn record(
        &mut self,
        path: &str,
        digest: Digest,
        executable: Executable,
        done: &Done,
    ) -> Result<(), SinkError> {
        self.contents.tree.file(path, digest, executable, done.size)?;
        let sha256 = done.sha256.ok_or("the extractor was not asked for SHA-256")?;
        self.contents.checksums.insert(path.to_owned(), hex::encode(&sha256));
        Ok(())
    }
}

impl Sink for CrateSink<'_, '_> {
    type File = Large;
    type Committed = Contents;

    /// Folders are made for the files in them; the empty ones of an archive mean nothing here.
    fn directory(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        Ok(())
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<Large, SinkError> {
        let (path, executable) = (self.path(entry), executable(entry));
        let file = self.destination.create(&path, executable)?;
        Ok(Large { file, path, executable })
    }

    fn chunk(&mut self, large: &mut Large, bytes: &[u8]) -> Result<(), SinkError> {
        Ok(large.file.write_all(bytes)?)
    }

    fn end(&mut self, large: Large, done: &Done) -> Result<(), SinkError> {
        let digest = digest(done)?;
        let (file, publish) = large.file.finish(digest)?;
        self.close(&large.path, file, publish);
        self.record(&large.path, digest, large.executable, done)
    }

    fn whole(&mut self, entry: &Entry<'_>, bytes: &[u8], done: &Done) -> Result<(), SinkError> {
        let (path, executable, digest) = (self.path(entry), executable(entry), digest(done)?);
        if let Lookup::Missing(mut new) =
            self.destination.place_or_create(&path, digest, executable)?
        {
            new.write_all(bytes)?;
            let (file, publish) = new.into_parts()?;
            self.close(&path, file, publish);
        }
        self.record(&path, digest, executable, done)
    }

    /// A tar archive tells who is executable with each entry.
    fn late_exec(&mut self, _: &Entry<'_>, _: bool) -> Result<(), SinkError> {
        Err("a crate's files have their mode from the start".into())
    }

    /// The caller waits for the group before it believes in what was placed.
    fn commit(self, _: &Summary) -> Result<Contents, SinkError> {
        Ok(self.contents)
    }
}

fn digest(done: &Done) -> Result<Digest, SinkError> {
    Ok(Digest::from(done.blake3.ok_or("the extractor was not asked for BLAKE3")?))
}

fn executable(entry: &Entry<'_>) -> Executable {
    Executable::from(entry.executable().unwrap_or(false))
}

/// Adds a file made here, such as a directory source's list of checksums.
pub(crate) fn add_made(
    destination: &Destination,
    contents: &mut Contents,
    path: &Path,
    bytes: &[u8],
) -> anyhow::Result<()> {
    let path = path.to_str().unwrap_or_default();
    let digest = Digest::of(bytes);
    destination.put(path, bytes, digest, Executable::No)?;
    contents.tree.file(path, digest, Executable::No, bytes.len() as u64)?;
    Ok(())
}
