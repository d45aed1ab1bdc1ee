//! All the memory that an extraction needs, so that it can be kept for the next one.

use std::fmt;
use std::io;
use std::thread::Builder;

use flate2::Decompress;

use crate::beside::Beside;
use crate::names::Names;
use crate::zip::Table;

/// Bytes of the one output buffer.
///
/// 64 KiB is within 4 % of 256 KiB in speed, 16 KiB loses a tenth, and 95 % of the files in wheels
/// and crates fit.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;

/// The one output buffer, the one inflate state, and what is remembered of names.
///
/// Make one and use it for any number of archives, one after the other. It holds 64 KiB, about 40 KiB
/// of inflate state, a name buffer, and for each entry of the largest zip seen at most 64 bytes: 40 of
/// record, 10 to 16 for its name, and an eighth of slack, also while the tables grow.
/// [`hash_beside`](Self::hash_beside) adds eight buffers of 64 KiB and a thread.
pub struct Scratch {
    pub(crate) buffers: Buffers,
    pub(crate) inflate: Decompress,
    pub(crate) name: Vec<u8>,
    pub(crate) extra: Vec<u8>,
    pub(crate) path: String,
    pub(crate) names: Names,
    pub(crate) table: Table,
}

/// Where the bytes of a file are while they pass.
pub(crate) struct Buffers {
    /// The one output buffer.
    pub(crate) whole: Box<[u8]>,
    /// What digests large files, if asked for.
    pub(crate) beside: Option<Beside>,
}

impl Scratch {
    /// Allocates the buffers.
    pub fn new() -> Self {
        Self {
            buffers: Buffers { whole: vec![0; BUFFER_BYTES].into_boxed_slice(), beside: None },
            inflate: Decompress::new(false),
            name: Vec::new(),
            extra: Vec::new(),
            path: String::new(),
            names: Names::default(),
            table: Table::default(),
        }
    }

    /// Starts a thread that computes the digests of large files while this one inflates and writes.
    ///
    /// It serves every extraction with this scratch from now on: files of 1 MiB and more, by what the
    /// archive promises, when BLAKE3 or SHA-256 is asked for. Nothing else changes: a sink gets the same
    /// calls with the same digests, and [`Summary`](crate::Summary) counts the files. Eight buffers of
    /// 64 KiB are allocated here and used again. The thread sleeps between files, and is joined when the
    /// scratch is dropped, on unwinding too. A second call does nothing.
    ///
    /// Worth it when a core is idle and SHA-256 is computed too. BLAKE3 alone costs little more than
    /// taking the bytes to another core does.
    ///
    /// # Errors
    /// The system gives no thread: the scratch is as it was, and goes on hashing on the calling thread.
    ///
    /// # Examples
    /// ```
    /// let mut scratch = stream_extract::Scratch::new();
    /// if let Err(error) = scratch.hash_beside() {
    ///     println!("hashing on one thread: {error}");
    /// }
    /// ```
    pub fn hash_beside(&mut self) -> io::Result<()> {
        if self.buffers.beside.is_none() {
            self.buffers.beside = Some(Beside::start(Builder::new())?);
        }
        Ok(())
    }
}

impl Default for Scratch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch")
            .field("buffer_bytes", &self.buffers.whole.len())
            .field("hashes_beside", &self.buffers.beside.is_some())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn is_send_sync<T: Send + Sync>() {}
    is_send_sync::<Scratch>();
};
