//! XZ: streams of LZMA2 blocks with checksums that the decoder verifies.

use std::io::{ErrorKind, Read as _};

use lzma_rust2::XzReader;

use super::decode::{Raw, Upstream};
use super::source::Source;
use crate::error::{Class, Error, Result};

pub(crate) struct Unxz<'a, U: Upstream> {
    decoder: XzReader<Raw<'a, U>>,
    ended: bool,
}

impl<'a, U: Upstream> Unxz<'a, U> {
    /// `window_bytes` bounds the memory of the decoder.
    pub(crate) fn new(upstream: &'a mut U, window_bytes: u64) -> Self {
        let kib = u32::try_from(window_bytes >> 10).unwrap_or(u32::MAX);
        let decoder = XzReader::new_mem_limit(Raw::new(upstream), true, kib);
        Self { decoder, ended: false }
    }

    #[cold]
    fn error(&mut self, error: &std::io::Error) -> Error {
        if error.kind() == ErrorKind::OutOfMemory {
            return Error::new(Class::Limit, "memory of the XZ decoder").at(self.offset());
        }
        self.decoder.inner_mut().error("the XZ data is invalid", error)
    }
}

impl<U: Upstream> Source for Unxz<'_, U> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.ended {
            let count =
                self.decoder.read(&mut out[filled..]).map_err(|error| self.error(&error))?;
            self.ended = count == 0;
            filled += count;
        }
        Ok(filled)
    }

    fn offset(&self) -> u64 {
        self.decoder.inner().upstream.offset()
    }
}
