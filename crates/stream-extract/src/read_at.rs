//! Positioned reads: what several threads need to read one archive.

use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// Bytes of the input buffer of each thread.
const BUFFER_BYTES: usize = 64 << 10;

/// A source of bytes that many threads may read at once, such as a [`File`] or a slice.
pub trait ReadAt: Sync {
    /// Reads some bytes at `offset`; returns 0 at the end.
    ///
    /// # Errors
    /// Whatever reading returns.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize>;

    /// The number of bytes.
    ///
    /// # Errors
    /// Whatever asking returns.
    fn size(&self) -> io::Result<u64>;
}

impl ReadAt for [u8] {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        let bytes = &self[start..];
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, out, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, out, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// A buffered reader over a part of a source.
pub(crate) struct Cursor<'a, R: ?Sized> {
    source: &'a R,
    buffer: Vec<u8>,
    /// Where in the source the buffer's unread bytes start, and which those are.
    offset: u64,
    unread: std::ops::Range<usize>,
    /// Reads nothing behind this, so that small entries cost small reads.
    end: u64,
}

impl<'a, R: ReadAt + ?Sized> Cursor<'a, R> {
    pub(crate) fn new(source: &'a R) -> io::Result<Self> {
        let end = source.size()?;
        Ok(Self { source, buffer: vec![0; BUFFER_BYTES], offset: 0, unread: 0..0, end })
    }

    /// Goes to `start`, keeping what is buffered of it, and reads nothing from `end` on.
    ///
    /// Back as well: an entry is read up to and with the signature of the next one.
    pub(crate) fn narrow(&mut self, start: u64, end: u64) {
        self.unread = self.buffered_from(start).unwrap_or_default();
        self.offset = start;
        self.end = end;
    }

    /// What is buffered from `start` on, if the byte there is.
    fn buffered_from(&self, start: u64) -> Option<std::ops::Range<usize>> {
        let skip = i64::try_from(start).ok()?.checked_sub(i64::try_from(self.offset).ok()?)?;
        let at = self.unread.start.checked_add_signed(isize::try_from(skip).ok()?)?;
        (at < self.unread.end).then_some(at..self.unread.end)
    }
}

impl<R: ReadAt + ?Sized> BufRead for Cursor<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.unread.is_empty() {
            let left = self.end.saturating_sub(self.offset);
            let want = usize::try_from(left).map_or(BUFFER_BYTES, |left| left.min(BUFFER_BYTES));
            let count = self.source.read_at(self.offset, &mut self.buffer[..want])?;
            self.unread = 0..count;
        }
        Ok(&self.buffer[self.unread.clone()])
    }

    fn consume(&mut self, count: usize) {
        let count = count.min(self.unread.len());
        self.unread.start += count;
        self.offset += count as u64;
    }
}

impl<R: ReadAt + ?Sized> Read for Cursor<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: ReadAt + ?Sized> Seek for Cursor<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::End(delta) => self.source.size()?.checked_add_signed(delta),
            SeekFrom::Current(delta) => self.offset.checked_add_signed(delta),
        };
        self.offset = target.ok_or(io::ErrorKind::InvalidInput)?;
        self.unread = 0..0;
        Ok(self.offset)
    }
}
