//! The archives that a lock file names: from cargo's folder, or from the registry while they are
//! being extracted.
//!
//! A download is written to a partial file and handed on to the extractor with the same read. It
//! gets its name in cargo's folder only after the extractor has seen the last byte and the
//! checksum is right, so that nobody ever finds half of one. A connection that breaks goes on
//! where it stopped, by a range request; what a killed run left is taken up in the same way. What
//! is done with the contents is the caller's business.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow};
use sha2::{Digest as _, Sha256};
use stream_extract::{Partial, Tee};

use crate::hex;
use crate::lock::Locked;
use crate::net::{Failure, Response};
use crate::progress::Progress;
use crate::sparse::{self, Sparse};

/// No archive is anywhere near this: registries allow 10 MB by default.
const ARCHIVE_BYTES_MAX: u64 = 1 << 30;

/// Where archives are and come from.
pub(crate) struct Archives<'a> {
    folder: PathBuf,
    sparse: Option<&'a Sparse>,
    /// The registry's `dl`, asked for once.
    template: Mutex<Option<sparse::ArchiveTemplate>>,
    progress: &'a Progress,
}

/// What went wrong while an archive was extracted.
pub(crate) enum Fault {
    /// The archive, its reader or the place for its files.
    Extraction(stream_extract::Error),
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

/// How an archive was had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Had {
    Already,
    Downloaded,
}

/// Extracts an archive from its bytes. It may be called again, from the start.
pub(crate) type Extract<'e> = dyn FnMut(&mut dyn BufRead) -> Result<(), Fault> + 'e;

/// The place of a package's archive in `folder`.
pub(crate) fn archive_path(folder: &Path, package: &Locked) -> PathBuf {
    folder.join(format!("{}-{}.crate", package.id.name, package.id.version))
}

fn name(package: &Locked) -> String {
    format!("{} v{}", package.id.name, package.id.version)
}

impl<'a> Archives<'a> {
    /// The archives in `folder`, and those that the registry has.
    pub(crate) fn new(folder: PathBuf, sparse: Option<&'a Sparse>, progress: &'a Progress) -> Self {
        Self { folder, sparse, template: Mutex::new(None), progress }
    }

    pub(crate) fn has(&self, package: &Locked) -> bool {
        archive_path(&self.folder, package).exists()
    }

    /// Hands the archive of `package` to `extract`, which has to check its digest.
    ///
    /// # Errors
    /// When it is neither there nor to be had, is another archive than the one that was locked, or
    /// cannot be extracted.
    pub(crate) fn read(&self, package: &Locked, extract: &mut Extract<'_>) -> Result<Had> {
        let path = archive_path(&self.folder, package);
        match File::open(&path) {
            Ok(file) => {
                let mut reader = BufReader::with_capacity(1 << 16, file);
                let extracted = extract(&mut reader).map_err(|fault| explain(fault, &path));
                extracted.with_context(|| format!("failed to unpack `{}`", name(package)))?;
                return Ok(Had::Already);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let what = format!("failed to open `{}`", path.display());
                return Err(anyhow!(error).context(what));
            }
        }
        self.download(package, &path, extract)?;
        self.progress.status("Downloaded", name(package));
        Ok(Had::Downloaded)
    }

    fn download(&self, package: &Locked, path: &Path, extract: &mut Extract<'_>) -> Result<()> {
        let sparse = sparse::require(self.sparse).with_context(|| {
            let (name, path) = (name(package), path.display());
            format!("the archive of `{name}` is not at `{path}`\nhelp: `mini-cargo fetch` gets it")
        })?;
        let folder = &self.folder;
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to create `{}`", folder.display()))?;
        let download = Download { sparse, url: self.url(sparse, package)?, package, path };
        sparse
            .client()
            .persist(|| download.once(extract))
            .with_context(|| format!("failed to download `{}`", name(package)))
    }

    fn url(&self, sparse: &Sparse, package: &Locked) -> Result<String> {
        let mut template = self.template.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = &*template {
            return Ok(template.of(package));
        }
        self.progress.status("Downloading", "crates ...");
        Ok(template.insert(sparse.archive_template()?).of(package))
    }
}

/// One archive on its way.
struct Download<'a> {
    sparse: &'a Sparse,
    url: String,
    package: &'a Locked,
    path: &'a Path,
}

impl Download<'_> {
    fn once(&self, extract: &mut Extract<'_>) -> Result<(), Failure> {
        let part = self.path.with_extension("crate.part");
        let full = |error: io::Error| Failure::permanent(unwritable(error, &part));
        let mut partial = Partial::open(&part).map_err(full)?;
        let (response, resumed) = self.ask(partial.len())?;
        if !resumed {
            partial.restart().map_err(full)?;
        }
        let body = response.into_body().into_with_config().limit(ARCHIVE_BYTES_MAX).reader();
        let mut tee = partial.resume(body).map_err(full)?;
        match extract(&mut tee) {
            Ok(()) => fs::rename(&part, self.path).map_err(full),
            Err(Fault::Extraction(error)) if error.is_read() => Err(self.broken(error, &part)),
            Err(Fault::Extraction(error)) if !error.is_sink() => {
                Err(self.refused(error, tee, &part, resumed))
            }
            Err(fault) => Err(Failure::permanent(explain(fault, self.path))),
        }
    }

    /// The rest of an archive of which `known` bytes are there; false when it starts anew.
    fn ask(&self, known: u64) -> Result<(Response, bool), Failure> {
        let range = format!("bytes={known}-");
        let headers = if known > 0 { vec![("range", range.as_str())] } else { Vec::new() };
        let client = self.sparse.client();
        let mut response = client.get(&self.url, &headers)?;
        if response.status().as_u16() == 416 {
            // What is there is no part of that archive.
            response = client.get(&self.url, &[])?;
        }
        match response.status().as_u16() {
            200 => Ok((response, false)),
            206 if known > 0 => Ok((response, true)),
            status => {
                let error = anyhow!("`{}` answered {status}", self.url);
                Err(Failure::permanent(error))
            }
        }
    }

    /// The connection broke: what came before is kept. A full disk is another matter.
    fn broken(&self, error: stream_extract::Error, part: &Path) -> Failure {
        if is_full(&error) {
            drop(fs::remove_file(part));
            return Failure::permanent(unwritable(io::Error::other(error), part));
        }
        Failure::reading(io::Error::other(error), &self.url)
    }

    /// The bytes are not what was locked, or what was locked is damaged; the first one counts.
    fn refused<R: Read>(
        &self,
        error: stream_extract::Error,
        rest: Tee<R>,
        part: &Path,
        resumed: bool,
    ) -> Failure {
        let found = rest.finish().and_then(hash);
        drop(fs::remove_file(part));
        let expected = self.package.checksum.as_deref().unwrap_or_default();
        match found {
            Ok(found) if found == expected => {
                Failure::permanent(explain(Fault::Extraction(error), self.path))
            }
            Ok(found) => {
                let error = mismatch(&name(self.package), expected, &found);
                // The first part may have been of another file.
                Failure { error, transient: resumed }
            }
            Err(error) => Failure::reading(error, &self.url),
        }
    }
}

fn is_full(error: &stream_extract::Error) -> bool {
    let source = std::error::Error::source(error);
    let io = source.and_then(|source| source.downcast_ref::<io::Error>());
    io.is_some_and(|error| error.kind() == io::ErrorKind::StorageFull)
}

fn unwritable(error: io::Error, path: &Path) -> anyhow::Error {
    let path = path.display();
    anyhow!(error).context(format!("failed to write `{path}`\nhelp: see whether the disk is full"))
}

fn mismatch(name: &str, expected: &str, found: &str) -> anyhow::Error {
    anyhow!(
        "failed to verify the checksum of `{name}`\n\
         expected {expected}\n   found {found}\n\
         help: the registry or a proxy sent another file than the one that was locked"
    )
}

/// The SHA-256 of a file in hex.
fn hash(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex::encode(&hasher.finalize())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

fn explain(fault: Fault, archive: &Path) -> anyhow::Error {
    let error = match fault {
        Fault::Other(error) => return error,
        Fault::Extraction(error) => error,
    };
    let archive = archive.display();
    let what = if error.is_digest_mismatch() {
        format!(
            "the archive `{archive}` is not the one that the lock file names\n\
             help: delete it and run `mini-cargo fetch`, which downloads it again"
        )
    } else if error.is_sink() {
        "failed to store its files; nothing was left behind\nhelp: see whether the disk is full"
            .to_owned()
    } else {
        format!(
            "the archive `{archive}` is damaged\n\
             help: delete it and run `mini-cargo fetch`, which downloads it again"
        )
    };
    anyhow!(error).context(what)
}
