//! Stores nothing: for checking an archive, and for measuring everything but the disk.

use super::{ParallelSink, Sink, SinkError};
use crate::entry::{Done, Entry, Link, Summary};

/// A sink that verifies an archive and keeps nothing.
///
/// # Examples
/// ```
/// # fn main() -> stream_extract::Result<()> {
/// let empty_zip = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// let mut scratch = stream_extract::Scratch::new();
/// let report = stream_extract::Extractor::new().zip_stream(
///     &empty_zip[..],
///     &mut scratch,
///     stream_extract::VerifySink::new(),
/// )?;
/// assert_eq!(report.summary.files, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct VerifySink;

impl VerifySink {
    /// Returns the sink.
    pub fn new() -> Self {
        Self
    }
}

impl Sink for VerifySink {
    type File = ();
    type Committed = ();

    fn directory(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        Ok(())
    }

    fn begin(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        Ok(())
    }

    fn chunk(&mut self, (): &mut (), _: &[u8]) -> Result<(), SinkError> {
        Ok(())
    }

    fn end(&mut self, (): (), _: &Done) -> Result<(), SinkError> {
        Ok(())
    }

    fn link(&mut self, _: &Entry<'_>, _: Link<'_>) -> Result<(), SinkError> {
        Ok(())
    }

    fn late_exec(&mut self, _: &Entry<'_>, _: bool) -> Result<(), SinkError> {
        Ok(())
    }

    fn commit(self, _: &Summary) -> Result<(), SinkError> {
        Ok(())
    }
}

impl ParallelSink for VerifySink {
    type Worker = Self;

    fn worker(&self) -> Result<Self, SinkError> {
        Ok(Self)
    }
}
