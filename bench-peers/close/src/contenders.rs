//! The ways to close that are compared: ours, and the shapes that others have.
//!
//! rustup's code is no library, so its shape is rebuilt here from its source (`src/diskio/
//! threaded.rs`, 2026): a whole file's open, write and drop is one job of the `threadpool` crate with
//! min(cores, 8) threads; a few jobs are queued at a time; the end polls every 100 ms. `close_already`
//! hands only the close to a `threadpool` of one thread per core, unbounded.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use deferred_close::{Group, close_inline};
use threadpool::ThreadPool;

use crate::workload::CONTENT;

/// Writes and closes files.
pub trait Contender {
    fn write(&mut self, path: &Path) -> io::Result<()>;
    /// Returns when all are closed: how many errors it can tell of.
    fn end(self: Box<Self>) -> usize;
}

/// Creates and fills one file.
pub fn create(path: &Path) -> io::Result<File> {
    let mut file = File::create_new(path)?;
    file.write_all(CONTENT)?;
    Ok(file)
}

/// On the caller's thread, with the answer of close.
#[derive(Default)]
pub struct Inline {
    errors: usize,
}

impl Contender for Inline {
    fn write(&mut self, path: &Path) -> io::Result<()> {
        self.errors += usize::from(close_inline(create(path)?).is_err());
        Ok(())
    }

    fn end(self: Box<Self>) -> usize {
        self.errors
    }
}

/// On the caller's thread, as almost every program does it.
pub struct Dropped;

impl Contender for Dropped {
    fn write(&mut self, path: &Path) -> io::Result<()> {
        drop(create(path)?);
        Ok(())
    }

    fn end(self: Box<Self>) -> usize {
        0
    }
}

/// Only the close on a `threadpool`, as `close_already` does.
pub struct Threadpool {
    pool: ThreadPool,
}

impl Threadpool {
    pub fn new() -> Self {
        Self { pool: ThreadPool::new(cores()) }
    }
}

impl Contender for Threadpool {
    fn write(&mut self, path: &Path) -> io::Result<()> {
        let file = create(path)?;
        self.pool.execute(move || drop(file));
        Ok(())
    }

    fn end(self: Box<Self>) -> usize {
        self.pool.join();
        0
    }
}

/// The whole file on a `threadpool`, as rustup does.
pub struct RustupShaped {
    pool: ThreadPool,
    unfinished: Arc<AtomicUsize>,
}

/// rustup submits while fewer than this many jobs wait for a thread.
const QUEUED: usize = 5;

impl RustupShaped {
    pub fn new() -> Self {
        Self { pool: ThreadPool::new(cores().min(8)), unfinished: Arc::default() }
    }
}

impl Contender for RustupShaped {
    fn write(&mut self, path: &Path) -> io::Result<()> {
        while self.pool.queued_count() >= QUEUED {
            thread::yield_now();
        }
        self.unfinished.fetch_add(1, SeqCst);
        let (path, unfinished) = (PathBuf::from(path), Arc::clone(&self.unfinished));
        self.pool.execute(move || {
            let written = create(&path).map(drop);
            unfinished.fetch_sub(1, SeqCst);
            written.expect("a fresh file system takes the file");
        });
        Ok(())
    }

    fn end(self: Box<Self>) -> usize {
        while self.unfinished.load(SeqCst) != 0 {
            thread::sleep(Duration::from_millis(100));
        }
        0
    }
}

/// Through `deferred-close`.
pub struct Ours<'scope> {
    pub group: Group<'scope>,
}

impl Contender for Ours<'_> {
    fn write(&mut self, path: &Path) -> io::Result<()> {
        self.group.close(create(path)?, path);
        Ok(())
    }

    fn end(self: Box<Self>) -> usize {
        self.group.wait().map_or_else(|errors| errors.len(), |()| 0)
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
