//! The floor: what no installer that keeps this tool's promises can leave out, and nothing else.
//!
//! Every file of a wheel is inflated and checked, gets the SHA-256 that RECORD is compared with and the
//! BLAKE3 that names it in a store, is written once and linked once. Left out is all the rest: the
//! interpreter is not asked, nothing is locked, staged, recorded, moved or kept for the next run. Where
//! the floor alone costs more than a goal allows, the goal asks for another decoder or a weaker promise.
//!
//! It runs as a process of its own, so that its time counts as the others' does:
//! `bench-uv --floor LAYOUT DIR WHEEL...`, where a wheel is a file or an `http:` address.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use crate::client;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// What fits the nearest cache: a file of any size costs no fresh pages.
const BUFFER_BYTES: usize = 64 << 10;

/// Downloads that run at once, as in the row that this is the floor of.
const DOWNLOADS: usize = 4;

/// The name of the case.
pub(crate) const NAME: &str = "floor: inflate, digests, write, link";

/// The name of the case without a store.
pub(crate) const NAME_SEPARATE: &str = "floor without sharing: inflate, SHA-256, write, link";

/// Where the other link of each file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In one of 256 folders that all wheels share, named by its BLAKE3.
    Shared,
    /// In a folder of its wheel, which needs no BLAKE3.
    Separate,
}

impl Layout {
    /// The word on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Separate => "separate",
        }
    }

    /// What the word stands for.
    pub(crate) fn of(word: &str) -> Self {
        if word == Self::Separate.word() { Self::Separate } else { Self::Shared }
    }
}

/// Unpacks `wheels` into the new folder `dir`: one on every core, several one per download.
pub(crate) fn run(layout: Layout, dir: &Path, wheels: &[String]) -> Result<()> {
    let places = Places::make(layout, dir)?;
    if let [wheel] = wheels {
        let bytes = client::fetch(wheel, Vec::new())?;
        return on_threads(std::thread::available_parallelism()?.get(), &bytes, &places);
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = Vec::new();
        while let Some(wheel) = wheels.get(next.fetch_add(1, Ordering::Relaxed)) {
            buffer = client::fetch(wheel, buffer)?;
            on_threads(1, &buffer, &places)?;
        }
        Ok(())
    };
    scoped(DOWNLOADS, work)
}

/// Runs `work` on so many threads, this one included.
fn scoped(count: usize, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|threads| {
        let others: Vec<_> = (1..count).map(|_| threads.spawn(&work)).collect();
        work()?;
        others.into_iter().try_for_each(|other| other.join().map_err(|_| "a thread panicked")?)
    })
}

fn on_threads(count: usize, wheel: &[u8], places: &Places) -> Result<()> {
    let archive = ZipArchive::new(Cursor::new(wheel))?;
    for name in archive.file_names() {
        places.make_room(Path::new(&*name?))?;
    }
    let (order, next) = (largest_first(archive.clone())?, AtomicUsize::new(0));
    scoped(count, || unpack(archive.clone(), &order, &next, places))
}

/// No core is left alone with the largest file at the end.
fn largest_first(mut archive: Archive<'_>) -> Result<Vec<usize>> {
    let mut sizes = Vec::with_capacity(archive.len());
    for at in 0..archive.len() {
        sizes.push((archive.by_index_raw(at)?.size(), at));
    }
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    Ok(sizes.into_iter().map(|(_, at)| at).collect())
}

/// Takes the next file until there is none.
fn unpack(
    mut archive: Archive<'_>,
    order: &[usize],
    next: &AtomicUsize,
    places: &Places,
) -> Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(()) };
        let mut entry = archive.by_index(at)?;
        if !entry.is_dir() {
            let name = PathBuf::from(&*entry.name()?);
            places.put(&name, &mut entry, &mut buffer)?;
        }
    }
}

/// The folder that stands for an environment, and the one that stands for a cache.
struct Places {
    layout: Layout,
    site: PathBuf,
    store: PathBuf,
}

impl Places {
    fn make(layout: Layout, dir: &Path) -> Result<Self> {
        let places = Self { layout, site: dir.join("site"), store: dir.join("store") };
        fs::create_dir_all(&places.store)?;
        if layout == Layout::Shared {
            (0..=u8::MAX).try_for_each(|first| fs::create_dir(places.shard(first)))?;
        }
        Ok(places)
    }

    fn shard(&self, first: u8) -> PathBuf {
        self.store.join(format!("{first:02x}"))
    }

    /// Makes the folders that a file needs.
    fn make_room(&self, name: &Path) -> io::Result<()> {
        let parent = name.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(self.site.join(parent))?;
        if self.layout == Layout::Separate {
            fs::create_dir_all(self.store.join(parent))?;
        }
        Ok(())
    }

    fn put(&self, name: &Path, entry: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
        let (written, is_shared) = (self.site.join(name), self.layout == Layout::Shared);
        let digest = copy(entry, &written, buffer, is_shared)?;
        let other = match digest {
            Some(digest) => self.shard(digest.as_bytes()[0]).join(&*digest.to_hex()),
            None => self.store.join(name),
        };
        match fs::hard_link(&written, other) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }
}

/// One pass: the buffer is filled, digested and written until the file ends. The ZIP reader checks.
fn copy(
    entry: &mut impl Read,
    to: &Path,
    buffer: &mut [u8],
    is_shared: bool,
) -> io::Result<Option<blake3::Hash>> {
    let mut file = File::create_new(to)?;
    let (mut sha256, mut blake3) = (Sha256::new(), is_shared.then(blake3::Hasher::new));
    loop {
        let filled = fill(entry, buffer)?;
        sha256.update(&buffer[..filled]);
        if let Some(blake3) = &mut blake3 {
            blake3.update(&buffer[..filled]);
        }
        file.write_all(&buffer[..filled])?;
        if filled < buffer.len() {
            std::hint::black_box(sha256.finalize());
            return Ok(blake3.map(|blake3| blake3.finalize()));
        }
    }
}

fn fill(entry: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match entry.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
