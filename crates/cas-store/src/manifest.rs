//! The text of a tree manifest. Bytes in, answer out: this module does no I/O.
//!
//! ```text
//! cas-store tree 1
//! key <percent-escaped>
//! <64 hex digits> <size in bytes> <- or x> <path>      sorted by path, no path twice
//! end <BLAKE3 of every byte before this line>
//! ```
//!
//! One tree has one spelling, so that equal trees are equal bytes: anything else is refused.

use crate::digest::{Digest, Executable};
use crate::path;
use crate::tree::TreeFile;

const MAGIC: &str = "cas-store tree 1\n";

/// A decoded manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub(crate) key: String,
    pub(crate) files: Vec<TreeFile>,
}

/// What is wrong, on which line (the first is 1).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) line: u64,
    pub(crate) what: &'static str,
}

pub(crate) fn encode(key: &str, files: &[TreeFile]) -> Vec<u8> {
    let mut text = Vec::with_capacity(128 + files.len() * 128);
    text.extend_from_slice(MAGIC.as_bytes());
    text.extend_from_slice(format!("key {}\n", escaped(key)).as_bytes());
    encode_files(files, &mut text);
    let check = Digest::of(&text);
    text.extend_from_slice(format!("end {check}\n").as_bytes());
    text
}

/// The lines of the files alone, which is also what a tree's digest is made of.
pub(crate) fn encode_files(files: &[TreeFile], text: &mut Vec<u8>) {
    for file in files {
        text.extend_from_slice(&file.digest.hex());
        let mark = if file.executable.into() { 'x' } else { '-' };
        text.extend_from_slice(format!(" {} {mark} {}\n", file.size, file.path).as_bytes());
    }
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Manifest, Fault> {
    let fault = |line, what| Fault { line, what };
    let body = checked_body(bytes).map_err(|what| fault(0, what))?;
    let text = str::from_utf8(body).map_err(|_| fault(0, "not UTF-8"))?;
    let rest = text.strip_prefix(MAGIC).ok_or(fault(1, "not a tree manifest of version 1"))?;
    // `lines` would also take an unfinished last line, and a carriage return for part of the end.
    let rest = rest.strip_suffix('\n').ok_or(fault(0, "the last line is not finished"))?;
    let mut lines = rest.split('\n');
    let key = lines.next().and_then(|line| line.strip_prefix("key ")).and_then(unescaped);
    let key = key.ok_or(fault(2, "no key"))?;
    let mut files: Vec<TreeFile> = Vec::new();
    for (line, text) in (3..).zip(lines) {
        let file = decode_file(text).map_err(|what| fault(line, what))?;
        if files.last().is_some_and(|last| last.path >= file.path) {
            return Err(fault(line, "paths are not sorted"));
        }
        files.push(file);
    }
    Ok(Manifest { key, files })
}

/// Everything before the last line, when that line holds its digest.
fn checked_body(bytes: &[u8]) -> Result<&[u8], &'static str> {
    const END_BYTES: usize = "end ".len() + 64 + 1;
    let at = bytes.len().checked_sub(END_BYTES).ok_or("cut short")?;
    let (body, end) = bytes.split_at(at);
    let end = str::from_utf8(end).ok().and_then(|end| end.strip_prefix("end "));
    let check = end.and_then(|end| end.strip_suffix('\n')).ok_or("cut short")?;
    let check: Digest = check.parse().map_err(|_| "the checksum is not one")?;
    if Digest::of(body) == check { Ok(body) } else { Err("the checksum does not match") }
}

fn decode_file(line: &str) -> Result<TreeFile, &'static str> {
    let mut parts = line.splitn(4, ' ');
    let mut next = || parts.next().ok_or("a field is missing");
    let digest = next()?.parse().map_err(|_| "the digest is not one")?;
    let size = canonical_number(next()?).ok_or("the size is not a number")?;
    let executable = match next()? {
        "-" => Executable::No,
        "x" => Executable::Yes,
        _ => return Err("the executable mark is neither `-` nor `x`"),
    };
    let path = next()?;
    if path::fault(path).is_some() {
        return Err("the path is not allowed");
    }
    Ok(TreeFile { path: path.to_owned(), digest, executable, size })
}

/// One number has one spelling.
fn canonical_number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Control characters, spaces and `%` as `%xx`, byte by byte.
fn escaped(key: &str) -> String {
    let mut text = String::with_capacity(key.len());
    for char in key.chars() {
        if char.is_ascii_graphic() && char != '%' {
            text.push(char);
        } else {
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                text.extend(["%", &format!("{byte:02x}")]);
            }
        }
    }
    text
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        bytes.push(u8::from_str_radix(rest.get(at + 1..at + 3)?, 16).ok()?);
        rest = &rest[at + 3..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    let key = String::from_utf8(bytes).ok()?;
    (escaped(&key) == text).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_ends_otherwise_is_refused() {
        let encoded = String::from_utf8(encode("k", &sample())).unwrap();
        let (body, _) = encoded.split_at(encoded.rfind("end ").unwrap());
        assert!(decode(&sealed(body)).is_ok());
        assert!(decode(&sealed(body.trim_end())).is_err(), "no newline");
        assert!(decode(&sealed(&body.replacen("key k\n", "key k\r\n", 1))).is_err(), "\\r\\n");
    }

    fn sample() -> Vec<TreeFile> {
        vec![TreeFile {
            path: "bin/hello".to_owned(),
            digest: Digest::of(b"hello\n"),
            executable: Executable::Yes,
            size: 6,
        }]
    }

    #[test]
    fn the_document_shows_a_manifest() {
        let text = String::from_utf8(encode("hello 1.0", &sample())).unwrap();
        let document = include_str!("../docs/LAYOUT.md");
        assert!(document.contains(&text), "expected:\n{text}");
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_refused() {
        let bytes = encode("hello 1.0", &sample());
        for at in 0..bytes.len() {
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 1;
            assert!(decode(&flipped).is_err(), "flipped at {at}");
        }
    }

    /// A manifest whose checksum is right, whatever it says.
    fn sealed(body: &str) -> Vec<u8> {
        format!("{body}end {}\n", Digest::of(body.as_bytes())).into_bytes()
    }

    #[test]
    fn a_sealed_manifest_with_a_bad_line_is_refused_by_line() {
        let hex = Digest::of(b"x").to_string();
        let line = |rest: &str| sealed(&format!("{MAGIC}key k\n{hex} {rest}\n"));
        assert!(decode(&line("1 - a")).is_ok());
        for rest in ["01 - a", "1 y a", "1 - ../a", "1 - /a", "1 - ", "1 -", "+1 - a", "1 - a\tb"] {
            assert_eq!(decode(&line(rest)).unwrap_err().line, 3, "{rest:?}");
        }
        let twice = format!("{MAGIC}key k\n{hex} 1 - a\n{hex} 1 - a\n");
        assert_eq!(decode(&sealed(&twice)).unwrap_err().line, 4);
    }

    proptest! {
        #[test]
        fn a_manifest_reads_back(key in "\\PC*", names in prop::collection::btree_set("[a-zü /]{1,9}", 0..20)) {
            let files: Vec<_> = names
                .into_iter()
                .filter(|name| path::fault(name).is_none())
                .map(|path| TreeFile { size: path.len() as u64, digest: Digest::of(path.as_bytes()), executable: (path.len() % 2 == 0).into(), path })
                .collect();
            let decoded = decode(&encode(&key, &files)).unwrap();
            prop_assert_eq!(decoded, Manifest { key, files });
        }

        #[test]
        fn any_bytes_are_answered(bytes: Vec<u8>) {
            prop_assert!(decode(&bytes).is_err());
        }
    }
}
