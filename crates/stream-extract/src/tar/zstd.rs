//! Zstandard (RFC 8878): frames, each with an optional checksum that is verified.

use std::io::Read as _;

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::decode::{Raw, Upstream};
use super::source::Source;
use crate::error::{Class, Error, Result};

pub(crate) struct Unzstd<'a, U> {
    raw: Raw<'a, U>,
    decoder: FrameDecoder,
    inside: bool,
}

impl<'a, U: Upstream> Unzstd<'a, U> {
    /// `window_bytes` bounds the memory of the decoder.
    pub(crate) fn new(upstream: &'a mut U, window_bytes: u64) -> Result<Self> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(window_bytes);
        let mut unzstd = Self { raw: Raw::new(upstream), decoder, inside: false };
        unzstd.start_frame()?;
        Ok(unzstd)
    }

    /// Starts the next frame, unless it is one that holds no data: that is skipped.
    fn start_frame(&mut self) -> Result<()> {
        match self.decoder.init(&mut self.raw) {
            Ok(()) => {
                self.inside = true;
                Ok(())
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => self.raw.skip(length.into()),
            Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                let offset = self.raw.upstream.offset();
                let what = "window of the Zstandard decoder";
                let at_most = format!("at most {max}");
                Err(Error::mismatch(Class::Limit, what, at_most, requested).at(offset))
            }
            Err(error) => Err(self.raw.error("the Zstandard frame is invalid", &error)),
        }
    }

    /// Decodes one block, or moves on to the next frame; false at the end.
    fn advance(&mut self) -> Result<bool> {
        if !self.inside {
            if self.raw.upstream.at_end()? {
                return Ok(false);
            }
            self.start_frame()?;
        } else if self.decoder.is_finished() {
            self.check()?;
            self.inside = false;
        } else {
            self.decoder
                .decode_blocks(&mut self.raw, BlockDecodingStrategy::UptoBlocks(1))
                .map_err(|error| self.raw.error("the Zstandard block is invalid", &error))?;
        }
        Ok(true)
    }

    fn check(&self) -> Result<()> {
        let expected = self.decoder.get_checksum_from_data();
        let found = self.decoder.get_calculated_checksum();
        match (expected, found) {
            (Some(expected), Some(found)) if expected != found => {
                let what = "checksum of the Zstandard frame";
                let (expected, found) = (format!("{expected:08x}"), format!("{found:08x}"));
                let offset = self.raw.upstream.offset();
                Err(Error::mismatch(Class::Corrupt, what, expected, found).at(offset))
            }
            _ => Ok(()),
        }
    }
}

impl<U: Upstream> Source for Unzstd<'_, U> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < out.len() {
            let count = if self.inside && self.decoder.can_collect() > 0 {
                self.decoder
                    .read(&mut out[filled..])
                    .map_err(|error| self.raw.error("the Zstandard data is invalid", &error))?
            } else {
                0
            };
            filled += count;
            if count == 0 && !self.advance()? {
                break;
            }
        }
        Ok(filled)
    }

    fn offset(&self) -> u64 {
        self.raw.upstream.offset()
    }
}
