//! A seekable archive by several threads: the directory first, then entries in any order.
//!
//! Each thread has a whole [`Scratch`] and its own input buffer, so N threads cost N times the memory.
//! [`Shares`] says which thread does what. That the entries cover the archive without gap or overlap
//! follows from each ending exactly where the next one starts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::layout::LOCAL;
use super::shares::Shares;
use super::table::{self, Table};
use super::{end, entry};
use crate::entry::{EntryId, Summary};
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::Job;
use crate::read_at::{Cursor, ReadAt};
use crate::scratch::Scratch;
use crate::sink::Sink;

/// What the threads share.
pub(crate) struct Shared<'a, R: ?Sized> {
    pub(crate) source: &'a R,
    /// Where the central directory starts.
    pub(crate) start: u64,
    pub(crate) cancel: Option<&'a AtomicBool>,
    shares: Shares,
    table: &'a Table,
    /// Bytes of the archive that were read so far.
    pub(crate) read: AtomicU64,
    failure: Mutex<Option<Error>>,
}

impl<'a, R: ReadAt + ?Sized> Shared<'a, R> {
    pub(crate) fn new(
        source: &'a R,
        start: u64,
        table: &'a Table,
        threads: usize,
        cancel: Option<&'a AtomicBool>,
    ) -> Self {
        Self {
            source,
            start,
            cancel,
            shares: Shares::new(table, threads),
            table,
            read: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Remembers the failure of the first entry of the archive, and stops all threads.
    pub(crate) fn fail(&self, error: Error) {
        self.shares.stop();
        let mut failure = self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let earlier = failure.as_ref().is_some_and(|old| old.entry() <= error.entry());
        if !earlier {
            *failure = Some(error);
        }
    }

    pub(crate) fn into_failure(self) -> Option<Error> {
        self.failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The first entry, or else the directory, must be at the start of the archive.
pub(crate) fn check_start(scratch: &Scratch, start: u64) -> Result<()> {
    let first = if scratch.table.len() == 0 { start } else { scratch.table.get(0).offset };
    if first == 0 {
        return Ok(());
    }
    Err(Error::new(Class::Corrupt, "the archive does not start with a zip record").at(0))
}

/// Works as `thread`, counted from 0, until nothing is left; `between` is called now and then.
pub(crate) fn read<R: ReadAt + ?Sized, S: Sink>(
    shared: &Shared<'_, R>,
    thread: usize,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
    mut between: impl FnMut(u64),
) -> Result<Summary> {
    let mut cursor = Cursor::new(shared.source).map_err(Error::read)?;
    while let Some(run) = shared.shares.take(thread) {
        let last = run.iter().max().map_or(0, |&last| last as usize);
        let run_end = shared.table.next_offset(last, shared.start).saturating_add(4);
        for &position in run {
            let index = position as usize;
            cursor.narrow(shared.table.get(index).offset, run_end);
            let read = one(shared, job, scratch, sink, &mut cursor, index)
                .map_err(|error| error.in_entry(index as u64, &scratch.name))?;
            between(shared.read.fetch_add(read, Ordering::Relaxed) + read);
        }
    }
    Ok(job.summary)
}

/// Reads the entry at `index` of the table; returns how many bytes of the archive it has.
fn one<R: ReadAt + ?Sized, S: Sink>(
    shared: &Shared<'_, R>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
    cursor: &mut Cursor<'_, R>,
    index: usize,
) -> Result<u64> {
    let listed = shared.table.get(index);
    let next = shared.table.next_offset(index, shared.start);
    let mut input = Input::at(cursor, listed.offset);
    input.watch(false, shared.cancel, None);
    job.count_entry()?;
    scratch.name.clear();
    let signature = end::read_signature(&mut input)?;
    if signature != LOCAL {
        return Err(end::unexpected(signature, input.offset()));
    }
    let id = EntryId(index as u64);
    let (record, signature) = entry::read(&mut input, job, scratch, sink, id, Some(listed))
        .map_err(|error| error.at(input.offset()))?;
    if input.offset() - 4 != next {
        return Err(end::unexpected(signature, input.offset()));
    }
    table::agree(listed, &record).map_err(|error| error.at(listed.offset))?;
    Ok(next - listed.offset)
}
