//! The only module that decides whether a name from an archive may become a path.
//!
//! A name is hostile text. It is judged as *every* system would read it, not only as this one does:
//! `\` separates on Windows, `C:` is a drive there, and an archive that is harmless here must not be
//! an attack on a colleague. What is judged safe is rewritten without `.` and empty components, so
//! that the check for duplicates sees one spelling. Nothing is silently repaired beyond that.

use std::borrow::Cow;

use crate::error::{Class, Error, Result};
use crate::limits::Limits;
use crate::policy::Policy;

/// Longest component that any common file system holds.
const COMPONENT_BYTES_MAX: usize = 255;

/// Writes the safe form of `raw` to `out`; an empty `out` means the target folder itself.
pub(crate) fn sanitize(
    raw: &[u8],
    policy: &Policy,
    limits: &Limits,
    out: &mut String,
) -> Result<()> {
    out.clear();
    let name = text(raw, limits)?;
    if name.starts_with('/') || name.bytes().any(|byte| matches!(byte, b'\\' | b':')) {
        reject_rooted(name)?;
    }
    let windows = policy.checks_windows_names();
    for component in name.split('/') {
        if component.is_empty() || component == "." {
            continue;
        }
        if component == ".." {
            return Err(unsafe_path(LEAVES));
        }
        check_component(component, windows)?;
        if !out.is_empty() {
            out.push('/');
        }
        out.push_str(component);
    }
    check_shape(out, policy, limits)
}

fn text<'a>(raw: &'a [u8], limits: &Limits) -> Result<&'a str> {
    if raw.is_empty() {
        return Err(unsafe_path("the name is empty"));
    }
    if raw.len() > limits.name_bytes {
        let found = format!("{} bytes", raw.len());
        return Err(Error::mismatch(
            Class::Limit,
            "length of a name",
            format!("at most {}", limits.name_bytes),
            found,
        ));
    }
    let name = std::str::from_utf8(raw).map_err(|_| unsafe_path("the name is not UTF-8"))?;
    if raw.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(name);
    }
    match name.chars().find(|&c| is_unprintable(c)) {
        Some(c) => Err(unsafe_path(format!("the name has the invisible character {}", code(c)))),
        None => Ok(name),
    }
}

fn code(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

/// Control and format characters: invisible, or able to reorder what a person reads.
fn is_unprintable(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

const LEAVES: &str = "the name leaves its folder with `..`";

/// Judges a name as a system does for which `\` separates and `C:` is a drive.
fn reject_rooted(name: &str) -> Result<()> {
    if name.starts_with(['/', '\\']) {
        return Err(unsafe_path("the name is absolute"));
    }
    if name.split(['/', '\\']).any(|part| part == "..") {
        return Err(unsafe_path(LEAVES));
    }
    if name.split(['/', '\\']).any(starts_with_drive) {
        return Err(unsafe_path("the name has a drive letter"));
    }
    Ok(())
}

fn starts_with_drive(part: &str) -> bool {
    matches!(part.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

fn check_component(component: &str, windows: bool) -> Result<()> {
    if component.len() > COMPONENT_BYTES_MAX {
        return Err(unsafe_path("a component of the name is longer than 255 bytes"));
    }
    if windows { check_windows(component) } else { Ok(()) }
}

fn check_windows(component: &str) -> Result<()> {
    let never = |byte| matches!(byte, b'\\' | b'<' | b'>' | b':' | b'"' | b'|' | b'?' | b'*');
    if let Some(byte) = component.bytes().find(|&byte| never(byte)) {
        let c = char::from(byte);
        return Err(unsafe_path(format!("Windows cannot hold a name with `{c}`")));
    }
    if component.ends_with(['.', ' ']) {
        return Err(unsafe_path("Windows drops the dot or space at the end of the name"));
    }
    if is_device(component) {
        return Err(unsafe_path("Windows reserves the name for a device"));
    }
    Ok(())
}

const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// `CON`, `con.rs` and `Com¹ .txt` all open a device on Windows.
fn is_device(component: &str) -> bool {
    let stem = component.split('.').next().unwrap_or(component).trim_end_matches(' ');
    if !(3..=7).contains(&stem.len()) {
        return false;
    }
    DEVICES.iter().any(|name| stem.eq_ignore_ascii_case(name)) || is_numbered_device(stem)
}

fn is_numbered_device(stem: &str) -> bool {
    let Some((kind, number)) = stem.split_at_checked(3) else { return false };
    let mut digits = number.chars();
    let one_digit = matches!(digits.next(), Some('0'..='9' | '¹' | '²' | '³'));
    let known = kind.eq_ignore_ascii_case("COM") || kind.eq_ignore_ascii_case("LPT");
    known && one_digit && digits.next().is_none()
}

fn check_shape(path: &str, policy: &Policy, limits: &Limits) -> Result<()> {
    let depth = path.split('/').count();
    if depth > limits.depth {
        let at_most = format!("at most {}", limits.depth);
        return Err(Error::mismatch(Class::Limit, "depth of a path", at_most, depth));
    }
    match &policy.root {
        Some(root) if !path.is_empty() && path.split('/').next() != Some(root) => {
            let found = path.escape_debug().to_string();
            Err(Error::mismatch(Class::UnsafePath, "first component of the name", root, found))
        }
        _ => Ok(()),
    }
}

fn unsafe_path(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(Class::UnsafePath, what)
}
