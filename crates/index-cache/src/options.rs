//! How a cache is opened.

use std::path::{Path, PathBuf};

/// How values are read from the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadMode {
    /// Everything by positioned reads into reused buffers. A file that is shortened by somebody
    /// else gives an error, never a signal. The default, and what the other two become on Windows,
    /// on 32-bit targets, on network file systems and under FUSE.
    #[default]
    Pread,
    /// Positioned reads for values up to 64 KiB, a map for larger ones.
    Auto,
    /// All records through one map: the fastest way to look up many keys in a long-lived process.
    Mapped,
}

/// What to do when another process is committing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LockWait {
    /// Wait: a commit holds the lock for milliseconds.
    #[default]
    Block,
    /// Skip the write and say [`WriteSkipped::Busy`](crate::WriteSkipped::Busy).
    Skip,
}

/// Options of [`IndexCache::open`](crate::IndexCache::open).
///
/// # Examples
///
/// ```
/// use index_cache::{IndexCache, Options};
///
/// # fn main() -> Result<(), index_cache::Error> {
/// # let folder = tempfile::tempdir().unwrap();
/// let options = Options::new().schema(*b"my-tool: versions as json, v3   ").base("/nix/store/index.ixc");
/// let cache = IndexCache::open(folder.path().join("index-v1.ixc"), options)?;
/// assert!(cache.get("serde")?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) mode: ReadMode,
    pub(crate) schema: [u8; 32],
    pub(crate) bases: Vec<PathBuf>,
    pub(crate) wait: LockWait,
    pub(crate) network_writes: bool,
}

impl Options {
    /// Positioned reads, an all-zero schema tag, no bases.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the tag of what the caller keeps in bodies, slices and flags.
    ///
    /// A file with another tag is treated as empty and replaced by the next commit, so that a new
    /// version of a program never reads what an old one meant differently. Change it whenever an
    /// encoding changes.
    #[must_use]
    pub fn schema(mut self, tag: [u8; 32]) -> Self {
        self.schema = tag;
        self
    }

    /// Adds a read-only file below the writable one: a container layer, a store path, a CI image.
    ///
    /// A key is looked for in the writable file first, then in the bases in the order they were
    /// added. Bases are never written and need no lock. A base that is absent, foreign or of
    /// another schema counts as empty; [`Stats`](crate::Stats) says so.
    ///
    /// What the writable file has lost to damage is a miss, and not the base's answer, until a commit or
    /// a compaction writes over the damage: from then on the base answers for it, also where the key had
    /// been removed.
    #[must_use]
    pub fn base(mut self, path: impl AsRef<Path>) -> Self {
        self.bases.push(path.as_ref().to_path_buf());
        self
    }

    /// Sets what a commit does while another process commits.
    #[must_use]
    pub fn lock_wait(mut self, wait: LockWait) -> Self {
        self.wait = wait;
        self
    }

    /// Allows commits on network file systems, whose locks the caller trusts.
    ///
    /// Off, a commit there is skipped with [`WriteSkipped::NoLocking`](crate::WriteSkipped).
    #[must_use]
    pub fn trust_network_locks(mut self, trust: bool) -> Self {
        self.network_writes = trust;
        self
    }

    /// Reads through memory maps, wholly or for large values only.
    ///
    /// Where a map would be a trap the mode falls back to [`ReadMode::Pread`];
    /// [`Stats::read_mode`](crate::Stats::read_mode) says which one is in use.
    ///
    /// # Safety
    ///
    /// Until the cache and all its snapshots and entries are dropped, nobody but this crate may
    /// modify or shorten the files that are opened. A violation changes bytes under shared
    /// references or ends the process with `SIGBUS`. This crate's own commits and compactions, in
    /// this process and in others, never modify a byte that a reader can see.
    ///
    /// # References
    ///
    /// `mmap(2)`; the same bargain is argued in ripgrep's `searcher/mmap.rs` and BLAKE3's `io.rs`.
    #[expect(unsafe_code, reason = "declares a contract; does nothing unsafe itself")]
    #[must_use]
    pub unsafe fn mapped(mut self, mode: ReadMode) -> Self {
        self.mode = mode;
        self
    }
}
