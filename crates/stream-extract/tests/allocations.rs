//! Counts what is allocated. A test binary of its own, because an allocator is process-wide, and with
//! one test only, because tests of one binary share their process.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "a counting allocator implements an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use stream_extract::{DirectorySink, Extractor, Limits, Policy, Scratch, VerifySink};

struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static LARGE: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

const LARGE_BYTES: usize = 4096;

fn note(size: usize) {
    COUNT.fetch_add(1, Relaxed);
    if size >= LARGE_BYTES {
        LARGE.fetch_add(1, Relaxed);
    }
    let live = LIVE.fetch_add(size, Relaxed) + size;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every call is passed on to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone, Copy, Debug)]
struct Usage {
    count: usize,
    large: usize,
    peak: usize,
}

fn measure(work: impl FnOnce()) -> Usage {
    let (count, large, live) = (COUNT.load(Relaxed), LARGE.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    work();
    Usage {
        count: COUNT.load(Relaxed) - count,
        large: LARGE.load(Relaxed) - large,
        peak: PEAK.load(Relaxed) - live,
    }
}

/// A zip of `entries` small files in ten folders, and one file of several buffers.
fn zip(entries: usize) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for i in 0..entries {
        writer.start_file(format!("folder{}/file-{i}.py", i * 10 / entries), options).unwrap();
        writer.write_all(format!("content of {i}").repeat(40).as_bytes()).unwrap();
    }
    writer.start_file("big", options).unwrap();
    writer.write_all(&vec![7; 300_000]).unwrap();
    writer.finish().unwrap().into_inner()
}

fn tar_gz(entries: usize) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut builder = tar::Builder::new(encoder);
    for i in 0..entries {
        let content = format!("content of {i}").repeat(40);
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let name = format!("folder{}/file-{i}.py", i * 10 / entries);
        builder.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

fn stream(zip: &[u8], scratch: &mut Scratch) -> Usage {
    measure(|| {
        Extractor::new().zip_stream(zip, scratch, VerifySink::new()).unwrap();
    })
}

fn seek(zip: &[u8], scratch: &mut Scratch) -> Usage {
    measure(|| {
        Extractor::new().zip_seek(Cursor::new(zip), scratch, VerifySink::new()).unwrap();
    })
}

fn folder(zip: &[u8], scratch: &mut Scratch) -> Usage {
    let folder = tempfile::tempdir().unwrap();
    measure(|| {
        let sink = DirectorySink::create(folder.path().join("target")).unwrap();
        Extractor::new().zip_stream(zip, scratch, sink).unwrap();
    })
}

fn gunzip(tar_gz: &[u8], scratch: &mut Scratch) -> Usage {
    measure(|| {
        Extractor::new().tar_gz(tar_gz, scratch, VerifySink::new()).unwrap();
    })
}

fn beside(zip: &[u8], scratch: &mut Scratch) -> Usage {
    measure(|| {
        let report = Extractor::new().sha256(true).zip_stream(zip, scratch, VerifySink::new());
        assert!(report.unwrap().summary.files_hashed_beside > 0);
    })
}

fn parallel(zip: &[u8], scratch: &mut Scratch) -> Usage {
    measure(|| {
        let scratches = std::slice::from_mut(scratch);
        Extractor::new().zip_parallel(zip, scratches, VerifySink::new()).unwrap();
    })
}

/// A zip of `files` that are hashed beside.
fn large_files(files: usize) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for i in 0..files {
        let stored = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        writer.start_file(i.to_string(), stored).unwrap();
        writer.write_all(&vec![7; 1 << 20]).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The buffers of the ring are all that a second thread costs, however many files it is given.
fn a_thread_for_digests_allocates_nothing_per_file() {
    let (few, many) = (large_files(2), large_files(60));
    let mut scratch = Scratch::new();
    let started = measure(|| scratch.hash_beside().unwrap());
    assert!(started.peak < (8 * 64 + 16) << 10, "eight buffers and little more: {started:?}");
    beside(&few, &mut scratch);
    let again = beside(&few, &mut scratch);
    let large = beside(&many, &mut scratch);
    assert!(large.count <= again.count + GROWTH, "none per file: {large:?}");
    assert_eq!(large.large, again.large, "no large one at all: {large:?}");
    assert!(large.peak <= (1 << 10) + ENTRY_BYTES * 60, "{large:?}");
    let again = beside(&many, &mut scratch);
    assert_eq!(again.large, 0, "{again:?}");
    assert!(again.count <= 8, "once it is warm, what waiting may take the first time: {again:?}");
}

/// Allocations while the tables grow from 10 entries to 10,000: one per chunk of records, and per
/// shard of names at each step of its growth.
const GROWTH: usize = 300;
/// Those of them that are of 4 KiB and more.
const LARGE_GROWTH: usize = 60;
/// What may stay of an entry, and what it may take at the worst moment.
const ENTRY_BYTES: usize = 64;

type Read = fn(&[u8], &mut Scratch) -> Usage;

#[test]
fn memory_does_not_grow_with_files() {
    let (few, many) = (zip(10), zip(10_000));
    // Without folder handles each path is joined anew.
    // Threads get input buffers and an order of entries anew for each archive: one thread makes three.
    let all: [(Read, usize, usize); 4] =
        [(stream, 0, 1 << 10), (seek, 0, 1 << 10), (parallel, 3, 65 << 10), (folder, 0, 1 << 10)];
    for (read, kept_not, fixed) in all.into_iter().take(if cfg!(unix) { 4 } else { 3 }) {
        let small = read(&few, &mut Scratch::new());
        let mut scratch = Scratch::new();
        let large = read(&many, &mut scratch);
        println!("10 entries: {small:?}; 10,000 entries: {large:?}");
        assert!(large.count <= small.count + GROWTH, "no allocation per file: {large:?}");
        assert!(large.large <= small.large + LARGE_GROWTH, "no large one per entry: {large:?}");
        // One entry more than was asked for is in each archive.
        assert!(small.peak <= fixed + ENTRY_BYTES * 11, "{small:?}");
        assert!(large.peak <= fixed + ENTRY_BYTES * 10_001, "{large:?}");

        let again = read(&many, &mut scratch);
        println!("again: {again:?}");
        assert!(again.large <= kept_not, "a kept scratch needs no large allocation: {again:?}");
        assert!(again.count <= 70, "nor many small ones: {again:?}");
    }
    let (few, many) = (tar_gz(10), tar_gz(10_000));
    let small = gunzip(&few, &mut Scratch::new());
    let large = gunzip(&many, &mut Scratch::new());
    println!("tar: {small:?}, {large:?}");
    assert!(large.large <= small.large + LARGE_GROWTH, "no large allocation per entry: {large:?}");
    hostile_headers_allocate_nothing();
    a_thread_for_digests_allocates_nothing_per_file();
}

/// Gigabytes that are only promised.
fn hostile_headers_allocate_nothing() {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(300 << 20);
    header.set_cksum();
    let usage = measure(|| {
        let result = Extractor::new().limits(Limits::default()).policy(Policy::portable()).tar(
            &header.as_bytes()[..],
            &mut Scratch::new(),
            VerifySink::new(),
        );
        assert!(result.unwrap_err().is_limit());
    });
    assert!(usage.peak < 256 << 10, "{usage:?}");
}
