//! Where entries go. The extractor never opens, writes or closes a file itself.
//!
//! A sink gets entries in archive order and owns everything about storing them: where, how, and
//! when a handle is closed (a deferred-close pool takes it in `end`). It may assume that every path
//! was checked and is unique. It must not assume that what it was given is valid until `commit`.

mod closing;
mod directory;
mod stage;
mod verify;

pub use closing::Closer;
pub use directory::{DirectoryFile, DirectorySink, DirectoryWorker};
pub use verify::VerifySink;

use crate::entry::{Done, Entry, Link, Summary};

/// Whatever error a sink has.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Receives the entries of one archive.
///
/// Per file the extractor calls either [`whole`](Self::whole), or [`begin`](Self::begin),
/// [`chunk`](Self::chunk) at least once and [`end`](Self::end). When the archive, its limits and its
/// expected digest have all been verified it calls [`commit`](Self::commit) once. In every other
/// case the sink is dropped, which must undo what it did.
pub trait Sink {
    /// A file that is being written.
    type File;
    /// What a successful extraction yields.
    type Committed;

    /// Makes a folder. Parents may be missing; the folder may exist as a parent of an earlier entry.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError>;

    /// Opens a file that does not fit the buffer. Parents may be missing.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn begin(&mut self, entry: &Entry<'_>) -> Result<Self::File, SinkError>;

    /// Appends `bytes`, of which there are 64 KiB except in the last call.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn chunk(&mut self, file: &mut Self::File, bytes: &[u8]) -> Result<(), SinkError>;

    /// Finishes a file. The sink owns closing it, now or later.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn end(&mut self, file: Self::File, done: &Done) -> Result<(), SinkError>;

    /// Stores a whole file whose content is at hand and verified: at most 64 KiB.
    ///
    /// The default is `begin`, `chunk`, `end`. A store that looks up the digest first overrides it.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn whole(&mut self, entry: &Entry<'_>, bytes: &[u8], done: &Done) -> Result<(), SinkError> {
        let mut file = self.begin(entry)?;
        if !bytes.is_empty() {
            self.chunk(&mut file, bytes)?;
        }
        self.end(file, done)
    }

    /// Makes a link, after all files. Only called when [`Policy::links`](crate::Policy::links) allows it.
    ///
    /// The target was checked: a symbolic link stays inside, a hard link names a file stored before.
    /// The default refuses.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn link(&mut self, entry: &Entry<'_>, link: Link<'_>) -> Result<(), SinkError> {
        let _ = (entry, link);
        Err("this sink makes no links".into())
    }

    /// Tells whether a file is executable, for each file whose
    /// [`Entry::executable`] was `None`; after all files, in the order of the central directory.
    ///
    /// `entry` has the same id and path as the entry that was stored before.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError>;

    /// Publishes everything. Called once, after the whole archive was verified.
    ///
    /// # Errors
    /// The extraction fails; the sink must have undone what it did.
    fn commit(self, summary: &Summary) -> Result<Self::Committed, SinkError>;
}

/// A sink whose files several threads may write at once.
pub trait ParallelSink: Sink {
    /// One thread's share. Its `commit` ends the share; the whole is published by the sink's own.
    type Worker: Sink<Committed = ()> + Send;

    /// Returns a share for one thread.
    ///
    /// # Errors
    /// Any error ends the extraction.
    fn worker(&self) -> Result<Self::Worker, SinkError>;
}
