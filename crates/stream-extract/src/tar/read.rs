//! The sequence of headers and files.

use std::borrow::Cow;

use tar::EntryType;

use super::extension::{self, Extensions};
use super::header::{self, BLOCK_BYTES, Header};
use super::link::{self, Links, Pending};
use super::source::Source;
use crate::entry::{Done, Entry, EntryId};
use crate::error::{Class, Error, Result};
use crate::job::{Body, Job, pour};
use crate::names::{Names, Node};
use crate::path;
use crate::scratch::Buffers;
use crate::sink::Sink;

/// The parts of a scratch that a tar needs.
pub(crate) struct Work<'a> {
    pub(crate) buffers: &'a mut Buffers,
    pub(crate) name: &'a mut Vec<u8>,
    pub(crate) record: &'a mut Vec<u8>,
    pub(crate) path: &'a mut String,
    pub(crate) names: &'a mut Names,
}

/// Reads a tar to the end of `source`.
pub(crate) fn read<R: Source, S: Sink>(
    source: &mut R,
    job: &mut Job<'_>,
    work: Work<'_>,
    sink: &mut S,
) -> Result<()> {
    let Work { buffers, name, record, path, names } = work;
    let links = Links::default();
    Tar { source, job, sink, buffers, name, record, path, names, links }.read()
}

struct Tar<'a, 'j, R, S> {
    source: &'a mut R,
    job: &'a mut Job<'j>,
    sink: &'a mut S,
    buffers: &'a mut Buffers,
    name: &'a mut Vec<u8>,
    record: &'a mut Vec<u8>,
    path: &'a mut String,
    names: &'a mut Names,
    links: Links,
}

impl<R: Source, S: Sink> Tar<'_, '_, R, S> {
    fn read(mut self) -> Result<()> {
        self.job.plan.crc32 = false;
        let mut extensions = Extensions::default();
        let mut block = [0; BLOCK_BYTES];
        loop {
            self.source.fill_exact(&mut block)?;
            self.job.count_overhead(BLOCK_BYTES, self.source.offset())?;
            if block == [0; BLOCK_BYTES] {
                self.end(&extensions)?;
                return self.links.make(self.sink);
            }
            let offset = self.source.offset();
            let index = self.job.summary.entries;
            self.name.clear();
            self.one(&block, &mut extensions)
                .map_err(|error| error.in_entry(index, self.name).at(offset))?;
        }
    }

    /// Reads the second closing block and whatever pads the archive, which must be zeros.
    fn end(&mut self, extensions: &Extensions) -> Result<()> {
        if extensions.is_pending() {
            return Err(corrupt("an extension header has no entry"));
        }
        let buffer = &mut self.buffers.whole;
        self.source.fill_exact(&mut buffer[..BLOCK_BYTES])?;
        let mut count = BLOCK_BYTES;
        while count > 0 {
            if buffer[..count].iter().any(|&byte| byte != 0) {
                let what = "there are bytes after the end of the archive";
                return Err(corrupt(what).at(self.source.offset()));
            }
            count = self.source.fill(buffer)?;
            self.job.count_overhead(count, self.source.offset())?;
        }
        Ok(())
    }

    fn one(&mut self, block: &[u8; BLOCK_BYTES], extensions: &mut Extensions) -> Result<()> {
        let header = header::parse(block)?;
        let limits = self.job.limits;
        match header.kind() {
            EntryType::GNULongName => {
                self.read_record(header.size, limits.gnu_name_bytes)?;
                extensions.gnu_path(self.record)
            }
            EntryType::GNULongLink => {
                self.read_record(header.size, limits.gnu_name_bytes)?;
                extensions.gnu_link(self.record)
            }
            EntryType::XHeader => {
                self.read_record(header.size, limits.pax_bytes)?;
                extensions.pax(self.record)
            }
            EntryType::XGlobalHeader => {
                self.read_record(header.size, limits.pax_global_bytes)?;
                extension::check_global(self.record)
            }
            _ => self.entry(&header, &std::mem::take(extensions)),
        }
    }

    fn read_record(&mut self, size: u64, max: u64) -> Result<()> {
        let length = usize::try_from(size).ok().filter(|_| size <= max).ok_or_else(|| {
            let at_most = format!("at most {max}");
            Error::mismatch(Class::Limit, "bytes of an extension header", at_most, size)
        })?;
        self.record.clear();
        self.record.resize(length.next_multiple_of(BLOCK_BYTES), 0);
        self.source.fill_exact(self.record)?;
        self.record.truncate(length);
        self.job.count_overhead(length, self.source.offset())
    }

    fn entry(&mut self, header: &Header<'_>, extensions: &Extensions) -> Result<()> {
        self.job.count_entry()?;
        match extensions.path() {
            Some(path) => self.name.extend_from_slice(path),
            None => self.name.extend_from_slice(&header.path()),
        }
        let size = extensions.size().unwrap_or(header.size);
        match header.kind() {
            EntryType::Directory => self.folder(size),
            EntryType::Regular if self.name.ends_with(b"/") => self.folder(size),
            EntryType::Regular | EntryType::Continuous => self.file(header, size),
            EntryType::Symlink | EntryType::Link if self.job.policy.links => {
                self.link(header, extensions, size)
            }
            other => Err(refuse(other)),
        }
    }

    fn link(&mut self, header: &Header<'_>, extensions: &Extensions, size: u64) -> Result<()> {
        if size != 0 {
            return Err(corrupt("the entry is a link, but it has content"));
        }
        let target = match extensions.link() {
            Some(target) => Cow::Borrowed(target),
            None => header.link(),
        };
        link::check_length(&target, self.job.limits.name_bytes)?;
        path::sanitize(self.name, self.job.policy, self.job.limits, self.path)?;
        let path = self.path.clone();
        let hard = header.kind() == EntryType::Link;
        let target = if hard {
            self.hard_target(&target)?
        } else {
            link::check_symbolic(&path, &target)?.to_owned()
        };
        self.names.claim(&path, Node::Link)?;
        let id = EntryId(self.job.summary.entries - 1);
        self.links.push(Pending { id, path, target, hard })
    }

    /// The safe path of a file of this archive that came before.
    fn hard_target(&mut self, target: &[u8]) -> Result<String> {
        path::sanitize(target, self.job.policy, self.job.limits, self.path)?;
        if self.names.is_file(self.path) {
            return Ok(self.path.clone());
        }
        Err(Error::new(Class::UnsafePath, "the hard link's target is no earlier file"))
    }

    fn folder(&mut self, size: u64) -> Result<()> {
        self.job.summary.directories += 1;
        if size != 0 {
            return Err(corrupt("the entry is a folder, but it has content"));
        }
        path::sanitize(self.name, self.job.policy, self.job.limits, self.path)?;
        if self.path.is_empty() {
            return Ok(()); // `./`: the target folder itself, which exists.
        }
        self.names.claim(self.path, Node::Folder)?;
        let entry = entry(self.job, self.path, 0, false);
        self.sink.directory(&entry).map_err(Error::sink)
    }

    fn file(&mut self, header: &Header<'_>, size: u64) -> Result<()> {
        path::sanitize(self.name, self.job.policy, self.job.limits, self.path)?;
        if self.path.is_empty() {
            return Err(Error::new(Class::UnsafePath, "the name is the target folder itself"));
        }
        self.names.claim(self.path, Node::File)?;
        let entry = entry(self.job, self.path, size, header.executable());
        let mut data = Data { source: self.source, left: size, padding: padding(size) };
        pour(self.job, self.sink, &entry, &mut data, self.buffers).map(drop)
    }
}

fn entry<'a>(job: &Job<'_>, path: &'a str, size: u64, executable: bool) -> Entry<'a> {
    let id = EntryId(job.summary.entries - 1);
    Entry { id, path, size_hint: Some(size), executable: Some(executable) }
}

/// Bytes from the end of a file of `size` to the next block.
fn padding(size: u64) -> usize {
    let block = BLOCK_BYTES as u64;
    usize::try_from((block - size % block) % block).unwrap_or(0)
}

fn refuse(kind: EntryType) -> Error {
    match kind {
        EntryType::Symlink => Error::new(Class::Refused, "the entry is a symbolic link"),
        EntryType::Link => Error::new(Class::Refused, "the entry is a hard link"),
        EntryType::GNUSparse => Error::new(Class::Unsupported, "the entry is a sparse file"),
        other => {
            let found = format!("`{}`", other.as_byte().escape_ascii());
            Error::mismatch(Class::Unsupported, "type of the entry", "file or folder", found)
        }
    }
}

/// The bytes of one file in a tar.
struct Data<'a, R> {
    source: &'a mut R,
    left: u64,
    padding: usize,
}

impl<R: Source> Body for Data<'_, R> {
    fn fill(&mut self, out: &mut [u8]) -> Result<usize> {
        let count = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.source.fill_exact(&mut out[..count])?;
        self.left -= count as u64;
        Ok(count)
    }

    fn finish(&mut self, _: &Done) -> Result<()> {
        self.source.fill_exact(&mut [0; BLOCK_BYTES][..self.padding])
    }

    fn offset(&self) -> u64 {
        self.source.offset()
    }
}

#[cold]
fn corrupt(what: &'static str) -> Error {
    Error::new(Class::Corrupt, what)
}
