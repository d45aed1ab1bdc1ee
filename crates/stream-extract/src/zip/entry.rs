//! One entry from its local header to the record behind it.

use super::data::Data;
use super::layout::{self, Signature};
use super::local::{self, Local};
use super::table::Record;
use crate::entry::{Done, Entry, EntryId};
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::{Body as _, Job, pour};
use crate::names::Node;
use crate::path;
use crate::scratch::Scratch;
use crate::sink::Sink;

/// Reads one entry from behind its signature; returns the signature behind it.
///
/// `loaded` says that the table holds the central directory already.
pub(crate) fn read<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
    loaded: bool,
) -> Result<Signature> {
    let offset = input.offset() - 4;
    let local = read_header(input, job, scratch).map_err(|error| error.at(offset))?;
    let index = if loaded { Some(find(scratch, offset)?) } else { None };
    let listed = index.map(|index| *scratch.table.get(index));
    claim_path(job, scratch, &local).map_err(|error| error.at(offset))?;
    let entry = Entry {
        id: EntryId(job.summary.entries - 1),
        path: &scratch.path,
        size_hint: local.size_known().or(listed.map(|listed| listed.size)),
        executable: listed.map(|listed| listed.executable),
    };
    let packed = local.packed_known().or(listed.map(|listed| listed.packed));
    let mut data = Data::new(input, &mut scratch.inflate, &local, packed)?;
    let done = if local.directory {
        store_folder(job, sink, &entry, &mut data)?
    } else {
        pour(job, sink, &entry, &mut data, &mut scratch.buffer)?
    };
    let (packed, next) = data.behind();
    let name = scratch.names.hash(&scratch.name);
    let record = Record { packed, name, ..measured(offset, &local, &done) };
    match index {
        Some(index) => scratch.table.settle(index, &record)?,
        None => scratch.table.push(record),
    }
    Ok(next)
}

fn read_header(input: &mut Input<'_>, job: &Job<'_>, scratch: &mut Scratch) -> Result<Local> {
    let mut fixed = [0; layout::local::LEN];
    scratch.name.clear();
    input.read_exact(&mut fixed)?;
    let (name_len, extra_len) = local::lengths(&fixed);
    input.read_into(&mut scratch.name, name_len)?;
    input.read_into(&mut scratch.extra, extra_len)?;
    local::parse(&fixed, &scratch.name, &scratch.extra, job.policy)
}

fn find(scratch: &mut Scratch, offset: u64) -> Result<usize> {
    scratch.table.find(offset).ok_or_else(|| {
        Error::new(Class::Corrupt, "the central directory does not list this entry").at(offset)
    })
}

fn claim_path(job: &Job<'_>, scratch: &mut Scratch, local: &Local) -> Result<()> {
    path::sanitize(&scratch.name, job.policy, job.limits, &mut scratch.path)?;
    if scratch.path.is_empty() {
        return Err(Error::new(Class::UnsafePath, "the name is the target folder itself"));
    }
    let node = if local.directory { Node::Folder } else { Node::File };
    scratch.names.claim(&scratch.path, node)
}

/// A folder has no bytes, though some writers deflate the nothing.
fn store_folder<S: Sink>(
    job: &mut Job<'_>,
    sink: &mut S,
    entry: &Entry<'_>,
    data: &mut Data<'_, '_>,
) -> Result<Done> {
    job.summary.directories += 1;
    if data.fill(&mut [0])? != 0 {
        return Err(Error::new(Class::Corrupt, "the entry is a folder, but it has content"));
    }
    let done = job.plan.whole(entry.id, &[]);
    data.finish(&done)?;
    sink.directory(entry).map_err(Error::sink)?;
    Ok(done)
}

fn measured(offset: u64, local: &Local, done: &Done) -> Record {
    Record {
        offset,
        size: done.size,
        packed: 0,
        name: 0,
        crc32: done.crc32.unwrap_or_default(),
        flags: local.flags,
        method: local.method,
        directory: local.directory,
        executable: false,
        settled: false,
    }
}
