//! Reads and writes `RECORD`, the list of a package's files with their digests.
//!
//! It is CSV with three columns: path, `sha256=` digest in URL-safe base64, size. Text in, rows out;
//! whether a file matches its row is checked by `verify.rs`.
//!
//! # References
//!
//! "Recording installed projects" of the Python packaging user guide; RFC 4180.

use std::borrow::Cow;
use std::fmt::Write as _;

use anyhow::{Context, bail};

/// One file of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    /// Relative to the folder that holds the `.dist-info`, with `/`.
    pub(crate) path: String,
    pub(crate) sha256: Option<[u8; 32]>,
    pub(crate) size: Option<u64>,
}

/// Reads rows; a digest of another kind than SHA-256 is kept as absent.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        rows.push(parse_row(line).with_context(|| format!("line {} of RECORD", number + 1))?);
    }
    Ok(rows)
}

fn parse_row(line: &str) -> anyhow::Result<Row> {
    let mut fields = fields(line)?.into_iter();
    let path = fields.next().filter(|path| !path.is_empty()).context("it names no file")?;
    let digest = fields.next().unwrap_or_default();
    let size = fields.next().unwrap_or_default();
    let size =
        if size.is_empty() { None } else { Some(size.parse().context("its size is no number")?) };
    let path = if path.contains('\\') { path.replace('\\', "/") } else { path.into_owned() };
    Ok(Row { path, sha256: parse_digest(&digest)?, size })
}

/// The fields of one line; almost none has quotes.
fn fields(line: &str) -> anyhow::Result<Vec<Cow<'_, str>>> {
    if line.contains('"') {
        return Ok(split_fields(line)?.into_iter().map(Cow::Owned).collect());
    }
    Ok(line.split(',').map(Cow::Borrowed).collect())
}

fn parse_digest(text: &str) -> anyhow::Result<Option<[u8; 32]>> {
    match text.split_once('=') {
        Some(("sha256", digest)) => Ok(Some(decode(digest).context("its SHA-256 is malformed")?)),
        _ => Ok(None),
    }
}

/// Splits a line with quotes; a quoted field may hold commas and doubled quotes.
fn split_fields(line: &str) -> anyhow::Result<Vec<String>> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let field = fields.last_mut().context("no field")?;
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => field.push(other),
        }
    }
    if quoted {
        bail!("a quote is not closed");
    }
    Ok(fields)
}

/// Writes rows in the order of their paths.
pub(crate) fn write(mut rows: Vec<Row>) -> String {
    rows.sort();
    let mut text = String::new();
    for row in rows {
        push_row(&mut text, &row);
    }
    text
}

fn push_row(text: &mut String, row: &Row) {
    let digest = row.sha256.map(|digest| format!("sha256={}", encode(&digest)));
    let size = row.size.map(|size| size.to_string());
    let (digest, size) = (digest.unwrap_or_default(), size.unwrap_or_default());
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{},{digest},{size}", quote(&row.path));
}

fn quote(path: &str) -> String {
    if path.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", path.replace('"', "\"\""))
    } else {
        path.to_owned()
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const NO_DIGIT: u8 = u8::MAX;

/// What each character stands for. RECORD has 43 of them for each file.
const DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut digit = 0;
    while digit < 64 {
        digits[ALPHABET[digit as usize] as usize] = digit;
        digit += 1;
    }
    digits
};

/// URL-safe base64 without padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
        let word = word << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            let index = word >> (18 - 6 * digit) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

/// The digest that 43 characters of URL-safe base64 stand for; padding is tolerated.
fn decode(text: &str) -> Option<[u8; 32]> {
    let mut bytes = Vec::with_capacity(32);
    let (mut word, mut bits) = (0_u32, 0_u32);
    for character in text.trim_end_matches('=').bytes() {
        let digit = DIGITS[usize::from(character)];
        if digit == NO_DIGIT {
            return None;
        }
        word = word << 6 | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
    }
    bytes.try_into().ok()
}

/// Lower-case hexadecimal, as indexes and requirement files write digests.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The digest that 64 hexadecimal characters stand for.
pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_known_digest_is_written_as_python_writes_it() {
        // base64.urlsafe_b64encode(hashlib.sha256(b"").digest()).rstrip(b"=")
        let digest =
            unhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855").unwrap();
        assert_eq!(encode(&digest), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
        assert_eq!(hex(&digest)[..8], *"e3b0c442");
    }

    #[test]
    fn malformed_rows_are_refused_with_their_line() {
        for (text, what) in [
            ("a,,\n\"b,,\n", "line 2"),
            (",,\n", "line 1"),
            ("a,sha256=short,1\n", "line 1"),
            ("a,,many\n", "line 1"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.to_string().starts_with(what), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in proptest::collection::vec(
                ("[a-z\"][a-z,\" ./-]{0,8}", proptest::option::of(any::<[u8; 32]>()), any::<Option<u64>>())
                    .prop_map(|(path, sha256, size)| Row { path, sha256, size }),
                0..8,
            )
        ) {
            let mut sorted = rows.clone();
            sorted.sort();
            prop_assert_eq!(parse(&write(rows)).unwrap(), sorted);
        }

        #[test]
        fn hostile_text_is_an_error_or_rows(text in "\\PC{0,40}") {
            if let Ok(rows) = parse(&text) {
                prop_assert!(rows.iter().all(|row| !row.path.is_empty()));
            }
        }
    }
}
