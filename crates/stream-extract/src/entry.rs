//! What a sink is told about an entry, and what a caller is told about the whole archive.

/// The position of an entry in its archive, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub(crate) u64);

impl EntryId {
    /// The position as a number.
    pub fn index(self) -> u64 {
        self.0
    }
}

/// One file or folder that is about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub(crate) id: EntryId,
    pub(crate) path: &'a str,
    pub(crate) size_hint: Option<u64>,
    pub(crate) executable: Option<bool>,
}

impl<'a> Entry<'a> {
    /// The position in the archive.
    pub fn id(&self) -> EntryId {
        self.id
    }

    /// The path: checked, relative, `/` between components, no `.` or `..`, no trailing slash.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The size in bytes that the archive promises. A hint: allocate nothing from it.
    pub fn size_hint(&self) -> Option<u64> {
        self.size_hint
    }

    /// Whether the file is executable; `None` when only the end of the stream will tell
    /// (see [`Sink::late_exec`](crate::Sink::late_exec)).
    pub fn executable(&self) -> Option<bool> {
        self.executable
    }
}

/// Where a link points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Link<'a> {
    /// A symbolic link with this text: some `..` first, then only names; never leaves the target folder.
    Symbolic(&'a str),
    /// Another name for the file at this path of the same archive.
    Hard(&'a str),
}

/// What is known of an entry once its last byte was copied and verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// The position in the archive.
    pub id: EntryId,
    /// The size in bytes.
    pub size: u64,
    /// CRC-32, verified: only zip has one.
    pub crc32: Option<u32>,
    /// BLAKE3-256 of the content, unless switched off by
    /// [`Extractor::blake3`](crate::Extractor::blake3).
    pub blake3: Option<[u8; 32]>,
    /// SHA-256 of the content, when asked for by [`Extractor::sha256`](crate::Extractor::sha256).
    pub sha256: Option<[u8; 32]>,
}

/// Counts over the whole archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Entries of every kind.
    pub entries: u64,
    /// Regular files.
    pub files: u64,
    /// Folders that have an entry of their own.
    pub directories: u64,
    /// Regular files whose digests the thread of [`Scratch::hash_beside`](crate::Scratch::hash_beside)
    /// computed.
    pub files_hashed_beside: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of the archive.
    pub archive_bytes: u64,
    /// Zero bytes after the end of a zip archive, tolerated up to 64 KiB.
    pub trailing_zeros: u64,
    /// SHA-256 of the archive, when one was expected.
    pub archive_sha256: Option<[u8; 32]>,
}

/// The result of an extraction: what the sink committed, and the counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report<C> {
    /// What [`Sink::commit`](crate::Sink::commit) returned.
    pub committed: C,
    /// Counts over the whole archive.
    pub summary: Summary,
}

/// How far an extraction has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes of the archive read so far.
    pub archive_bytes: u64,
}
