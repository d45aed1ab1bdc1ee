//! The floor: what no installer that keeps this tool's promises can leave out, and nothing else.
//!
//! Every file of the wheel is inflated and checked, gets the SHA-256 that RECORD is compared with and
//! the BLAKE3 that names it in a store, is written once and linked once. Left out is all the rest: the
//! interpreter is not asked, nothing is locked, staged, recorded, moved or kept for the next run. Where
//! the floor alone costs more than a goal allows, the goal asks for another decoder or a weaker promise.
//!
//! It runs as a process of its own, `bench-uv --floor WHEEL DIR`, so that its time counts as the
//! others' does.

use std::error::Error;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// What fits the nearest cache: a file of any size costs no fresh pages.
const BUFFER_BYTES: usize = 64 << 10;

/// The name of the case.
pub(crate) const NAME: &str = "floor: inflate, digests, write, link";

/// Unpacks `wheel` into the new folder `dir` on every core.
pub(crate) fn run(wheel: &Path, dir: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let bytes = fs::read(wheel)?;
    let archive = ZipArchive::new(Cursor::new(&bytes[..]))?;
    let (store, site) = (dir.join("store"), dir.join("site"));
    fs::create_dir_all(&store)?;
    for name in archive.file_names() {
        fs::create_dir_all(site.join(&*name?).parent().ok_or("a file is in a folder")?)?;
    }
    let (order, next) = (largest_first(archive.clone())?, AtomicUsize::new(0));
    let work = || unpack(archive.clone(), &order, &next, &store, &site);
    std::thread::scope(|threads| {
        let cores = std::thread::available_parallelism()?.get();
        let others: Vec<_> = (1..cores).map(|_| threads.spawn(work)).collect();
        work()?;
        others.into_iter().try_for_each(|other| other.join().map_err(|_| "a thread panicked")?)
    })
}

/// No core is left alone with the largest file at the end.
fn largest_first(mut archive: Archive<'_>) -> Result<Vec<usize>, Box<dyn Error + Send + Sync>> {
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
    store: &Path,
    site: &Path,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(()) };
        let mut entry = archive.by_index(at)?;
        if entry.is_dir() {
            continue;
        }
        let object = store.join(at.to_string());
        copy(&mut entry, &object, &mut buffer)?;
        fs::hard_link(&object, site.join(&*entry.name()?))?;
    }
}

/// One pass: the buffer is filled, digested and written until the file ends. The ZIP reader checks.
fn copy(entry: &mut impl Read, to: &Path, buffer: &mut [u8]) -> std::io::Result<()> {
    let mut file = fs::File::create_new(to)?;
    let (mut sha256, mut blake3) = (Sha256::new(), blake3::Hasher::new());
    loop {
        let filled = fill(entry, buffer)?;
        sha256.update(&buffer[..filled]);
        blake3.update(&buffer[..filled]);
        file.write_all(&buffer[..filled])?;
        if filled < buffer.len() {
            std::hint::black_box((sha256.finalize(), blake3.finalize()));
            return Ok(());
        }
    }
}

fn fill(entry: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match entry.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
