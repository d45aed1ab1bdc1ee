//! The central directory: compared with the entries that were read, or loaded before they are.

use super::central::{self, Central};
use super::end::{self, Measured};
use super::entry;
use super::layout::{self, CENTRAL, Signature};
use super::table::{Marks, Record};
use crate::entry::{Entry, EntryId};
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::Job;
use crate::path;
use crate::scratch::Scratch;
use crate::sink::Sink;

/// Compares the directory behind `signature` with the table; returns the number of trailing zeros.
pub(crate) fn settle<S: Sink>(
    input: &mut Input<'_>,
    signature: Signature,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<u64> {
    read(input, signature, scratch, |input, scratch| {
        let (central, name) = read_header(input, job, scratch)?;
        settle_one(&central, name, job, scratch, sink)
    })
}

/// Fills the table from the directory; returns the number of trailing zeros.
pub(crate) fn load(input: &mut Input<'_>, job: &mut Job<'_>, scratch: &mut Scratch) -> Result<u64> {
    let signature = end::read_signature(input)?;
    read(input, signature, scratch, |input, scratch| {
        let (central, name) = read_header(input, job, scratch)?;
        scratch.table.push(record(&central, name));
        job.check_entries(scratch.table.len())?;
        entry::claim_path(job, scratch, central.directory)
    })
}

/// Calls `one` for each header, then checks what follows them.
fn read<'i>(
    input: &mut Input<'i>,
    mut signature: Signature,
    scratch: &mut Scratch,
    mut one: impl FnMut(&mut Input<'i>, &mut Scratch) -> Result<()>,
) -> Result<u64> {
    let start = input.offset() - 4;
    let mut entries = 0;
    while signature == CENTRAL {
        let offset = input.offset() - 4;
        scratch.name.clear();
        one(input, scratch).map_err(|e| e.in_entry(entries, &scratch.name).at(offset))?;
        entries += 1;
        signature = end::read_signature(input)?;
    }
    let len = input.offset() - 4 - start;
    end::read(input, signature, Measured { entries, start, len }, &mut scratch.extra)
}

/// Reads one header; returns it with the hash of its name.
fn read_header(
    input: &mut Input<'_>,
    job: &Job<'_>,
    scratch: &mut Scratch,
) -> Result<(Central, u64)> {
    let mut fixed = [0; layout::central::LEN];
    input.read_exact(&mut fixed)?;
    let (name_len, extra_len, comment_len) = central::lengths(&fixed);
    input.read_into(&mut scratch.name, name_len)?;
    input.read_into(&mut scratch.extra, extra_len)?;
    let central = central::parse(&fixed, &scratch.name, &scratch.extra, job.policy)?;
    input.read_into(&mut scratch.extra, comment_len)?;
    Ok((central, scratch.names.hash(&scratch.name)))
}

fn settle_one<S: Sink>(
    central: &Central,
    name: u64,
    job: &Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    let Some(index) = scratch.table.find(central.offset) else {
        let what = "the central directory lists an entry that is not there";
        return Err(Error::mismatch(Class::Corrupt, what, "a local header", central.offset));
    };
    scratch.table.settle(index, &record(central, name))?;
    if central.directory {
        return Ok(());
    }
    path::sanitize(&scratch.name, job.policy, job.limits, &mut scratch.path)?;
    let entry = Entry {
        id: EntryId(index as u64),
        path: &scratch.path,
        size_hint: Some(central.size),
        executable: Some(central.executable),
    };
    sink.late_exec(&entry, central.executable).map_err(Error::sink)
}

fn record(central: &Central, name: u64) -> Record {
    Record {
        offset: central.offset,
        size: central.size,
        packed: central.packed,
        name,
        crc32: central.crc32,
        flags: central.flags,
        method: u8::try_from(central.method).unwrap_or(u8::MAX),
        marks: Marks::default()
            .with(Marks::FOLDER, central.directory)
            .with(Marks::EXECUTABLE, central.executable),
    }
}
