//! Where a tar's bytes come from: the archive itself, or a decoder in front of it.

use crate::error::{Class, Error, Result};
use crate::input::Input;

/// The bytes of an uncompressed tar.
pub(crate) trait Source {
    /// Fills `out` unless the tar ends first; returns the count.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize>;

    /// The byte of the archive that comes next.
    fn offset(&self) -> u64;

    fn fill_exact(&mut self, out: &mut [u8]) -> Result<()> {
        if self.fill(out)? == out.len() {
            return Ok(());
        }
        Err(Error::new(Class::Truncated, "the archive ends too early").at(self.offset()))
    }
}

impl Source for Input<'_> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        self.read(out)
    }

    fn offset(&self) -> u64 {
        self.offset()
    }
}
