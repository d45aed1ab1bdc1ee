//! Decoders of other crates between the archive and the tar.
//!
//! Those crates read through `std::io::Read` and wrap the errors of what they read. [`Raw`] keeps our
//! own error aside, so that a failed download is still reported as one.

use std::io::{self, Read};

use crate::error::{Class, Error, Result};
use crate::input::Input;

/// Something that a decoder can read, and that knows where it is.
pub(crate) trait Upstream {
    fn read_some(&mut self, out: &mut [u8]) -> Result<usize>;
    fn offset(&self) -> u64;
    /// True when nothing is left.
    fn at_end(&mut self) -> Result<bool>;
}

impl Upstream for Input<'_> {
    fn read_some(&mut self, out: &mut [u8]) -> Result<usize> {
        let bytes = self.peek()?;
        let count = bytes.len().min(out.len());
        out[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }

    fn offset(&self) -> u64 {
        self.offset()
    }

    fn at_end(&mut self) -> Result<bool> {
        Ok(self.peek()?.is_empty())
    }
}

pub(crate) struct Raw<'a, U> {
    pub(crate) upstream: &'a mut U,
    error: Option<Error>,
}

impl<'a, U: Upstream> Raw<'a, U> {
    pub(crate) fn new(upstream: &'a mut U) -> Self {
        Self { upstream, error: None }
    }

    /// Skips `count` bytes.
    #[cfg(feature = "zstd")]
    pub(crate) fn skip(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let mut bytes = [0; 512];
            let want = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
            let count = self.upstream.read_some(&mut bytes[..want])?;
            if count == 0 {
                let offset = self.upstream.offset();
                return Err(Error::new(Class::Truncated, "the archive ends too early").at(offset));
            }
            left -= count as u64;
        }
        Ok(())
    }

    /// The error of what was read, or else that of the decoder.
    #[cold]
    pub(crate) fn error(&mut self, what: &'static str, decoder: &dyn std::fmt::Display) -> Error {
        let offset = self.upstream.offset();
        let ended = matches!(self.upstream.at_end(), Ok(true));
        self.error.take().unwrap_or_else(|| {
            if ended {
                return Error::new(Class::Truncated, "the archive ends too early").at(offset);
            }
            Error::new(Class::Corrupt, format!("{what}: {decoder}")).at(offset)
        })
    }
}

impl<U: Upstream> Read for Raw<'_, U> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.upstream.read_some(out).map_err(|error| {
            self.error = Some(error);
            io::Error::other("the archive could not be read")
        })
    }
}
