//! One extraction's rules and counters, and the loop that moves a file's bytes.
//!
//! [`pour`] is the only place where bytes go from a format to a sink: it coalesces short reads into
//! full buffers (BLAKE3 and the kernel both want large, aligned pieces), counts against the limits,
//! digests, and lets the format verify a file *before* the sink hears that it is done.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::digest::{Inline, Passing, Plan};
use crate::entry::{Done, Entry, Summary};
use crate::error::{Class, Error, Result};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::scratch::Buffers;
use crate::sink::Sink;

/// Files of this size and more are hashed beside, if there is a thread for it: the last quarter of a
/// mebibyte is digested while nothing else is done.
const BESIDE_BYTES_MIN: u64 = 1 << 20;

pub(crate) struct Job<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) policy: &'a Policy,
    pub(crate) plan: Plan,
    pub(crate) summary: Summary,
    /// Bytes of all files so far; shared by the workers of a parallel extraction.
    pub(crate) total: &'a AtomicU64,
    /// Bytes of the archive that count as read before any is: all of them when entries come in any
    /// order, and then the ratio is that of the whole archive.
    pub(crate) archive_bytes: u64,
    /// Decoded bytes that become no file: headers and padding of a tar.
    pub(crate) overhead: u64,
}

/// The decoded bytes of one file.
pub(crate) trait Body {
    /// Fills `out` completely unless the file ends; returns the count.
    fn fill(&mut self, out: &mut [u8]) -> Result<usize>;

    /// Verifies the file against what the archive says of it.
    fn finish(&mut self, done: &Done) -> Result<()>;

    /// The byte of the archive that comes next.
    fn offset(&self) -> u64;
}

impl Job<'_> {
    pub(crate) fn count_entry(&mut self) -> Result<()> {
        self.summary.entries += 1;
        self.check_entries(self.summary.entries)
    }

    pub(crate) fn check_entries(&self, count: u64) -> Result<()> {
        let max = self.limits.entries;
        if count <= max { Ok(()) } else { Err(over("number of entries", max)) }
    }

    /// Counts `count` bytes of a file that now has `size`, when `offset` bytes of the archive were read.
    fn count_bytes(&mut self, count: usize, size: u64, offset: u64) -> Result<()> {
        let (limits, count) = (self.limits, count as u64);
        self.summary.bytes += count;
        let total = self.total.fetch_add(count, Ordering::Relaxed) + count;
        if size > limits.entry_bytes {
            return Err(over("bytes of one entry", limits.entry_bytes));
        }
        if total > limits.total_bytes {
            return Err(over("bytes of all entries", limits.total_bytes));
        }
        self.check_ratio(total, offset)
    }

    /// Counts decoded bytes that become no file: they cost time all the same.
    pub(crate) fn count_overhead(&mut self, count: usize, offset: u64) -> Result<()> {
        self.overhead += count as u64;
        self.check_ratio(self.total.load(Ordering::Relaxed), offset)
    }

    fn check_ratio(&self, total: u64, offset: u64) -> Result<()> {
        let ratio = self.limits.ratio;
        let allowed = ratio.saturating_mul(offset.max(self.archive_bytes));
        if total.saturating_add(self.overhead) > allowed.max(self.limits.ratio_free_bytes) {
            return Err(over("output per byte of archive", ratio));
        }
        Ok(())
    }
}

#[cold]
fn over(what: &'static str, max: u64) -> Error {
    Error::mismatch(Class::Limit, what, format!("at most {max}"), "more")
}

/// Moves one file from `body` to `sink`.
pub(crate) fn pour<S: Sink>(
    job: &mut Job<'_>,
    sink: &mut S,
    entry: &Entry<'_>,
    body: &mut impl Body,
    buffers: &mut Buffers,
) -> Result<Done> {
    job.summary.files += 1;
    let Buffers { whole: buffer, beside } = buffers;
    let first = body.fill(buffer)?;
    job.count_bytes(first, first as u64, body.offset())?;
    // A full buffer may be the whole file: only one byte more, or none, can tell.
    let mut next = [0];
    if first < buffer.len() || body.fill(&mut next)? == 0 {
        let bytes = &buffer[..first];
        let done = job.plan.whole(entry.id, bytes);
        body.finish(&done)?;
        sink.whole(entry, bytes, &done).map_err(Error::sink)?;
        return Ok(done);
    }
    match beside.as_mut().filter(|_| pays_beside(job.plan, entry)) {
        Some(beside) => {
            job.summary.files_hashed_beside += 1;
            let passing = beside.begin(job.plan, buffer);
            pour_rest(job, sink, entry, body, passing, next[0])
        }
        None => pour_rest(job, sink, entry, body, &mut Inline::begin(job.plan, buffer), next[0]),
    }
}

/// Whether the digests of a file are worth waking a thread for: only if it is said to be large.
fn pays_beside(plan: Plan, entry: &Entry<'_>) -> bool {
    (plan.blake3 || plan.sha256) && entry.size_hint.is_some_and(|size| size >= BESIDE_BYTES_MIN)
}

/// Moves a file that is longer than the buffer, which is full; `next` is the byte after it.
fn pour_rest<S: Sink>(
    job: &mut Job<'_>,
    sink: &mut S,
    entry: &Entry<'_>,
    body: &mut impl Body,
    passing: &mut impl Passing,
    next: u8,
) -> Result<Done> {
    let mut file = sink.begin(entry).map_err(Error::sink)?;
    let full = passing.buffer().len();
    let (mut next, mut count, mut size) = (Some(next), full, full as u64);
    while count > 0 {
        sink.chunk(&mut file, passing.pass(count)).map_err(Error::sink)?;
        if count < full {
            break;
        }
        count = refill(passing.buffer(), next.take(), body)?;
        size += count as u64;
        job.count_bytes(count, size, body.offset())?;
    }
    let done = passing.finish(entry.id);
    body.finish(&done)?;
    sink.end(file, &done).map_err(Error::sink)?;
    Ok(done)
}

/// Fills `buffer` with `first`, if there is one, and what follows; returns the count.
fn refill(buffer: &mut [u8], first: Option<u8>, body: &mut impl Body) -> Result<usize> {
    let Some(first) = first else { return body.fill(buffer) };
    buffer[0] = first;
    Ok(1 + body.fill(&mut buffer[1..])?)
}
