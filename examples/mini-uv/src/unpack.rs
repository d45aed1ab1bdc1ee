//! Gets the files of one wheel into a stage folder: from the cache, or out of the archive.
//!
//! From the cache it is one hard link per file and the wheel is not opened. Out of the archive every
//! byte is verified (CRC, RECORD, and the archive's digest where one is known) before anything is
//! remembered. Objects that were lost or edited since make a cached wheel a miss, not an error.

use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, ensure};
use cas_store::{Destination, Tree};
use deferred_close::Closer;
use sha2::{Digest as _, Sha256};
use stream_extract::{Extractor, Policy, Progress, Scratch};
use url::Url;

use crate::ahead::read_ahead;
use crate::cache::{Cache, Unpacked};
use crate::download::Download;
use crate::fault::Advise;
use crate::http::{self, Http};
use crate::identity;
use crate::meter::Part;
use crate::record;
use crate::separate;
use crate::sink::{self, Check, Committed, Folder, Place, WheelSink};
use crate::ui::Ui;
use crate::wheel_name::WheelName;

/// Read size of archives, in bytes.
pub(crate) const READ_BYTES: usize = 128 << 10;

/// What all wheels of one installation share.
pub(crate) struct Unpacker<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) http: &'a Http,
    pub(crate) closer: &'a Closer,
    pub(crate) ui: Ui,
    /// Set when another wheel has failed.
    pub(crate) cancel: &'a AtomicBool,
    /// Each wheel has a folder of its own in the cache.
    pub(crate) is_separate: bool,
}

/// What one wheel is unpacked with.
pub(crate) struct Threads<'a> {
    /// One, at least, for each thread that may work on the wheel.
    pub(crate) scratches: &'a mut [Scratch],
    pub(crate) part: Part,
    /// One more thread reads the wheel, if it has to be downloaded.
    pub(crate) is_ahead: bool,
}

/// A wheel whose files are in `dir`, in the archive's own layout.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) dir: PathBuf,
    pub(crate) unpacked: Unpacked,
    /// Known when a digest was asked for.
    pub(crate) sha256: Option<[u8; 32]>,
}

impl Unpacker<'_> {
    /// Unpacks the wheel file at `path` into the empty folder `dir`.
    ///
    /// With `allowed` digests, the file must have one of them.
    pub(crate) fn file(
        &self,
        wheel: &WheelName,
        path: &Path,
        allowed: &[[u8; 32]],
        dir: &Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<Raw> {
        let path = std::path::absolute(path)?;
        let token = identity::of(&path)?;
        let source = format!("path/{}", path.display());
        let known = self.cache.archive_digest(&source, &token);
        if let Some(digest) = known.filter(|_| !allowed.is_empty()) {
            ensure_allowed(&path.display().to_string(), digest, allowed)?;
        }
        if (allowed.is_empty() || known.is_some())
            && let Some(unpacked) =
                self.place_known(&source, &token, dir, threads.scratches.len())?
        {
            let sha256 = known.filter(|_| !allowed.is_empty());
            return Ok(Raw { dir: dir.to_owned(), unpacked, sha256 });
        }
        // Opened once: what is digested here is what is unpacked, whatever becomes of its name.
        let file = fs_err::File::open(&path)?;
        let sha256 = expected_digest(&file, allowed)?;
        let unchecked = sha256.filter(|_| allowed.len() == 1);
        let unpacked = self.extract_file(wheel, &file, unchecked, dir, threads)?;
        self.cache.keep(&source, &token, sha256, &unpacked)?;
        Ok(Raw { dir: dir.to_owned(), unpacked, sha256 })
    }

    /// Places the tree that `source` became; none when it is not known or not whole.
    pub(crate) fn place_known(
        &self,
        source: &str,
        token: &[u8],
        dir: &Path,
        placers: usize,
    ) -> anyhow::Result<Option<Unpacked>> {
        let Some(unpacked) = self.cache.unpacked(source, token) else { return Ok(None) };
        if self.is_separate || sink::is_separate(&unpacked.key) {
            let known = self.is_separate && sink::is_separate(&unpacked.key);
            let placed = known && separate::place(&self.cache.dir, &unpacked.key, dir, placers)?;
            return Ok(placed.then_some(unpacked));
        }
        let destination = self.cache.store.destination(dir)?;
        match place(&unpacked.tree, &destination, placers) {
            Ok(()) => {
                tracing::debug!("{source}: {:?}", destination.report());
                Ok(Some(unpacked))
            }
            Err(error) if error.is_missing() => {
                tracing::debug!("{source}: {} objects are gone", error.missing().len());
                self.report_quarantine(&destination.report());
                empty(dir)?;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Edits through a hard link reach every environment; finding one is news.
    fn report_quarantine(&self, report: &cas_store::PlaceReport) {
        for bad in &report.quarantined {
            self.ui.warn(format!(
                "a file of the cache was changed through one of its links ({}), which {} environments \
                 may still have; it was set aside and is unpacked anew",
                bad.digest, bad.other_links
            ));
        }
    }

    /// Unpacks the wheel at `url` into the empty folder `dir` while it arrives.
    pub(crate) fn url(
        &self,
        wheel: &WheelName,
        url: &Url,
        allowed: &[[u8; 32]],
        dir: &Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<Raw> {
        for digest in allowed {
            if let Some(unpacked) =
                self.place_known(&digest_key(digest), b"", dir, threads.scratches.len())?
            {
                return Ok(Raw { dir: dir.to_owned(), unpacked, sha256: Some(*digest) });
            }
        }
        let key = format!("url/{}", http::public(url));
        if allowed.is_empty()
            && self.http.is_offline()
            && let Some(token) = self.cache.token(&key)
            && let Some(unpacked) = self.place_known(&key, &token, dir, threads.scratches.len())?
        {
            return Ok(Raw { dir: dir.to_owned(), unpacked, sha256: None });
        }
        self.fetch(wheel, url, allowed, dir, threads)
            .with_context(|| format!("failed to install {wheel} from `{}`", http::public(url)))
    }

    /// Asks the server, whose file may still be the one that the cache has.
    fn fetch(
        &self,
        wheel: &WheelName,
        url: &Url,
        allowed: &[[u8; 32]],
        dir: &Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<Raw> {
        let download = Download::start(self.http, url)?;
        let (key, token) = (format!("url/{}", http::public(url)), download.mark().to_vec());
        if allowed.is_empty()
            && !token.is_empty()
            && let Some(unpacked) = self.place_known(&key, &token, dir, threads.scratches.len())?
        {
            return Ok(Raw { dir: dir.to_owned(), unpacked, sha256: None });
        }
        let (unpacked, sha256) = self.stream(wheel, url, download, allowed, dir, threads)?;
        match &sha256 {
            Some(digest) => self.cache.keep(&digest_key(digest), b"", sha256, &unpacked)?,
            None => self.cache.keep(&key, &token, None, &unpacked)?,
        }
        Ok(Raw { dir: dir.to_owned(), unpacked, sha256 })
    }

    /// Extracts what arrives; an archive that cannot be read from front to back is fetched first.
    fn stream(
        &self,
        wheel: &WheelName,
        url: &Url,
        mut download: Download<'_>,
        allowed: &[[u8; 32]],
        dir: &Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<(Unpacked, Option<[u8; 32]>)> {
        // One digest is the extractor's to check; several are checked here.
        let expected = if let [one] = allowed { Some(*one) } else { None };
        let digest = (allowed.len() > 1).then(|| download.digested());
        let check: Check<'_> = match digest.clone() {
            Some(digest) => {
                Box::new(move || ensure_allowed(url.as_str(), digest.finish(), allowed))
            }
            None => no_check(),
        };
        let Threads { scratches, part, is_ahead } = threads;
        let job = Job { wheel, sha256: expected, dir, check, placers: scratches.len(), part };
        let first = &mut scratches[0];
        let read = |extractor: Extractor<'_>, sink: WheelSink<'_, '_>| {
            if *is_ahead {
                return read_ahead(download, |reader| extractor.zip_stream(reader, first, sink));
            }
            extractor.zip_stream(BufReader::with_capacity(READ_BYTES, download), first, sink)
        };
        let streamed = self.extract(job, Box::new(read));
        match streamed {
            Err(error) if needs_seek(&error) => {
                empty(dir)?;
                self.spool(wheel, url, allowed, dir, threads)
            }
            Err(error) => Err(error),
            Ok(unpacked) => {
                Ok((unpacked, expected.or_else(|| digest.map(|digest| digest.finish()))))
            }
        }
    }

    /// Fetches the whole archive into a temporary file, then unpacks it.
    fn spool(
        &self,
        wheel: &WheelName,
        url: &Url,
        allowed: &[[u8; 32]],
        dir: &Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<(Unpacked, Option<[u8; 32]>)> {
        tracing::debug!("{wheel} cannot be unpacked while it arrives");
        let mut download = Download::start(self.http, url)?;
        let digest = download.digested();
        let mut file = self.cache.temporary_file().context("failed to make a temporary file")?;
        std::io::copy(&mut download, &mut file)?;
        let digest = digest.finish();
        if !allowed.is_empty() {
            ensure_allowed(url.as_str(), digest, allowed)?;
        }
        let Threads { scratches, part, .. } = threads;
        let job =
            Job { wheel, sha256: None, dir, check: no_check(), placers: scratches.len(), part };
        let read = |extractor: Extractor<'_>, sink: WheelSink<'_, '_>| {
            extractor.zip_parallel(&file, scratches, sink)
        };
        let unpacked = self.extract(job, Box::new(read))?;
        Ok((unpacked, Some(digest)))
    }

    fn extract_file(
        &self,
        wheel: &WheelName,
        file: &fs_err::File,
        sha256: Option<[u8; 32]>,
        dir: &Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<Unpacked> {
        let Threads { scratches, part, .. } = threads;
        let job = Job { wheel, sha256, dir, check: no_check(), placers: scratches.len(), part };
        let read = |extractor: Extractor<'_>, sink: WheelSink<'_, '_>| {
            extractor.zip_parallel(file.file(), scratches, sink)
        };
        self.extract(job, Box::new(read))
            .with_context(|| format!("failed to unpack `{}`", file.path().display()))
    }

    /// Extracts with `read` into `dir`: through the store, or through a folder of the wheel's own.
    fn extract(&self, job: Job<'_>, read: Box<Read<'_>>) -> anyhow::Result<Unpacked> {
        let (wheel, dir, placers) = (job.wheel, job.dir, job.placers);
        let committed = if self.is_separate {
            let folder = separate::begin(&self.cache.dir)?;
            let place = Place::Separate(Folder::new(folder.path().to_owned()));
            let committed = self.extract_to(place, job, read)?;
            let key = &committed.unpacked.key;
            separate::keep(&self.cache.dir, folder, key)?;
            separate::place(&self.cache.dir, key, dir, placers)?;
            committed
        } else {
            let destination = self.cache.store.destination(dir)?;
            let extracted = self.extract_to(Place::Shared(destination.clone()), job, read);
            self.report_quarantine(&destination.report());
            extracted?
        };
        if let Some(warning) = committed.warning {
            self.ui.warn(format!("{wheel}: {warning}"));
        }
        Ok(committed.unpacked)
    }

    fn extract_to(
        &self,
        place: Place,
        job: Job<'_>,
        read: Box<Read<'_>>,
    ) -> anyhow::Result<Committed> {
        let Job { wheel, sha256, check, part, .. } = job;
        let mut progress = |progress: Progress| part.reached(progress.archive_bytes);
        let mut extractor = Extractor::new().policy(policy()).sha256(true).cancel(self.cancel);
        extractor = extractor.blake3(place.is_shared()).progress(&mut progress);
        if let Some(digest) = sha256 {
            extractor = extractor.expect_sha256(digest);
        }
        let extracted = self.closer.scope(|scope| {
            let group = scope.group(wheel.name.as_ref());
            read(extractor, WheelSink::new(wheel, place, &group, check))
        });
        Ok(advise(extracted?)?.committed)
    }
}

/// One extraction, whatever the archive is read from.
struct Job<'a> {
    wheel: &'a WheelName,
    /// The digest that the archive must have.
    sha256: Option<[u8; 32]>,
    dir: &'a Path,
    /// What must hold once the archive was read.
    check: Check<'a>,
    placers: usize,
    part: &'a Part,
}

/// Reads an archive into a sink.
type Read<'r> = dyn for<'s, 'g> FnOnce(
        Extractor<'_>,
        WheelSink<'s, 'g>,
    ) -> stream_extract::Result<stream_extract::Report<Committed>>
    + 'r;

/// Any archive will do.
fn no_check<'a>() -> Check<'a> {
    Box::new(|| Ok(()))
}

/// Wheels of private indexes may have data descriptors, and names that only this system can hold.
fn policy() -> Policy {
    Policy::portable().native_names()
}

/// Says what to do about an archive that cannot be unpacked.
fn advise<T>(extracted: stream_extract::Result<T>) -> anyhow::Result<T> {
    let Err(error) = extracted else { return Ok(extracted?) };
    let hint = hint(&error);
    let result: anyhow::Result<T> = Err(error.into());
    match hint {
        Some(hint) => result.hint(hint),
        None => result,
    }
}

fn hint(error: &stream_extract::Error) -> Option<&'static str> {
    if error.is_truncated() {
        Some("the wheel ends early: download it again")
    } else if error.is_digest_mismatch() {
        Some("the wheel is not the one that was promised: download it again, or correct the digest")
    } else if error.is_unsafe_path() {
        Some("the wheel would write outside its folder: do not install it, and tell its authors")
    } else if error.is_corrupt() {
        Some("the wheel is damaged: download it again")
    } else {
        None
    }
}

/// The digest that `file` must have. Where several are allowed it is checked here, and need not be again;
/// one is left to the extractor, whose other threads begin meanwhile.
fn expected_digest(file: &fs_err::File, allowed: &[[u8; 32]]) -> anyhow::Result<Option<[u8; 32]>> {
    match allowed {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => {
            let digest = sha256_of(file)?;
            ensure_allowed(&file.path().display().to_string(), digest, several)?;
            Ok(Some(digest))
        }
    }
}

/// Fails unless `digest` is one of `allowed`.
pub(crate) fn ensure_allowed(
    what: &str,
    digest: [u8; 32],
    allowed: &[[u8; 32]],
) -> anyhow::Result<()> {
    let check = || -> anyhow::Result<()> {
        let expected: Vec<_> =
            allowed.iter().map(|digest| format!("sha256:{}", record::hex(digest))).collect();
        ensure!(
            allowed.contains(&digest),
            "the digest of `{what}` does not match\nexpected: {}\ncomputed: sha256:{}",
            expected.join(", "),
            record::hex(&digest)
        );
        Ok(())
    };
    check()
        .hint("the file is not the one that was promised: download it again, or correct the digest")
}

fn sha256_of(mut file: &fs_err::File) -> anyhow::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            read => hasher.update(&buffer[..read]),
        }
    }
}

/// Trees of fewer files are placed faster than a thread starts.
const FILES_PER_PLACER: usize = 200;

/// Places a tree on several threads; the first error counts.
fn place(tree: &Tree, destination: &Destination, placers: usize) -> cas_store::Result<()> {
    let placers = placers.min(tree.files().len() / FILES_PER_PLACER);
    if placers < 2 {
        return tree.place(destination).map(drop);
    }
    std::thread::scope(|threads| {
        let parts = tree.parts(placers);
        let started: Vec<_> =
            parts.into_iter().map(|part| threads.spawn(move || part.place(destination))).collect();
        let placed = started.into_iter().map(|thread| match thread.join() {
            Ok(placed) => placed.map(drop),
            Err(panic) => std::panic::resume_unwind(panic),
        });
        placed.fold(Ok(()), Result::and)
    })
}

fn digest_key(digest: &[u8; 32]) -> String {
    format!("sha256/{}", record::hex(digest))
}

fn needs_seek(error: &anyhow::Error) -> bool {
    let mut causes =
        error.chain().filter_map(|cause| cause.downcast_ref::<stream_extract::Error>());
    causes.any(stream_extract::Error::is_needs_seek)
}

/// Makes `dir` empty again.
fn empty(dir: &Path) -> anyhow::Result<()> {
    fs_err::remove_dir_all(dir)?;
    Ok(fs_err::create_dir(dir)?)
}
