//! Extension records: what GNU long names and PAX headers say of the entry behind them.
//!
//! They apply to the next entry that is no extension, and to that one only.

use crate::error::{Class, Error, Result};

/// What extensions said so far of the next entry.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extensions {
    pub(crate) fn path(&self) -> Option<&[u8]> {
        self.path.as_deref()
    }

    pub(crate) fn link(&self) -> Option<&[u8]> {
        self.link.as_deref()
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// True when something waits for an entry.
    pub(crate) fn is_pending(&self) -> bool {
        self.path.is_some() || self.link.is_some() || self.size.is_some()
    }

    /// A GNU long name: text, one or more zero bytes, nothing behind them.
    pub(crate) fn gnu_path(&mut self, record: &[u8]) -> Result<()> {
        set(&mut self.path, until_zeros(record)?)
    }

    /// A GNU long link target.
    pub(crate) fn gnu_link(&mut self, record: &[u8]) -> Result<()> {
        set(&mut self.link, until_zeros(record)?)
    }

    /// A PAX header: `length key=value\n`, repeated; of two equal keys the last one counts.
    pub(crate) fn pax(&mut self, record: &[u8]) -> Result<()> {
        let (mut path, mut link) = (None, None);
        for_each_pair(record, |key, value| {
            match key {
                b"path" => path = Some(value),
                b"linkpath" => link = Some(value),
                b"size" => self.size = Some(decimal(value)?),
                _ if key.starts_with(b"GNU.sparse.") => return Err(sparse()),
                _ => {}
            }
            Ok(())
        })?;
        path.map_or(Ok(()), |path| set(&mut self.path, path))?;
        link.map_or(Ok(()), |link| set(&mut self.link, link))
    }
}

fn set(slot: &mut Option<Vec<u8>>, text: &[u8]) -> Result<()> {
    match slot {
        Some(old) if old != text => Err(corrupt("two extension headers name the entry")),
        _ => {
            *slot = Some(text.to_vec());
            Ok(())
        }
    }
}

/// A global PAX header may hold comments, as `git archive` writes; not what would apply to every entry.
pub(crate) fn check_global(record: &[u8]) -> Result<()> {
    for_each_pair(record, |key, _| match key {
        b"path" | b"linkpath" | b"size" => {
            Err(corrupt("a global header renames or resizes every entry"))
        }
        _ if key.starts_with(b"GNU.sparse.") => Err(sparse()),
        _ => Ok(()),
    })
}

fn for_each_pair<'a>(
    mut record: &'a [u8],
    mut each: impl FnMut(&'a [u8], &'a [u8]) -> Result<()>,
) -> Result<()> {
    while !record.is_empty() {
        let (key, value, rest) =
            split_pair(record).ok_or_else(|| corrupt("a PAX header is malformed"))?;
        each(key, value)?;
        record = rest;
    }
    Ok(())
}

/// Splits `length key=value\n` off; the length counts itself.
fn split_pair(record: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = record.iter().position(|&byte| byte == b' ')?;
    let length = usize::try_from(decimal(&record[..space]).ok()?).ok()?;
    let (pair, rest) = record.split_at_checked(length)?;
    let pair = pair.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    let (key, value) = pair.split_at(equals);
    (!key.is_empty()).then_some((key, &value[1..], rest))
}

fn decimal(text: &[u8]) -> Result<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| digits);
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| corrupt("a number in a PAX header is malformed"))
}

fn until_zeros(record: &[u8]) -> Result<&[u8]> {
    let end = record.iter().position(|&byte| byte == 0).unwrap_or(record.len());
    let (text, rest) = record.split_at(end);
    if rest.iter().any(|&byte| byte != 0) {
        return Err(corrupt("there are bytes behind the end of a long name"));
    }
    Ok(text)
}

#[cold]
fn sparse() -> Error {
    Error::new(Class::Unsupported, "the entry is a sparse file")
}

#[cold]
fn corrupt(what: &'static str) -> Error {
    Error::new(Class::Corrupt, what)
}
