//! Keeps what was downloaded while it is extracted, so that a broken download can go on.
//!
//! Bytes are written to the partial file *before* they are handed on. A run that is resumed replays the
//! file from disk through the extractor, then goes on with the rest of the download: no state of the
//! decoder has to be saved. The digest that is checked before `commit` covers both parts. This module
//! knows nothing of HTTP: the caller asks for the range from [`Partial::len`] on, makes sure with the
//! server's validator (`ETag`, `If-Range`) that it is still the same file, and calls
//! [`restart`](Partial::restart) when it is not.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// Bytes of the buffer between the download and the extractor.
const BUFFER_BYTES: usize = 64 << 10;

/// What an earlier attempt left of a download.
#[derive(Debug)]
pub struct Partial {
    file: File,
    len: u64,
}

impl Partial {
    /// Opens the partial file, or makes an empty one.
    ///
    /// # Errors
    /// Whatever opening returns.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let len = file.metadata()?.len();
        Ok(Self { file, len })
    }

    /// The bytes that are there: the start of the range to ask for.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True when there is nothing to resume.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Forgets what is there, because the server sends the file from its start.
    ///
    /// # Errors
    /// Whatever truncating returns.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.len = 0;
        Ok(())
    }

    /// Returns a reader of the whole archive: what is there, then `rest`, which is kept as it comes.
    ///
    /// # Errors
    /// Whatever seeking returns.
    pub fn resume<R: Read>(mut self, rest: R) -> io::Result<Tee<R>> {
        self.file.seek(SeekFrom::Start(0))?;
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Ok(Tee { file: self.file, replay: self.len, rest, buffer, unread: 0..0 })
    }
}

/// Reads a download and keeps it; see [`Partial::resume`].
///
/// An error of the download is returned as it is, so an extraction fails with it and not with the
/// truncation that it causes, and the partial file keeps everything that came before.
#[derive(Debug)]
pub struct Tee<R> {
    file: File,
    /// Bytes of the file that were not replayed yet.
    replay: u64,
    rest: R,
    buffer: Box<[u8]>,
    unread: std::ops::Range<usize>,
}

impl<R: Read> Tee<R> {
    /// Reads to the end, for an archive that cannot be streamed, and returns the file.
    ///
    /// # Errors
    /// Whatever reading or writing returns.
    pub fn finish(mut self) -> io::Result<File> {
        loop {
            let count = self.fill_buf()?.len();
            if count == 0 {
                self.file.seek(SeekFrom::Start(0))?;
                return Ok(self.file);
            }
            self.consume(count);
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        if self.replay > 0 {
            let count = self.file.read(&mut self.buffer)?;
            let ended = count == 0;
            self.replay = if ended { 0 } else { self.replay.saturating_sub(count as u64) };
            if !ended {
                return Ok(count);
            }
        }
        let count = self.rest.read(&mut self.buffer)?;
        self.file.write_all(&self.buffer[..count])?;
        Ok(count)
    }
}

impl<R: Read> BufRead for Tee<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unread.is_empty() {
            self.unread = 0..self.fill()?;
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    fn consume(&mut self, count: usize) {
        self.unread.start = self.unread.end.min(self.unread.start + count);
    }
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}
