//! The floor: what no extractor of this design can avoid, and nothing else.
//!
//! First all entries are inflated through one 64 KiB buffer, with checksum and BLAKE3, to nowhere. Then
//! the same files are made: one `mkdir` per folder, one `open`, the writes, one close, from a buffer
//! that is in memory. The two passes together are the floor: no checking, no limit, no name kept, and
//! headers are only skipped. With two threads each pass is split into two runs of neighbours of about equal
//! cost, known in advance: what no order of handing out entries can beat by much.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;

use bench_extract::Result;
use flate2::{Decompress, FlushDecompress, Status};

use crate::cases::READ_BYTES;

const BUFFER_BYTES: usize = 64 << 10;
const END_LEN: usize = 22;
const CENTRAL_LEN: usize = 46;
const LOCAL_LEN: usize = 30;

type Hashes = (crc32fast::Hasher, blake3::Hasher);

/// One entry of the central directory.
struct Entry {
    name: String,
    /// Where its local header starts.
    start: u64,
    packed: u64,
    size: usize,
    stored: bool,
}

/// Bytes inflated, or written, in the time that it takes to begin and end an entry, or a file; roughly.
const INFLATE_ENTRY_BYTES: usize = 2 << 10;
const WRITE_FILE_BYTES: usize = 32 << 10;

pub(crate) fn run(archive: &Path, target: &Path) -> Result<()> {
    let entries = list(archive)?;
    inflate_all(archive, &entries)?;
    write_all(&entries, target)
}

pub(crate) fn run_on_two_threads(archive: &Path, target: &Path) -> Result<()> {
    let entries = list(archive)?;
    both(halves(&entries, INFLATE_ENTRY_BYTES), |half| inflate_all(archive, half))?;
    both(halves(&entries, WRITE_FILE_BYTES), |half| write_all(half, target))
}

/// Two runs of about equal cost: sizes, and `fixed` bytes per entry.
fn halves(entries: &[Entry], fixed: usize) -> (&[Entry], &[Entry]) {
    let cost = |entry: &Entry| entry.size + fixed;
    let all: usize = entries.iter().map(cost).sum();
    let mut sum = 0;
    let middle = entries.iter().position(|entry| {
        sum += cost(entry);
        sum > all / 2
    });
    entries.split_at(middle.unwrap_or(0))
}

/// Does one half here and the other on a thread.
fn both(halves: (&[Entry], &[Entry]), work: impl Fn(&[Entry]) -> Result<()> + Sync) -> Result<()> {
    thread::scope(|scope| {
        let other = scope.spawn(|| work(halves.1));
        work(halves.0)?;
        other.join().map_err(|_| "a thread panicked")?
    })
}

/// Lists an archive that needs no ZIP64 and has no comment, as those of this benchmark.
fn list(archive: &Path) -> Result<Vec<Entry>> {
    let mut file = File::open(archive)?;
    file.seek(SeekFrom::End(-(i64::try_from(END_LEN)?)))?;
    let mut end = [0; END_LEN];
    file.read_exact(&mut end)?;
    if !end.starts_with(b"PK\x05\x06") {
        return Err("the archive does not end with its end record".into());
    }
    let mut central = vec![0; number(&end[12..16])];
    file.seek(SeekFrom::Start(number(&end[16..20]) as u64))?;
    file.read_exact(&mut central)?;
    let mut rest = &central[..];
    let mut entries = Vec::new();
    while !rest.is_empty() {
        entries.push(entry(&mut rest)?);
    }
    entries.sort_by_key(|entry| entry.start);
    Ok(entries)
}

/// Takes one header off the front of `rest`.
fn entry(rest: &mut &[u8]) -> Result<Entry> {
    let (header, behind) = rest.split_at(CENTRAL_LEN);
    let (name, behind) = behind.split_at(number(&header[28..30]));
    *rest = &behind[number(&header[30..32]) + number(&header[32..34])..];
    Ok(Entry {
        name: String::from_utf8(name.to_vec())?,
        start: number(&header[42..46]) as u64,
        packed: number(&header[20..24]) as u64,
        size: number(&header[24..28]),
        stored: number(&header[10..12]) == 0,
    })
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

fn inflate_all(archive: &Path, entries: &[Entry]) -> Result<()> {
    let mut reader = BufReader::with_capacity(READ_BYTES, File::open(archive)?);
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut inflate = Decompress::new(false);
    let mut at = 0;
    for entry in entries {
        let mut local = [0; LOCAL_LEN];
        reader.seek_relative(i64::try_from(entry.start - at)?)?;
        reader.read_exact(&mut local)?;
        let skipped = number(&local[26..28]) + number(&local[28..30]);
        reader.seek_relative(i64::try_from(skipped)?)?;
        at = entry.start + (LOCAL_LEN + skipped) as u64 + entry.packed;
        let mut hashes = (crc32fast::Hasher::new(), blake3::Hasher::new());
        if entry.stored {
            copy_one(&mut reader, entry, &mut buffer, &mut hashes)?;
        } else {
            inflate_one(&mut reader, &mut inflate, &mut buffer, &mut hashes)?;
        }
        std::hint::black_box((hashes.0.finalize(), hashes.1.finalize()));
    }
    Ok(())
}

fn update(hashes: &mut Hashes, bytes: &[u8]) {
    hashes.0.update(bytes);
    hashes.1.update(bytes);
}

fn copy_one(
    reader: &mut BufReader<File>,
    entry: &Entry,
    buffer: &mut [u8],
    hashes: &mut Hashes,
) -> Result<()> {
    let mut left = entry.size;
    while left > 0 {
        let count = left.min(buffer.len());
        reader.read_exact(&mut buffer[..count])?;
        update(hashes, &buffer[..count]);
        left -= count;
    }
    Ok(())
}

/// Fills the buffer whole before it is hashed, as whoever writes files does.
fn inflate_one(
    reader: &mut BufReader<File>,
    inflate: &mut Decompress,
    buffer: &mut [u8],
    hashes: &mut Hashes,
) -> Result<()> {
    inflate.reset(false);
    let mut filled = 0;
    loop {
        let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
        let bytes = reader.fill_buf()?;
        let status = inflate.decompress(bytes, &mut buffer[filled..], FlushDecompress::None)?;
        reader.consume(usize::try_from(inflate.total_in() - before_in)?);
        filled += usize::try_from(inflate.total_out() - before_out)?;
        if filled == buffer.len() || status == Status::StreamEnd {
            update(hashes, &buffer[..filled]);
            filled = 0;
        }
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
