//! The front door: options, and one method per kind of archive.

use std::fmt;
use std::io::{BufRead, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::digest::Plan;
use crate::entry::{Progress, Report, Summary};
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::Job;
use crate::limits::Limits;
use crate::policy::Policy;
use crate::read_at::ReadAt;
use crate::scratch::Scratch;
use crate::sink::{ParallelSink, Sink};
use crate::{parallel, tar, zip};

/// Extracts one archive: options first, then one call that reads it.
///
/// # Examples
/// ```
/// use stream_extract::{Extractor, Policy, Scratch, VerifySink};
///
/// # fn main() -> stream_extract::Result<()> {
/// # let archive = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// let mut scratch = Scratch::new();
/// let report = Extractor::new()
///     .policy(Policy::pypi())
///     .zip_stream(&archive[..], &mut scratch, VerifySink::new())?;
/// assert_eq!(report.summary.archive_bytes, 22);
/// # Ok(())
/// # }
/// ```
#[must_use = "options do nothing until an archive is read"]
pub struct Extractor<'a> {
    limits: Limits,
    policy: Policy,
    blake3: bool,
    sha256: bool,
    expected_sha256: Option<[u8; 32]>,
    cancel: Option<&'a AtomicBool>,
    progress: Option<&'a mut dyn FnMut(Progress)>,
}

impl Default for Extractor<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Extractor<'a> {
    /// Default limits, the portable policy, BLAKE3 per file.
    pub fn new() -> Self {
        Self {
            limits: Limits::default(),
            policy: Policy::portable(),
            blake3: true,
            sha256: false,
            expected_sha256: None,
            cancel: None,
            progress: None,
        }
    }

    /// Sets what an archive may cost.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets what an archive may ask for.
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Whether to compute BLAKE3 of each file; on unless switched off.
    pub fn blake3(self, blake3: bool) -> Self {
        Self { blake3, ..self }
    }

    /// Whether to compute SHA-256 of each file; off unless switched on.
    pub fn sha256(self, sha256: bool) -> Self {
        Self { sha256, ..self }
    }

    /// The SHA-256 that the archive's own bytes must have. Checked before anything is committed.
    pub fn expect_sha256(self, digest: [u8; 32]) -> Self {
        Self { expected_sha256: Some(digest), ..self }
    }

    /// A flag that stops the extraction within 64 KiB of input once it is true.
    pub fn cancel(self, flag: &'a AtomicBool) -> Self {
        Self { cancel: Some(flag), ..self }
    }

    /// A function that is called at every 256 KiB of the archive, and at its end.
    pub fn progress(self, progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { progress: Some(progress), ..self }
    }

    /// Extracts a zip archive, such as a wheel, from front to back.
    ///
    /// Give it a buffered reader of 64 KiB or more, or a byte slice.
    /// The reader is read to its end.
    ///
    /// # Errors
    /// Every predicate of [`Error`] may be true. Nothing was committed.
    pub fn zip_stream<R: BufRead, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run(&mut reader, |input, job| zip::stream(input, job, scratch, &mut sink))?
            .commit(sink)
    }

    /// Extracts a zip archive that can be sought, with the executable bits known in advance.
    ///
    /// Accepts what [`zip_stream`](Self::zip_stream) accepts, with the same result, and also stored
    /// entries whose size is only in their data descriptor.
    ///
    /// The directory is read before the rest, which an expected digest covers. If somebody may change the
    /// archive meanwhile, take a stream: it reads each byte once.
    ///
    /// # Errors
    /// Every predicate of [`Error`] but `is_needs_seek` may be true. Nothing was committed.
    pub fn zip_seek<R: BufRead + Seek, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        let total = AtomicU64::new(0);
        let mut job = self.job(&total);
        let start = zip::load(&mut reader, &mut job, scratch)?;
        let trailing_zeros = job.summary.trailing_zeros;
        reader.seek(SeekFrom::Start(0)).map_err(Error::read)?;
        let mut verified = self.run(&mut reader, |input, job| {
            zip::read_loaded(input, start, job, scratch, &mut sink)
        })?;
        verified.summary.trailing_zeros = trailing_zeros;
        verified.commit(sink)
    }

    /// Extracts a seekable zip archive with one thread for each of `scratches`, this one included.
    ///
    /// Large entries go first. Accepts what [`zip_seek`](Self::zip_seek) accepts, with the same tree;
    /// the sink sees entries in any order, the ratio limit applies to the whole archive, and an expected
    /// digest is computed by this thread before it helps the others.
    ///
    /// What the digest covers is read again for extraction. If somebody may change the archive meanwhile,
    /// take a stream: it reads each byte once.
    ///
    /// # Errors
    /// Every predicate of [`Error`] but `is_needs_seek` may be true. Nothing was committed.
    ///
    /// # Panics
    /// When `scratches` is empty.
    pub fn zip_parallel<R: ReadAt + ?Sized, S: ParallelSink>(
        self,
        source: &R,
        scratches: &mut [Scratch],
        sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run_parallel(source, scratches, &sink)?.commit(sink)
    }

    /// Extracts a conda package (`.conda`) from front to back.
    ///
    /// # Errors
    /// As for [`zip_stream`](Self::zip_stream). Nothing was committed.
    #[cfg(feature = "zstd")]
    pub fn conda<R: BufRead, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run(&mut reader, |input, job| zip::conda(input, job, scratch, &mut sink))?.commit(sink)
    }

    /// Extracts a tar archive.
    ///
    /// # Errors
    /// Every predicate of [`Error`] but `is_needs_seek` may be true. Nothing was committed.
    pub fn tar<R: BufRead, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run(&mut reader, |input, job| tar::plain(input, job, scratch, &mut sink))?.commit(sink)
    }

    /// Extracts a tar archive that gzip compressed.
    ///
    /// # Errors
    /// As for [`tar`](Self::tar). Nothing was committed.
    pub fn tar_gz<R: BufRead, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run(&mut reader, |input, job| tar::gzipped(input, job, scratch, &mut sink))?
            .commit(sink)
    }

    /// Extracts a tar archive that Zstandard compressed.
    ///
    /// # Errors
    /// As for [`tar`](Self::tar). Nothing was committed.
    #[cfg(feature = "zstd")]
    pub fn tar_zst<R: BufRead, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run(&mut reader, |input, job| tar::zstd(input, job, scratch, &mut sink))?.commit(sink)
    }

    /// Extracts a tar archive that XZ compressed.
    ///
    /// # Errors
    /// As for [`tar`](Self::tar). Nothing was committed.
    #[cfg(feature = "xz")]
    pub fn tar_xz<R: BufRead, S: Sink>(
        self,
        mut reader: R,
        scratch: &mut Scratch,
        mut sink: S,
    ) -> Result<Report<S::Committed>> {
        self.run(&mut reader, |input, job| tar::xz(input, job, scratch, &mut sink))?.commit(sink)
    }

    /// Extracts a `.crate` file, whose entries must all be below `root`, such as `serde-1.0.0`.
    ///
    /// Uses the given limits and policy; [`Limits::crate_file`] and [`Policy::crate_`] are cargo's.
    ///
    /// # Errors
    /// As for [`tar`](Self::tar); `is_unsafe_path` for an entry outside `root`. Nothing was committed.
    pub fn crate_<R: BufRead, S: Sink>(
        self,
        reader: R,
        root: &str,
        scratch: &mut Scratch,
        sink: S,
    ) -> Result<Report<S::Committed>> {
        let policy = self.policy.clone().root(root);
        self.policy(policy).tar_gz(reader, scratch, sink)
    }

    fn job<'j>(&'j self, total: &'j AtomicU64) -> Job<'j> {
        let plan = Plan { crc32: true, blake3: self.blake3, sha256: self.sha256 };
        let (limits, policy, summary) = (&self.limits, &self.policy, Summary::default());
        Job { limits, policy, plan, summary, total, archive_bytes: 0, overhead: 0 }
    }

    /// Runs `read` over `reader` and checks the digest of what was read.
    fn run(
        mut self,
        reader: &mut dyn BufRead,
        read: impl FnOnce(&mut Input<'_>, &mut Job<'_>) -> Result<()>,
    ) -> Result<Verified> {
        let progress = self.progress.take().map(|progress| progress as &mut dyn FnMut(Progress));
        let mut input = Input::new(reader);
        input.watch(self.expected_sha256.is_some(), self.cancel, progress);
        let total = AtomicU64::new(0);
        let mut job = self.job(&total);
        read(&mut input, &mut job)?;
        let mut summary = job.summary;
        summary.archive_bytes = input.offset();
        summary.archive_sha256 = input.take_sha256();
        self.check_digest(summary.archive_sha256)?;
        Ok(Verified { summary })
    }

    fn check_digest(&self, found: Option<[u8; 32]>) -> Result<()> {
        match (self.expected_sha256, found) {
            (Some(expected), Some(found)) if expected != found => {
                Err(digest_mismatch(&expected, &found))
            }
            _ => Ok(()),
        }
    }

    fn run_parallel<R: ReadAt + ?Sized, S: ParallelSink>(
        mut self,
        source: &R,
        scratches: &mut [Scratch],
        sink: &S,
    ) -> Result<Verified> {
        let mut progress = self.progress.take();
        let archive_bytes = source.size().map_err(Error::read)?;
        let total = AtomicU64::new(0);
        let job = Job { archive_bytes, ..self.job(&total) };
        let digest = || match self.expected_sha256 {
            Some(_) => parallel::digest(source, self.cancel).map(Some),
            None => Ok(None),
        };
        let report = |read| {
            if let Some(progress) = &mut progress {
                progress(Progress { archive_bytes: read });
            }
        };
        let (mut summary, sha256) =
            parallel::run(source, scratches, sink, &job, self.cancel, digest, report)?;
        self.check_digest(sha256)?;
        summary.archive_bytes = archive_bytes;
        summary.archive_sha256 = sha256;
        Ok(Verified { summary })
    }
}

/// An archive that may be committed.
struct Verified {
    summary: Summary,
}

impl Verified {
    fn commit<S: Sink>(self, sink: S) -> Result<Report<S::Committed>> {
        let committed = sink.commit(&self.summary).map_err(Error::sink)?;
        Ok(Report { committed, summary: self.summary })
    }
}

#[cold]
fn digest_mismatch(expected: &[u8; 32], found: &[u8; 32]) -> Error {
    Error::mismatch(Class::Digest, "SHA-256 of the archive", hex(expected), hex(found))
}

/// In hexadecimal, by the type that has it.
fn hex(digest: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*digest).to_hex().to_string()
}

impl fmt::Debug for Extractor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extractor")
            .field("limits", &self.limits)
            .field("policy", &self.policy)
            .field("blake3", &self.blake3)
            .field("sha256", &self.sha256)
            .field("expected_sha256", &self.expected_sha256.map(|digest| hex(&digest)))
            .finish_non_exhaustive()
    }
}
