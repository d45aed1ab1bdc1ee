//! The two orders of reading: a stream meets the local headers first, a seekable archive the directory.

use std::io::{BufRead, Seek, SeekFrom};

use super::layout::{LOCAL, Signature};
use super::{directory, end, entry, locate};
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
    scratch.names.reset(job.policy.folds_names(), false);
    let signature = read_locals(input, job, scratch, sink, false)?;
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
    let start = locate::central_start(reader, &mut scratch.buffer)?;
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
    scratch.names.reset(job.policy.folds_names(), false);
    let signature = read_locals(input, job, scratch, sink, true)?;
    if input.offset() - 4 != start {
        return Err(end::unexpected(signature, input.offset()));
    }
    check_settled(scratch)?;
    input.drain()
}

/// Reads all local entries; returns the first signature of something else.
fn read_locals<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
    loaded: bool,
) -> Result<Signature> {
    let mut signature = end::read_signature(input)?;
    while signature == LOCAL {
        let index = job.summary.entries;
        job.count_entry()?;
        signature = entry::read(input, job, scratch, sink, loaded)
            .map_err(|error| error.in_entry(index, &scratch.name).at(input.offset()))?;
    }
    Ok(signature)
}

fn check_settled(scratch: &Scratch) -> Result<()> {
    if scratch.table.all_settled() {
        return Ok(());
    }
    let what = "a file is described by only one of its local header and the central directory";
    Err(Error::new(Class::Corrupt, what))
}
