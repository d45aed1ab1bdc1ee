//! Reading a file's schema tag, for tools that open what others wrote.

use crate::error::{Error, Result};
use crate::header::Verdict;
use crate::layer::read_slots;
use crate::medium::{Disk, OsDisk};
use std::path::Path;

/// The schema tag of the file at `path`; none when it is not a readable file of this family.
///
/// # Errors
///
/// [`Error::is_io`] when the file cannot be read.
pub fn schema_of(path: &Path) -> Result<Option<[u8; 32]>> {
    let medium = OsDisk.open(path).map_err(|error| Error::io("open", path, error))?;
    Ok(match read_slots(&*medium, path)?.verdict() {
        Verdict::Current(header) => Some(header.schema),
        Verdict::Foreign | Verdict::Newer | Verdict::Damaged => None,
    })
}
