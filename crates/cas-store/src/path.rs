//! The only place that decides which relative paths a store will touch.
//!
//! A path is text with `/` between names. It cannot leave the folder it is relative to, it cannot
//! name a device on Windows (by way of `:` or `\`, or as `nul.txt`) nor reach a file under a second
//! name there (`a.` is `a`), it is not longer than a system takes, and it holds no control character,
//! so that a manifest stays one line per file.

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
    if cfg!(windows)
        && let Some(what) = path.split('/').find_map(windows_fault)
    {
        return Some(what);
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

/// What Windows would make of `name` other than a file of that name.
fn windows_fault(name: &str) -> Option<&'static str> {
    if name.ends_with(['.', ' ']) {
        return Some("has a component that ends with a dot or a space, which Windows drops");
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end_matches(' ');
    is_device(&stem.to_ascii_uppercase())
        .then_some("has a component that is the name of a device on Windows")
}

/// The names of MS-DOS, superscript digits included; an ending does not make a file of them.
fn is_device(stem: &str) -> bool {
    match stem {
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" => true,
        _ => stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")).is_some_and(|number| {
            matches!(number.chars().next(), Some('0'..='9' | '¹' | '²' | '³'))
                && number.chars().count() == 1
        }),
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
        for good in ["a", "a/b", "a b/ü", ".hidden", "..a/b", "-"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for dotted in ["..a/b..", "a/..."] {
            assert_eq!(fault(dotted).is_some(), cfg!(windows), "{dotted}");
        }
        for bad in ["", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\nb", "a\0", "\x7f"] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }

    #[test]
    fn windows_names_of_devices_and_second_names_are_told() {
        for bad in
            ["nul", "NUL.txt", "Aux", "con.tar.gz", "com1", "LPT9.x", "COM\u{b2}", "a.", "a "]
        {
            assert!(windows_fault(bad).is_some(), "{bad}");
        }
        for bad in ["nul .txt", "conin$", "lpt0"] {
            assert!(windows_fault(bad).is_some(), "{bad}");
        }
        for good in ["nulls", "com", "com10", "console.py", ".a", "aux_", "lptx"] {
            assert_eq!(windows_fault(good), None, "{good}");
        }
        assert_eq!(fault("pkg/aux.py").is_some(), cfg!(windows));
    }

    #[test]
    fn ancestors_come_outermost_first() {
        assert_eq!(ancestors("a/b/c").collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(ancestors("a").count(), 0);
        assert_eq!((parent("a/b/c"), parent("a")), ("a/b", ""));
    }
}
