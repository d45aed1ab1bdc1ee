//! The floor: what no extractor of this design can avoid, and nothing else.
//!
//! First all entries are inflated through one 64 KiB buffer, with checksum and BLAKE3, to nowhere. Then
//! the same files are made: one open folder at a time, one `open`, the writes, one close, from a
//! buffer that is in memory. There is no parsing, no checking and no limit. The two passes together
//! are the floor.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};

use crate::cases::Result;

const BUFFER_BYTES: usize = 64 << 10;

/// One entry, as the `zip` crate lists it.
struct Entry {
    name: String,
    start: usize,
    packed: usize,
    size: usize,
    stored: bool,
}

pub(crate) fn run(archive: &Path, target: &Path) -> Result<()> {
    let bytes = fs::read(archive)?;
    let entries = list(&bytes)?;
    inflate_all(&bytes, &entries)?;
    write_all(&entries, target)
}

fn list(bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes))?;
    let mut entries = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let file = archive.by_index_raw(index)?;
        entries.push(Entry {
            name: file.name()?.into_owned(),
            start: usize::try_from(file.data_start().ok_or("no data")?)?,
            packed: usize::try_from(file.compressed_size())?,
            size: usize::try_from(file.size())?,
            stored: file.compression() == zip::CompressionMethod::Stored,
        });
    }
    Ok(entries)
}

fn inflate_all(bytes: &[u8], entries: &[Entry]) -> Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut inflate = Decompress::new(false);
    for entry in entries {
        let data = &bytes[entry.start..entry.start + entry.packed];
        let mut hashes = (crc32fast::Hasher::new(), blake3::Hasher::new());
        if entry.stored {
            data.chunks(BUFFER_BYTES).for_each(|chunk| update(&mut hashes, chunk));
        } else {
            inflate_one(data, &mut inflate, &mut buffer, &mut hashes)?;
        }
        std::hint::black_box((hashes.0.finalize(), hashes.1.finalize()));
    }
    Ok(())
}

fn update(hashes: &mut (crc32fast::Hasher, blake3::Hasher), bytes: &[u8]) {
    hashes.0.update(bytes);
    hashes.1.update(bytes);
}

fn inflate_one(
    data: &[u8],
    inflate: &mut Decompress,
    buffer: &mut [u8],
    hashes: &mut (crc32fast::Hasher, blake3::Hasher),
) -> Result<()> {
    inflate.reset(false);
    loop {
        let (consumed, before) = (usize::try_from(inflate.total_in())?, inflate.total_out());
        let status = inflate.decompress(&data[consumed..], buffer, FlushDecompress::None)?;
        let produced = usize::try_from(inflate.total_out() - before)?;
        update(hashes, &buffer[..produced]);
        if status == Status::StreamEnd {
            return Ok(());
        }
    }
}

fn write_all(entries: &[Entry], target: &Path) -> Result<()> {
    let content = vec![b'x'; BUFFER_BYTES];
    let mut last = String::from("\0");
    for entry in entries.iter().filter(|entry| !entry.name.ends_with('/')) {
        let (parent, _) = entry.name.rsplit_once('/').unwrap_or_default();
        if parent != last {
            fs::create_dir_all(target.join(parent))?;
            parent.clone_into(&mut last);
        }
        let path = target.join(&entry.name);
        let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut left = entry.size;
        while left > 0 {
            let count = left.min(BUFFER_BYTES);
            file.write_all(&content[..count])?;
            left -= count;
        }
    }
    Ok(())
}
