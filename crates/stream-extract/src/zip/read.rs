//! The orders of reading: a stream meets the local headers first, a seekable archive the directory.

use std::io::{BufRead, Seek, SeekFrom};

use super::layout::{LOCAL, Signature};
use super::table::Record;
use super::{directory, end, entry, locate};
use crate::entry::EntryId;
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::Job;
use crate::scratch::Scratch;
use crate::sink::Sink;

/// Reads an archive from front to back.
pub(crate) fn stream<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    scratch.table.clear();
    scratch.names.reset(job, false);
    let signature = read_locals(input, job, scratch, |input, job, scratch, id| {
        let (record, next) = entry::read(input, job, scratch, sink, id, None)?;
        scratch.table.push(record);
        Ok(next)
    })?;
    let trailing = directory::settle(input, signature, job, scratch, sink)?;
    job.summary.trailing_zeros = trailing;
    check_settled(scratch)
}

/// Reads the directory of a seekable archive into the table; returns where it starts.
pub(crate) fn load<R: BufRead + Seek>(
    reader: &mut R,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
) -> Result<u64> {
    scratch.table.clear();
    scratch.names.reset(job, false);
    let start = locate::central_start(reader, &mut scratch.buffers.whole)?;
    reader.seek(SeekFrom::Start(start)).map_err(Error::read)?;
    job.summary.trailing_zeros = directory::load(&mut Input::at(reader, start), job, scratch)?;
    scratch.table.sort();
    Ok(start)
}

/// Reads the entries that `load` listed, in the order of the archive.
pub(crate) fn read_loaded<S: Sink>(
    input: &mut Input<'_>,
    start: u64,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    let signature = read_locals(input, job, scratch, |input, job, scratch, id| {
        let (index, listed) = find(scratch, input.offset() - 4)?;
        let (record, next) = entry::read(input, job, scratch, sink, id, Some(&listed))?;
        scratch.table.settle(index, &record)?;
        Ok(next)
    })?;
    if input.offset() - 4 != start {
        return Err(end::unexpected(signature, input.offset()));
    }
    check_settled(scratch)?;
    input.drain()
}

/// Calls `one` behind the signature of each local header; returns the first other signature.
pub(crate) fn read_locals<'i, 'j>(
    input: &mut Input<'i>,
    job: &mut Job<'j>,
    scratch: &mut Scratch,
    mut one: impl FnMut(&mut Input<'i>, &mut Job<'j>, &mut Scratch, EntryId) -> Result<Signature>,
) -> Result<Signature> {
    let mut signature = end::read_signature(input)?;
    while signature == LOCAL {
        let index = job.summary.entries;
        job.count_entry()?;
        scratch.name.clear();
        signature = one(input, job, scratch, EntryId(index))
            .map_err(|error| error.in_entry(index, &scratch.name).at(input.offset()))?;
    }
    Ok(signature)
}

fn find(scratch: &mut Scratch, offset: u64) -> Result<(usize, Record)> {
    let index = scratch.table.find(offset).ok_or_else(|| {
        Error::new(Class::Corrupt, "the central directory does not list this entry").at(offset)
    })?;
    Ok((index, *scratch.table.get(index)))
}

pub(crate) fn check_settled(scratch: &Scratch) -> Result<()> {
    if scratch.table.all_settled() {
        return Ok(());
    }
    let what = "a file is described by only one of its local header and the central directory";
    Err(Error::new(Class::Corrupt, what))
}
