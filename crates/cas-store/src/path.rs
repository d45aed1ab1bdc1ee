//! The only place that decides which relative paths a store will touch.
//!
//! A path is text with `/` between names. It cannot leave the folder it is relative to, it cannot
//! name a device on Windows by way of `:` or `\`, it is not longer than a system takes, and it holds no
//! control character, so that a manifest stays one line per file.

use crate::error::{Error, Result};

/// What Linux takes in one call. A longer path would fail anyway, after half of its folders were made.
const PATH_BYTES_MAX: usize = 4095;

/// Checks `path` and returns it.
pub(crate) fn checked(path: &str) -> Result<&str> {
    match fault(path) {
        None => Ok(path),
        Some(what) => Err(Error::unsafe_path(path, what)),
    }
}

/// What is wrong with `path`, if anything.
pub(crate) fn fault(path: &str) -> Option<&'static str> {
    if path.len() > PATH_BYTES_MAX {
        return Some("is longer than 4095 bytes");
    }
    if path.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Some("holds a control character");
    }
    if cfg!(windows) && path.contains(['\\', ':']) {
        return Some("holds a character that Windows reserves");
    }
    // Bytes, because `split` on text searches for each short name anew.
    path.as_bytes().split(|&byte| byte == b'/').find_map(component_fault)
}

fn component_fault(name: &[u8]) -> Option<&'static str> {
    match name {
        b"" => Some("has an empty component or is absolute"),
        b"." | b".." => Some("has a component that is not a name"),
        _ => None,
    }
}

/// The folder part of a checked path, empty for a file at the top.
pub(crate) fn parent(path: &str) -> &str {
    path.bytes().rposition(|byte| byte == b'/').map_or("", |at| &path[..at])
}

/// Every folder above `path`, outermost first.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_folder() {
        for good in ["a", "a/b", "a b/ü", ".hidden", "..a/b..", "a/...", "-"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\nb", "a\0", "\x7f"] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn ancestors_come_outermost_first() {
        assert_eq!(ancestors("a/b/c").collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(ancestors("a").count(), 0);
        assert_eq!((parent("a/b/c"), parent("a")), ("a/b", ""));
    }
}
