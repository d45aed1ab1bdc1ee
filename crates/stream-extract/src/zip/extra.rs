//! Extra fields: the second place where a zip can say something else than its header.
//!
//! Parsed strictly: a field that does not fit, or a second field of a kind that matters, is refused.
//! Fields that this crate does not know are skipped; they cannot change what is extracted.

use super::layout::SENTINEL32;
use crate::error::{Class, Error, Result};

const ZIP64: u16 = 0x0001;
const UNICODE_PATH: u16 = 0x7075;

/// The fields that matter.
#[derive(Debug, Default)]
pub(crate) struct Extra<'a> {
    zip64: Option<&'a [u8]>,
    unicode_path: Option<&'a [u8]>,
}

pub(crate) fn parse(mut bytes: &[u8]) -> Result<Extra<'_>> {
    let mut extra = Extra::default();
    while !bytes.is_empty() {
        let (id, field, rest) = split_field(bytes)?;
        let slot = match id {
            ZIP64 => &mut extra.zip64,
            UNICODE_PATH => &mut extra.unicode_path,
            _ => &mut None,
        };
        if slot.replace(field).is_some() {
            return Err(corrupt("an extra field appears twice"));
        }
        bytes = rest;
    }
    Ok(extra)
}

fn split_field(bytes: &[u8]) -> Result<(u16, &[u8], &[u8])> {
    let Some(([i0, i1, l0, l1], rest)) = bytes.split_first_chunk() else {
        return Err(corrupt("an extra field is cut short"));
    };
    let length = usize::from(u16::from_le_bytes([*l0, *l1]));
    let Some((field, rest)) = rest.split_at_checked(length) else {
        return Err(corrupt("an extra field is longer than its header allows"));
    };
    Ok((u16::from_le_bytes([*i0, *i1]), field, rest))
}

impl Extra<'_> {
    /// Sizes of a local header: with ZIP64 both must be there (APPNOTE 4.5.3).
    ///
    /// The field may be there without need, as writers leave it that reserve its place before they know
    /// the sizes; it must then repeat what the header says. Published wheels of protobuf are like that.
    pub(crate) fn local_sizes(&self, size: u32, packed: u32) -> Result<(u64, u64)> {
        let sentinel = size == SENTINEL32 || packed == SENTINEL32;
        match (self.zip64, sentinel) {
            (None, false) => Ok((size.into(), packed.into())),
            (None, true) => Err(corrupt("a size is in a ZIP64 field that is missing")),
            (Some(mut field), _) => {
                let size64 = take(&mut field)?;
                let packed64 = take(&mut field)?;
                expect_end(field)?;
                Ok((pick(size, size64)?, pick(packed, packed64)?))
            }
        }
    }

    /// Size, compressed size and offset of a central header: exactly what its sentinels ask for.
    pub(crate) fn central_sizes(&self, values: [u32; 3]) -> Result<[u64; 3]> {
        let sentinel = values.contains(&SENTINEL32);
        let mut field = match (self.zip64, sentinel) {
            (None, false) => return Ok(values.map(u64::from)),
            (None, true) => return Err(corrupt("a size is in a ZIP64 field that is missing")),
            (Some(_), false) => {
                return Err(corrupt("there is a ZIP64 field that nothing refers to"));
            }
            (Some(field), true) => field,
        };
        let mut wide = values.map(u64::from);
        for (value, wide) in values.into_iter().zip(&mut wide) {
            if value == SENTINEL32 {
                *wide = take(&mut field)?;
            }
        }
        expect_end(field)?;
        Ok(wide)
    }

    /// Refuses a Unicode path field that renames the entry.
    pub(crate) fn check_name(&self, name: &[u8]) -> Result<()> {
        let Some(field) = self.unicode_path else { return Ok(()) };
        match field.split_first_chunk::<5>() {
            Some(([1, ..], path)) if path == name => Ok(()),
            _ => Err(corrupt("a Unicode path field gives the entry another name")),
        }
    }
}

fn take(field: &mut &[u8]) -> Result<u64> {
    let Some((bytes, rest)) = field.split_first_chunk() else {
        return Err(corrupt("the ZIP64 field is too short"));
    };
    *field = rest;
    Ok(u64::from_le_bytes(*bytes))
}

fn expect_end(field: &[u8]) -> Result<()> {
    if field.is_empty() { Ok(()) } else { Err(corrupt("the ZIP64 field is too long")) }
}

fn pick(narrow: u32, wide: u64) -> Result<u64> {
    if narrow == SENTINEL32 || u64::from(narrow) == wide {
        return Ok(wide);
    }
    Err(Error::mismatch(Class::Corrupt, "size in the ZIP64 field", narrow, wide))
}

fn corrupt(what: &'static str) -> Error {
    Error::new(Class::Corrupt, what)
}
