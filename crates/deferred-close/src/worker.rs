//! A worker before it runs: handed to whatever starts threads.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::pool::Pool;
use crate::sync::Builder;

/// How workers are started.
pub(crate) type Spawn = Box<dyn Fn(Worker) -> io::Result<()> + Send + Sync>;

/// Closes call little; 64 KiB is enough for them, unoptimised frames are larger.
const STACK: usize = if cfg!(debug_assertions) { 256 << 10 } else { 64 << 10 };

/// The work of one thread, to be run once; see [`Builder::spawn_with`](crate::Builder::spawn_with).
///
/// Dropping it unrun is counted as a thread that could not be started.
pub struct Worker {
    pool: Option<Arc<Pool>>,
}

impl Worker {
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool: Some(pool) }
    }

    /// Closes handles until the closer is dropped, or wants fewer threads.
    pub fn run(mut self) {
        if let Some(pool) = self.pool.take() {
            pool.work();
        }
    }

    /// Runs on a new thread named `close`, with a small stack.
    ///
    /// # Errors
    ///
    /// When the system starts no thread (`EAGAIN` at a process limit).
    pub fn spawn_thread(self) -> io::Result<()> {
        let builder = Builder::new().name("close".to_owned()).stack_size(STACK);
        builder.spawn(move || self.run()).map(drop)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.worker_lost();
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Worker")
    }
}
