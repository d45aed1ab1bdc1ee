//! Tar archives: 512-byte headers, each followed by its file.
//!
//! The `tar` crate reads the fields of a header. The framing is ours, because in tar the framing is
//! where the attacks are: extension headers change the size and the name of the entry behind them, and
//! readers that disagree on which of two sizes wins read different archives (CVE-2025-62518). Here a
//! PAX size always wins, extension records are capped before they are buffered, two extensions that
//! contradict each other are refused, and so is an archive without its two closing blocks of zeros.
//!
//! Absent: sparse files, devices, owners, times and extended attributes.

#[cfg(any(feature = "zstd", feature = "xz"))]
mod decode;
mod extension;
mod gzip;
mod header;
mod link;
mod read;
mod source;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
mod zstd;

#[cfg(feature = "zstd")]
pub(crate) use decode::Upstream;
pub(crate) use read::Work;

use crate::error::Result;
use crate::input::Input;
use crate::job::Job;
use crate::scratch::Scratch;
use crate::sink::Sink;

/// Reads an uncompressed tar.
pub(crate) fn plain<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    let (work, _) = start(job, scratch);
    read::read(input, job, work, sink)
}

/// Reads a tar that gzip compressed.
pub(crate) fn gzipped<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    let (work, inflate) = start(job, scratch);
    read::read(&mut gzip::Gunzip::new(input, inflate)?, job, work, sink)
}

/// Reads a tar that Zstandard compressed.
#[cfg(feature = "zstd")]
pub(crate) fn zstd<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    let (work, _) = start(job, scratch);
    unzstd(input, job, work, sink)
}

/// Reads a tar that Zstandard compressed, as a part of something else.
#[cfg(feature = "zstd")]
pub(crate) fn unzstd<U: Upstream, S: Sink>(
    upstream: &mut U,
    job: &mut Job<'_>,
    work: Work<'_>,
    sink: &mut S,
) -> Result<()> {
    read::read(&mut zstd::Unzstd::new(upstream, job.limits.decoder_bytes)?, job, work, sink)
}

/// Reads a tar that XZ compressed.
#[cfg(feature = "xz")]
pub(crate) fn xz<S: Sink>(
    input: &mut Input<'_>,
    job: &mut Job<'_>,
    scratch: &mut Scratch,
    sink: &mut S,
) -> Result<()> {
    let (work, _) = start(job, scratch);
    read::read(&mut xz::Unxz::new(input, job.limits.decoder_bytes), job, work, sink)
}

fn start<'s>(job: &Job<'_>, scratch: &'s mut Scratch) -> (Work<'s>, &'s mut flate2::Decompress) {
    let Scratch { buffers, name, extra, path, names, inflate, .. } = scratch;
    names.reset(job, true);
    (Work { buffers, name, record: extra, path, names }, inflate)
}
