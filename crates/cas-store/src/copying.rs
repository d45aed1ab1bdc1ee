//! Bytes from one open file to another: shared extents where asked for, else read, hashed and written.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::digest::{BUFFER_BYTES, Digest, Hasher};
use crate::plan::Means;
use crate::sys;

/// How the bytes came across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    Reflinked,
    /// Read and written, and these bytes have this digest.
    Hashed(Digest),
}

/// Fills the new, empty file `to` with all bytes of `from`.
///
/// A clone is tried only when `means` is [`Means::Reflink`]: a refused one costs as much as a file.
pub(crate) fn copy(from: &mut File, to: &mut File, means: Means) -> io::Result<Copied> {
    if means == Means::Reflink && cloned_whole(from, to) {
        return Ok(Copied::Reflinked);
    }
    to.set_len(0)?;
    to.seek(SeekFrom::Start(0))?;
    copy_hashing(from, to).map(Copied::Hashed)
}

/// True when the clone succeeded and is as long as its source (some file systems have cut it).
fn cloned_whole(from: &File, to: &File) -> bool {
    let length = |file: &File| file.metadata().map(|metadata| metadata.len()).ok();
    sys::clone_into(from, to).is_ok() && length(from) == length(to)
}

fn copy_hashing(from: &mut File, to: &mut File) -> io::Result<Digest> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    from.seek(SeekFrom::Start(0))?;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                to.write_all(&buffer[..read])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
