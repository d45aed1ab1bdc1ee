//! The content of a record in one piece, with every check in it compared: what verifying, copying
//! up from a base, and compaction need.

use crate::error::{Error, Result};
use crate::layer::{Bytes, Layer, Record};
use crate::record::{Content, Directory, Line};
use std::ops::Range;

/// Reads directory and payload of `record` and compares all their checks.
pub(crate) fn read(layer: &Layer, record: &Record) -> Result<Bytes> {
    let head = layer.head(record);
    let (content, at) = (head.content(), head.content_at(record.offset()));
    let len = usize::try_from(content.len()).unwrap_or(usize::MAX);
    let bytes = layer.read(at, len, "content")?;
    match fault(layer.view(&bytes), &content) {
        None => Ok(bytes),
        Some(what) => Err(Error::corrupt(&layer.path, at, what)),
    }
}

/// The first part of `bytes` that is not what its check says.
fn fault(bytes: &[u8], content: &Content) -> Option<&'static str> {
    let Some((payload, directory)) = split(bytes, content) else { return Some("content") };
    if crate::check::check(directory) != content.directory_check {
        return Some("directory");
    }
    let body = &payload[..range(0, content.body_len).end.min(payload.len())];
    if crate::check::check(body) != content.body_check {
        return Some("body");
    }
    match Directory::decode(directory, content.slices) {
        Some(directory) => slices_fault(directory, payload, content.slices),
        None => Some("directory"),
    }
}

fn slices_fault(directory: Directory<'_>, payload: &[u8], slices: u32) -> Option<&'static str> {
    let mut seen = 0;
    for line in directory.lines() {
        seen += 1;
        if !is_sound(&line, payload) {
            return Some("slice");
        }
    }
    // Lines end early where a name is impossible.
    (seen != slices).then_some("directory")
}

fn is_sound(line: &Line<'_>, payload: &[u8]) -> bool {
    let bytes = payload.get(range(line.at, line.len));
    bytes.is_some_and(|bytes| crate::check::check(bytes) == line.check)
}

fn split<'a>(bytes: &'a [u8], content: &Content) -> Option<(&'a [u8], &'a [u8])> {
    bytes.split_at_checked(usize::try_from(content.payload_len).ok()?)
}

fn range(at: u32, len: u32) -> Range<usize> {
    let from = usize::try_from(at).unwrap_or(usize::MAX);
    from..from.saturating_add(usize::try_from(len).unwrap_or(usize::MAX))
}
