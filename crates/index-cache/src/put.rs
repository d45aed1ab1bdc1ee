//! What a caller stores under one name: a token, a body and named slices.

use crate::error::{Error, Result};
use crate::layout::{HEAD_LEN, SLICE_ENTRY_LEN};
use std::collections::HashSet;
use std::ops::Range;

/// Longest key and longest token, in bytes.
pub(crate) const NAME_LEN_MAX: usize = 65_535;
/// Directory, body and slices of one entry together, in bytes.
pub(crate) const CONTENT_LEN_MAX: u64 = 4_294_901_760;

/// An entry to be stored: everything is borrowed and nothing is copied until
/// [`Batch::put`](crate::Batch::put).
///
/// A *slice* is a named part of an entry that can be read and verified without the rest: a registry
/// document's one version, say. It is either a range of the body (no byte is stored twice) or bytes
/// of its own, for callers that never need the whole. That a registry has no such name is kept by
/// [`Batch::put_negative`](crate::Batch::put_negative).
///
/// # Examples
///
/// ```
/// use index_cache::Put;
///
/// let document = b"{\"vers\":\"1.0.0\"}\n{\"vers\":\"1.1.0\"}\n";
/// let yanked = 1; // Sixteen bits whose meaning is the caller's.
/// let put = Put::new()
///     .token(b"etag: \"abc\"")
///     .body(document)
///     .slice_in_body("1.0.0", yanked, 0..17)
///     .slice_in_body("1.1.0", 0, 17..34)
///     .slice("summary", 0, b"bytes that the body does not hold");
/// # let _ = put;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Put<'a> {
    pub(crate) token: &'a [u8],
    pub(crate) body: &'a [u8],
    pub(crate) slices: Vec<Slice<'a>>,
}

/// One named slice of a [`Put`].
#[derive(Clone, Debug)]
pub(crate) struct Slice<'a> {
    pub(crate) name: &'a str,
    pub(crate) flags: u16,
    pub(crate) part: Part<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum Part<'a> {
    InBody(Range<usize>),
    Apart(&'a [u8]),
}

impl<'a> Put<'a> {
    /// An entry with an empty token, an empty body and no slices.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the freshness token: an `ETag`, a date, a revision. At most 65,535 bytes.
    #[must_use]
    pub fn token(mut self, token: &'a [u8]) -> Self {
        self.token = token;
        self
    }

    /// Sets the body. Body, slices and their directory together are at most 4 GiB - 64 KiB.
    #[must_use]
    pub fn body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// Adds a slice with bytes of its own.
    #[must_use]
    pub fn slice(self, name: &'a str, flags: u16, bytes: &'a [u8]) -> Self {
        self.with(Slice { name, flags, part: Part::Apart(bytes) })
    }

    /// Adds a slice that is a range of the body.
    #[must_use]
    pub fn slice_in_body(self, name: &'a str, flags: u16, range: Range<usize>) -> Self {
        self.with(Slice { name, flags, part: Part::InBody(range) })
    }

    fn with(mut self, slice: Slice<'a>) -> Self {
        self.slices.push(slice);
        self
    }

    /// Refuses what the format cannot hold and what contradicts itself.
    pub(crate) fn check(&self, key: &str) -> Result<()> {
        check_name("key", key.as_bytes())?;
        check_name("token", self.token)?;
        let mut names = HashSet::with_capacity(self.slices.len());
        for slice in &self.slices {
            check_name("slice name", slice.name.as_bytes())?;
            if !names.insert(slice.name) {
                return Err(Error::invalid("two slices of an entry have the same name"));
            }
            self.check_range(&slice.part)?;
        }
        self.check_len()
    }

    fn check_range(&self, part: &Part<'_>) -> Result<()> {
        match part {
            Part::InBody(range) if self.body.get(range.clone()).is_none() => {
                Err(Error::invalid("a slice is outside of its body"))
            }
            _ => Ok(()),
        }
    }

    fn check_len(&self) -> Result<()> {
        let slices = self.slices.iter().map(|slice| match slice.part {
            Part::InBody(_) => SLICE_ENTRY_LEN + slice.name.len(),
            Part::Apart(bytes) => SLICE_ENTRY_LEN + slice.name.len() + bytes.len(),
        });
        let len = slices.map(wide).sum::<u64>() + wide(self.body.len() + HEAD_LEN);
        if len > CONTENT_LEN_MAX {
            return Err(Error::too_large("entry", len, CONTENT_LEN_MAX));
        }
        Ok(())
    }
}

/// Refuses a key, token or slice name that its 16-bit length cannot describe.
pub(crate) fn check_name(what: &'static str, bytes: &[u8]) -> Result<()> {
    if bytes.len() > NAME_LEN_MAX {
        return Err(Error::too_large(what, wide(bytes.len()), wide(NAME_LEN_MAX)));
    }
    Ok(())
}

/// A length in memory as a length in the file; no supported target has a wider `usize`.
pub(crate) fn wide(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
