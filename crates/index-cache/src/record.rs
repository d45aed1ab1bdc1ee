//! One record: content, and the head, key and token that describe it.
//!
//! ```text
//! content: | body | slices apart | directory | names | padding | head 48 | key | token | padding
//!           \ its /\_ a check each /\_ its check __/           \____ slot's check ___/
//! ```
//!
//! Four checksums instead of one, so that a token, a directory, a body or one slice can each be
//! read and proved without touching the others. The head names where the content is: usually right
//! before it, but a record that only brings a new token points back to the content of an older
//! record of the same file.
//!
//! Back to front, because of what is asked for most: of one name, its newest version. A registry
//! appends to its documents, so the newest version ends the payload, and there it lies beside the
//! directory that names it and the head that finds both: one read of a few kilobytes, or one page
//! of a map, gives all three, however long the document is.
//!
//! Bytes in, answer out: this module does no I/O.

use crate::layout as at;
use crate::layout::{ALIGN, HEAD_LEN, SLICE_ENTRY_LEN};
use crate::put::{Part, Put, wide};
use crate::slot::Place;

/// First bytes of every record, for people with a hex dump.
pub(crate) const MAGIC: [u8; 4] = *b"ixr\x01";

/// A last slice up to this long is read along with the directory, wanted or not.
const NEWEST_MAX: u32 = 16 << 10;

const NO_PARTS: [&[u8]; 0] = [];

/// What a record says about its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is content.
    Content = 1,
    /// The registry said that there is no such name.
    Negative = 2,
    /// Removed here, although a read-only base below may still have it.
    Removed = 3,
}

impl Kind {
    #[inline]
    fn decode(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Content),
            2 => Some(Self::Negative),
            3 => Some(Self::Removed),
            _ => None,
        }
    }
}

/// A record head that some writer of this version may have written.
///
/// A view: most entries are asked for one or two of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    bytes: &'a [u8; HEAD_LEN],
}

/// The part of a head that describes the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) slices: u32,
    pub(crate) directory_len: u32,
    pub(crate) directory_check: u32,
    pub(crate) body_len: u32,
    pub(crate) body_check: u32,
    /// Body and slices apart.
    pub(crate) payload_len: u32,
    /// Offset in the file; zero when the content ends where the head starts.
    pub(crate) at: u64,
}

impl Content {
    /// Directory and payload, in bytes.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.directory_len) + u64::from(self.payload_len)
    }

    /// With the padding that puts the head behind it on a multiple of [`ALIGN`].
    pub(crate) fn padded_len(&self) -> u64 {
        self.len().next_multiple_of(ALIGN)
    }
}

impl<'a> Head<'a> {
    /// Decodes a head; none when a field has a value that no writer of this version writes.
    #[inline]
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let bytes = bytes.first_chunk::<HEAD_LEN>()?;
        let is_known = at::RECORD_MAGIC.of(bytes) == MAGIC
            && at::CODEC.u8(bytes) == 0
            && Kind::decode(at::KIND.u8(bytes)).is_some()
            && at::BODY_LEN.u32(bytes) <= at::PAYLOAD_LEN.u32(bytes);
        is_known.then_some(Self { bytes })
    }

    /// The head at the start of `bytes` in which [`Head::decode`] has found one before.
    #[inline]
    pub(crate) fn known(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.first_chunk().unwrap_or(&[0; HEAD_LEN]) }
    }

    fn encode(kind: Kind, key_len: u16, token_len: u16, content: &Content) -> [u8; HEAD_LEN] {
        let mut bytes = [0; HEAD_LEN];
        at::RECORD_MAGIC.put(&mut bytes, &MAGIC);
        at::KIND.put(&mut bytes, &[kind as u8]);
        at::KEY_LEN.put(&mut bytes, &key_len.to_le_bytes());
        at::TOKEN_LEN.put(&mut bytes, &token_len.to_le_bytes());
        at::SLICES.put(&mut bytes, &content.slices.to_le_bytes());
        at::DIRECTORY_LEN.put(&mut bytes, &content.directory_len.to_le_bytes());
        at::DIRECTORY_CHECK.put(&mut bytes, &content.directory_check.to_le_bytes());
        at::BODY_LEN.put(&mut bytes, &content.body_len.to_le_bytes());
        at::BODY_CHECK.put(&mut bytes, &content.body_check.to_le_bytes());
        at::PAYLOAD_LEN.put(&mut bytes, &content.payload_len.to_le_bytes());
        at::CONTENT_AT.put(&mut bytes, &content.at.to_le_bytes());
        bytes
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        // `decode` has seen that it is one of the three.
        Kind::decode(at::KIND.u8(self.bytes)).unwrap_or(Kind::Removed)
    }

    #[inline]
    pub(crate) fn content(self) -> Content {
        Content {
            slices: at::SLICES.u32(self.bytes),
            directory_len: at::DIRECTORY_LEN.u32(self.bytes),
            directory_check: at::DIRECTORY_CHECK.u32(self.bytes),
            body_len: at::BODY_LEN.u32(self.bytes),
            body_check: at::BODY_CHECK.u32(self.bytes),
            payload_len: at::PAYLOAD_LEN.u32(self.bytes),
            at: at::CONTENT_AT.u64(self.bytes),
        }
    }

    /// Bytes that the slot's check covers: head, key and token.
    #[inline]
    pub(crate) fn named_len(self) -> usize {
        self.key().end + usize::from(at::TOKEN_LEN.u16(self.bytes))
    }

    /// Where the key is, from the record's first byte.
    #[inline]
    pub(crate) fn key(self) -> std::ops::Range<usize> {
        HEAD_LEN..HEAD_LEN + usize::from(at::KEY_LEN.u16(self.bytes))
    }

    /// Where the token is, from the record's first byte.
    #[inline]
    pub(crate) fn token(self) -> std::ops::Range<usize> {
        self.key().end..self.named_len()
    }

    /// Where the content starts in the file, for a record at `offset`.
    pub(crate) fn content_at(self, offset: u64) -> u64 {
        match at::CONTENT_AT.u64(self.bytes) {
            // A forged length leads before the file's first record, where no check is right.
            0 => offset.saturating_sub(self.content().padded_len()),
            elsewhere => elsewhere,
        }
    }
}

/// A record in a buffer that is not yet part of the file.
///
/// Its `front` is what a lookup reads: head, key, token, directory, and the payload's end from the
/// last slice's first byte on, if that is not much.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    /// First byte of the head, from the buffer's start.
    pub(crate) at: usize,
    front: u64,
    span: u64,
    pub(crate) check: u32,
    elsewhere: bool,
}

impl Encoded {
    /// The slot's place when the buffer's start becomes `base` in the file.
    pub(crate) fn place(&self, base: u64) -> Place {
        Place::new(base + wide(self.at), self.front, self.span, self.elsewhere)
    }
}

/// Appends a record with the content of `put`. The caller has checked `put`.
pub(crate) fn append_put(log: &mut Vec<u8>, key: &str, put: &Put<'_>) -> Encoded {
    let directory = Directory::build(put);
    let apart = put.slices.iter().filter_map(|slice| match slice.part {
        Part::Apart(bytes) => Some(bytes),
        Part::InBody(_) => None,
    });
    let content = Content {
        slices: narrow(put.slices.len()),
        directory_len: narrow(directory.len()),
        directory_check: crate::check::check(&directory),
        body_len: narrow(put.body.len()),
        body_check: crate::check::check(put.body),
        payload_len: narrow(put.body.len() + apart.clone().map(<[u8]>::len).sum::<usize>()),
        at: 0,
    };
    let beside = beside(&directory, &content);
    let parts = std::iter::once(put.body).chain(apart).chain([&*directory]);
    append(log, Named { kind: Kind::Content, key, token: put.token }, content, beside, parts)
}

/// Appends a record without content.
pub(crate) fn append_bare(log: &mut Vec<u8>, kind: Kind, key: &str, token: &[u8]) -> Encoded {
    append(log, Named { kind, key, token }, Content::default(), 0, NO_PARTS)
}

/// Appends a record of `kind` whose content stays where `content.at` says.
pub(crate) fn append_touch(
    log: &mut Vec<u8>,
    kind: Kind,
    key: &str,
    token: &[u8],
    content: Content,
) -> Encoded {
    append(log, Named { kind, key, token }, content, 0, NO_PARTS)
}

/// Appends a record whose content bytes are at hand.
pub(crate) fn append_copy(
    log: &mut Vec<u8>,
    kind: Kind,
    key: &str,
    token: &[u8],
    content: Content,
    bytes: &[u8],
) -> Encoded {
    let payload_len = usize::try_from(content.payload_len).unwrap_or(usize::MAX);
    let beside = beside(bytes.get(payload_len..).unwrap_or_default(), &content);
    append(log, Named { kind, key, token }, Content { at: 0, ..content }, beside, [bytes])
}

/// Appends the record whose head is at `at` of the same buffer again, under another token.
pub(crate) fn retoken(log: &mut Vec<u8>, at: usize, token: &[u8]) -> Option<Encoded> {
    let head = Head::decode(log.get(at..)?)?;
    let key = String::from_utf8(log.get(at..)?.get(head.key())?.to_vec()).ok()?;
    let (kind, described) = (head.kind(), head.content());
    let from = at.checked_sub(usize::try_from(described.padded_len()).ok()?)?;
    let content = log.get(from..from + usize::try_from(described.len()).ok()?)?.to_vec();
    Some(append_copy(log, kind, &key, token, described, &content))
}

/// Bytes of the content that a lookup reads with the head: the directory, and the last slice if it
/// is near the end.
fn beside(directory: &[u8], content: &Content) -> u64 {
    let entries = usize::try_from(content.slices).unwrap_or(usize::MAX);
    let last = directory.chunks_exact(SLICE_ENTRY_LEN).take(entries).next_back();
    let from = last.map_or(content.payload_len, |last| at::SLICE_AT.u32(last));
    let newest = content.payload_len.saturating_sub(from);
    let newest = if newest > NEWEST_MAX { 0 } else { newest };
    u64::from(content.directory_len) + u64::from(newest) + content.padded_len() - content.len()
}

/// What a slot's check covers.
struct Named<'a> {
    kind: Kind,
    key: &'a str,
    token: &'a [u8],
}

fn append(
    log: &mut Vec<u8>,
    Named { kind, key, token }: Named<'_>,
    content: Content,
    beside: u64,
    parts: impl IntoIterator<Item = impl AsRef<[u8]>>,
) -> Encoded {
    pad(log);
    parts.into_iter().for_each(|part| log.extend_from_slice(part.as_ref()));
    pad(log);
    let at = log.len();
    log.extend_from_slice(&Head::encode(kind, short(key.len()), short(token.len()), &content));
    log.extend_from_slice(key.as_bytes());
    log.extend_from_slice(token);
    let check = crate::check::check(&log[at..]);
    pad(log);
    let named = wide(HEAD_LEN + key.len() + token.len());
    let elsewhere = content.at != 0;
    Encoded { at, front: named + beside, span: named + content.padded_len(), check, elsewhere }
}

fn pad(log: &mut Vec<u8>) {
    log.resize(wide(log.len()).next_multiple_of(ALIGN).try_into().unwrap_or(log.len()), 0);
}

fn narrow(len: usize) -> u32 {
    // `Put::check` refused everything longer.
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn short(len: usize) -> u16 {
    // `check_name` refused everything longer.
    u16::try_from(len).unwrap_or(u16::MAX)
}

/// One line of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) flags: u16,
    /// From the payload's first byte.
    pub(crate) at: u32,
    pub(crate) len: u32,
    pub(crate) check: u32,
}

/// The directory of a record: fixed-width entries, then the names in the same order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directory<'a> {
    entries: &'a [u8],
    names: &'a [u8],
}

impl<'a> Directory<'a> {
    /// Splits a directory of `slices` lines; none when it is too short for them.
    pub(crate) fn decode(bytes: &'a [u8], slices: u32) -> Option<Self> {
        let entries_len = usize::try_from(slices).ok()?.checked_mul(SLICE_ENTRY_LEN)?;
        let (entries, names) = bytes.split_at_checked(entries_len)?;
        Some(Self { entries, names })
    }

    /// The lines in the order they were stored; ends early where a name is not inside the bytes or
    /// not UTF-8.
    pub(crate) fn lines(self) -> impl Iterator<Item = Line<'a>> {
        let mut names = self.names;
        self.entries.chunks_exact(SLICE_ENTRY_LEN).map_while(move |entry| {
            let name_len = usize::from(at::SLICE_NAME_LEN.u16(entry));
            let (name, rest) = names.split_at_checked(name_len)?;
            names = rest;
            Some(Line {
                name: str::from_utf8(name).ok()?,
                flags: at::SLICE_FLAGS.u16(entry),
                at: at::SLICE_AT.u32(entry),
                len: at::SLICE_LEN.u32(entry),
                check: at::SLICE_CHECK.u32(entry),
            })
        })
    }

    /// The line called `name`. Names are compared as bytes; versions differ in length or last byte
    /// most often.
    pub(crate) fn find(self, name: &str) -> Option<Line<'a>> {
        let mut names = self.names;
        for entry in self.entries.chunks_exact(SLICE_ENTRY_LEN) {
            let (this, rest) = names.split_at_checked(at::SLICE_NAME_LEN.u16(entry).into())?;
            names = rest;
            if this.last() == name.as_bytes().last() && this == name.as_bytes() {
                return Some(Line {
                    name: str::from_utf8(this).ok()?,
                    flags: at::SLICE_FLAGS.u16(entry),
                    at: at::SLICE_AT.u32(entry),
                    len: at::SLICE_LEN.u32(entry),
                    check: at::SLICE_CHECK.u32(entry),
                });
            }
        }
        None
    }

    fn build(put: &Put<'_>) -> Vec<u8> {
        let mut bytes = vec![0; put.slices.len() * SLICE_ENTRY_LEN];
        let mut apart = put.body.len();
        for (slice, entry) in put.slices.iter().zip(bytes.chunks_exact_mut(SLICE_ENTRY_LEN)) {
            let (from, data) = match &slice.part {
                Part::InBody(range) => (range.start, &put.body[range.clone()]),
                Part::Apart(data) => (apart, *data),
            };
            if matches!(slice.part, Part::Apart(_)) {
                apart += data.len();
            }
            at::SLICE_AT.put(entry, &narrow(from).to_le_bytes());
            at::SLICE_LEN.put(entry, &narrow(data.len()).to_le_bytes());
            at::SLICE_CHECK.put(entry, &crate::check::check(data).to_le_bytes());
            at::SLICE_NAME_LEN.put(entry, &short(slice.name.len()).to_le_bytes());
            at::SLICE_FLAGS.put(entry, &slice.flags.to_le_bytes());
        }
        put.slices.iter().for_each(|slice| bytes.extend_from_slice(slice.name.as_bytes()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_directory_gives_back_names_flags_and_ranges() {
        let put =
            Put::new().body(b"abcdef").slice_in_body("x", 7, 1..3).slice("longer", 8, b"apart");
        let bytes = Directory::build(&put);
        let directory = Directory::decode(&bytes, 2).unwrap();
        let lines: Vec<_> = directory.lines().map(|l| (l.name, l.flags, l.at, l.len)).collect();
        assert_eq!(lines, [("x", 7, 1, 2), ("longer", 8, 6, 5)]);
        assert_eq!(directory.find("longer").unwrap().check, crate::check::check(b"apart"));
        assert_eq!(directory.find("lon"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes: Vec<u8>, slices in 0_u32..9) {
            let _ = Head::decode(&bytes);
            if let Some(directory) = Directory::decode(&bytes, slices) {
                prop_assert!(directory.lines().count() <= 8);
                prop_assert!(directory.find("no such name").is_none());
            }
        }

        #[test]
        fn a_head_survives_its_encoding(key in ".{0,20}", token: Vec<u8>, body: Vec<u8>) {
            let mut log = Vec::new();
            let encoded = append_put(&mut log, &key, &Put::new().token(&token).body(&body));
            let head = Head::decode(&log[encoded.at..]).unwrap();
            let named = &log[encoded.at..][..head.named_len()];
            prop_assert_eq!(&named[head.key()], key.as_bytes());
            prop_assert_eq!(&named[head.token()], &token);
            prop_assert_eq!(encoded.check, crate::check::check(named));
            let from = usize::try_from(head.content_at(wide(encoded.at))).unwrap();
            prop_assert_eq!(&log[from..][..body.len()], &body);
        }
    }
}
