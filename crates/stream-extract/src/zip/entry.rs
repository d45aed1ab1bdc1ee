//! One entry from its local header to the record behind it.

use super::data::Data;
use super::layout::{self, Signature};
use super::local::{self, Local};
use super::table::{self, Marks, Record};
use crate::entry::{Done, Entry, EntryId};
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::{Body as _, Job, pour};
use crate::names::Node;
use crate::path;
use crate::scratch::Scratch;
use crate::sink::Sink;

/// Reads one entry from behind its signature; returns it as measured, and the signature behind it.
///
/// `listed` is what the central directory says, when it was read first; the path is claimed then.
pub(crate) fn read<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
    id: EntryId,
    listed: Option<&Record>,
) -> Result<(Record, Signature)> {
    let offset = input.offset() - 4;
    let local = read_header(input, job, scratch).map_err(|error| error.at(offset))?;
    let path = match listed {
        Some(_) => path::sanitize(&scratch.name, job.policy, job.limits, &mut scratch.path),
        None => claim_path(job, scratch, local.directory),
    };
    path.map_err(|error| error.at(offset))?;
    let name = scratch.names.hash(&scratch.name);
    if let Some(listed) = listed {
        // Conflicts were looked for among the listed names: the sink must see no other.
        table::agree_on_name(listed.name, name).map_err(|error| error.at(offset))?;
    }
    let entry = describe(id, &scratch.path, &local, listed);
    let packed = local.packed_known().or(listed.map(|listed| listed.packed));
    let mut data = Data::new(input, &mut scratch.inflate, &local, packed)?;
    let done = if local.directory {
        store_folder(job, sink, &entry, &mut data)?
    } else {
        pour(job, sink, &entry, &mut data, &mut scratch.buffers)?
    };
    let (packed, next) = data.behind();
    Ok((measured(offset, packed, name, &local, &done), next))
}

pub(crate) fn read_header(
    input: &mut Input<'_>,
    job: &Job<'_>,
    scratch: &mut Scratch,
) -> Result<Local> {
    let mut fixed = [0; layout::local::LEN];
    scratch.name.clear();
    input.read_exact(&mut fixed)?;
    let (name_len, extra_len) = local::lengths(&fixed);
    input.read_into(&mut scratch.name, name_len)?;
    input.read_into(&mut scratch.extra, extra_len)?;
    local::parse(&fixed, &scratch.name, &scratch.extra, job.policy)
}

/// Makes the path of the name that was read last, and claims it for this entry alone.
pub(crate) fn claim_path(job: &Job<'_>, scratch: &mut Scratch, directory: bool) -> Result<()> {
    path::sanitize(&scratch.name, job.policy, job.limits, &mut scratch.path)?;
    if scratch.path.is_empty() {
        return Err(Error::new(Class::UnsafePath, "the name is the target folder itself"));
    }
    let node = if directory { Node::Folder } else { Node::File };
    scratch.names.claim(&scratch.path, node)
}

fn describe<'a>(id: EntryId, path: &'a str, local: &Local, listed: Option<&Record>) -> Entry<'a> {
    Entry {
        id,
        path,
        size_hint: local.size_known().or(listed.map(|listed| listed.size)),
        executable: listed.map(|listed| listed.marks.has(Marks::EXECUTABLE)),
    }
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

pub(crate) fn measured(offset: u64, packed: u64, name: u64, local: &Local, done: &Done) -> Record {
    Record {
        offset,
        size: done.size,
        packed,
        name,
        crc32: done.crc32.unwrap_or_default(),
        flags: local.flags,
        method: u8::try_from(local.method).unwrap_or(u8::MAX),
        marks: Marks::default().with(Marks::FOLDER, local.directory),
    }
}
