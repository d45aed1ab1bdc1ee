//! Options in, closer out. Building starts no thread and cannot fail.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::elastic::Elastic;
use crate::errors::CloseErrors;
use crate::observe::{Observer, Progress, Stats};
use crate::pace::Pace;
use crate::pool::{Pool, spawn_thread};
use crate::scope::Scope;
use crate::sys;
use crate::worker::{Spawn, Worker};

const THRESHOLD: Duration = Duration::from_micros(20);
const THREADS_MAX: usize = 16;
/// No closer starts more threads than this, whatever is asked.
const THREADS_LIMIT: usize = 256;
const PENDING_MAX: usize = 1024;
/// Of the handles that the process may have open, one in so many may wait to be closed.
const PENDING_SHARE: usize = 4;

/// How many threads close handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// One per core at first, two at least and four at most; then as many as make closing faster,
    /// measured all the time.
    Auto {
        /// Never more than this; 0 means [`Inline`](Self::Inline), more than 256 means 256.
        max: usize,
    },
    /// Up to this many, started when there is work for them; 0 means [`Inline`](Self::Inline), more
    /// than 256 means 256.
    Fixed(usize),
    /// None: every handle is closed on the caller's thread.
    Inline,
}

/// When handles are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// While closing is slow, which is measured.
    Adaptive,
    /// Always.
    Always,
    /// Never: checked closes on the caller's thread, with the same barriers and errors.
    Never,
}

/// How a [`Closer`] is made.
#[must_use = "call `build`"]
pub struct Builder {
    threads: Threads,
    policy: Policy,
    threshold: Duration,
    pending_max: Option<usize>,
    defer_executables: bool,
    observer: Option<Arc<dyn Observer>>,
    spawn: Spawn,
}

impl Builder {
    /// Sets how many threads close. Default: `Auto { max: 16 }`.
    pub fn threads(mut self, threads: Threads) -> Self {
        self.threads = threads;
        self
    }

    /// Sets when handles are handed over. Default: `Adaptive`.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the mean time of a close above which the adaptive policy defers. Default: 20 µs.
    pub fn defer_above(mut self, threshold: Duration) -> Self {
        self.threshold = threshold;
        self
    }

    /// Sets how many handles may wait to be closed; the next one is closed on the caller's thread.
    ///
    /// Default: a quarter of the soft NOFILE limit, read at each [`Closer::scope`], at most 1024. Zero
    /// closes everything on the caller's thread.
    pub fn max_pending(mut self, handles: usize) -> Self {
        self.pending_max = Some(handles);
        self
    }

    /// Hands executables over as well. Default: they are closed on the caller's thread, because
    /// starting a program that is still open for writing fails (`ETXTBSY`).
    pub fn defer_executables(mut self, defer: bool) -> Self {
        self.defer_executables = defer;
        self
    }

    /// Sets who is told of progress and errors. Default: nobody.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Sets how a worker is started: on a thread pool of yours, or with a priority. It must be run
    /// or dropped, and not be run by the thread that starts it: that would stay there until the closer
    /// is dropped. A panic counts as a thread that could not be started. Default:
    /// [`Worker::spawn_thread`].
    pub fn spawn_with<F>(mut self, spawn: F) -> Self
    where
        F: Fn(Worker) -> io::Result<()> + Send + Sync + 'static,
    {
        self.spawn = Box::new(spawn);
        self
    }

    /// Makes the closer. No thread is started before a handle is deferred.
    pub fn build(self) -> Closer {
        let elastic = match self.threads {
            Threads::Auto { max } => Elastic::new(cores(), max.min(THREADS_LIMIT)),
            Threads::Fixed(threads) => Elastic::fixed(threads.min(THREADS_LIMIT)),
            Threads::Inline => Elastic::fixed(0),
        };
        let policy = if elastic.target() == 0 { Policy::Never } else { self.policy };
        let pool = Pool::new(Pace::new(self.threshold), elastic, self.observer, self.spawn);
        Closer {
            pool: Arc::new(pool),
            policy,
            pending_max: self.pending_max,
            defer_executables: self.defer_executables,
        }
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("threads", &self.threads)
            .field("policy", &self.policy)
            .field("threshold", &self.threshold)
            .field("pending_max", &self.pending_max)
            .field("defer_executables", &self.defer_executables)
            .finish_non_exhaustive()
    }
}

/// Closes handles on threads of its own, while that is faster.
///
/// One closer measures one kind of file system: use one per destination, and keep it for all of the
/// work there. Dropping it ends its threads; nothing is pending then, because every scope has joined.
/// `std::process::exit` inside a scope skips that: the kernel closes what is left, and its errors are
/// lost.
pub struct Closer {
    pub(crate) pool: Arc<Pool>,
    pub(crate) policy: Policy,
    pub(crate) defer_executables: bool,
    pending_max: Option<usize>,
}

impl Closer {
    /// Starts with the defaults of [`Builder`].
    pub fn builder() -> Builder {
        Builder {
            threads: Threads::Auto { max: THREADS_MAX },
            policy: Policy::Adaptive,
            threshold: THRESHOLD,
            pending_max: None,
            defer_executables: false,
            observer: None,
            spawn: Box::new(spawn_thread),
        }
    }

    /// Runs `work` and returns when every handle given to the scope is closed and every continuation
    /// has run: on return, on `?`, and on panic.
    ///
    /// # Errors
    ///
    /// The errors that no wait has returned before; the value of `work` is dropped then. Use
    /// [`scope_with`](Self::scope_with) to have both.
    ///
    /// # Panics
    ///
    /// When `work` panics, after the join; close errors reach only the observer then.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::fs::File;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let closer = deferred_close::Closer::default();
    /// let files = closer.scope(|scope| -> std::io::Result<usize> {
    ///     let package = scope.group("demo-1.0");
    ///     for name in ["a", "b", "c"] {
    ///         let path = dir.join(name);
    ///         let file = File::create(&path)?;
    ///         package.close(file, path);
    ///     }
    ///     package.wait()?; // Everything is closed: now the folder may be renamed.
    ///     Ok(3)
    /// })??;
    /// assert_eq!(files, 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn scope<T>(&self, work: impl FnOnce(&Scope<'_>) -> T) -> Result<T, CloseErrors> {
        let (value, closed) = self.scope_with(work);
        closed.map(|()| value)
    }

    /// Like [`scope`](Self::scope), and returns the value of `work` beside the errors.
    ///
    /// # Panics
    ///
    /// When `work` panics, after the join.
    pub fn scope_with<T>(
        &self,
        work: impl FnOnce(&Scope<'_>) -> T,
    ) -> (T, Result<(), CloseErrors>) {
        let scope = Scope::begin(self, self.pending_max());
        let value = work(&scope);
        (value, scope.end())
    }

    fn pending_max(&self) -> usize {
        self.pending_max.unwrap_or_else(|| {
            let share = sys::open_handles_max().map_or(PENDING_MAX, |max| max / PENDING_SHARE);
            share.min(PENDING_MAX)
        })
    }

    /// Returns the numbers of this moment, for a progress line that polls.
    pub fn progress(&self) -> Progress {
        self.pool.progress()
    }

    /// Returns what was used since the closer was built.
    pub fn stats(&self) -> Stats {
        self.pool.stats()
    }
}

impl Default for Closer {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl Drop for Closer {
    fn drop(&mut self) {
        self.pool.end();
    }
}

impl fmt::Debug for Closer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closer")
            .field("policy", &self.policy)
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}
