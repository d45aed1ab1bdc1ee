//! A group decides where a handle is closed, and waits for all that it was given.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::closer::{Closer, Policy};
use crate::errors::{CloseError, CloseErrors};
use crate::finish::Finish;
use crate::ledger::{Awaited, Id, Owner};
use crate::pace::Place;
use crate::pool::Offer;
use crate::sync::Ordering::Relaxed;
use crate::task::{self, Failure, Finished, Task};
use crate::ticket::Ticket;

/// Handles that are waited for together; may be shared by threads.
pub struct Group<'scope> {
    closer: &'scope Closer,
    owner: Owner,
    name: Arc<str>,
}

/// What became of a handle: closed at once, or handed over. It is taken care of in both cases.
#[derive(Debug)]
pub struct Handed<'group, 'scope> {
    group: &'group Group<'scope>,
    at: At,
}

#[derive(Debug, Clone, Copy)]
enum At {
    /// Closed; the number is there when there are errors to ask for.
    Here(Option<Id>),
    Elsewhere(Id),
}

impl Handed<'_, '_> {
    /// Returns true when the handle was closed on this thread.
    pub fn is_inline(&self) -> bool {
        matches!(self.at, At::Here(_))
    }

    /// Stops a loop early: returns what has failed in this group so far, this handle or another.
    ///
    /// It waits for nothing, and the errors still reach [`Group::wait`] or the scope.
    ///
    /// # Errors
    ///
    /// When a close or a continuation of this group has failed.
    pub fn fail_fast(&self) -> Result<(), CloseErrors> {
        let pool = &self.group.closer.pool;
        if pool.failed.load(Relaxed) == 0 {
            return Ok(());
        }
        CloseErrors::check(pool.ledger(|ledger| ledger.peek_group(self.group.owner)))
    }
}

impl<'scope> Group<'scope> {
    pub(crate) fn new(closer: &'scope Closer, owner: Owner, name: Arc<str>) -> Self {
        Self { closer, owner, name }
    }

    /// Closes `value`, here or on a worker. The path is for errors and for
    /// [`Scope::wait_under`](crate::Scope::wait_under).
    ///
    /// It never waits for a worker and never loses the handle: with a full queue it closes here.
    pub fn close<V: Finish>(&self, value: V, path: impl Into<PathBuf>) -> Handed<'_, 'scope> {
        let place = self.place(&value);
        if place != Place::Elsewhere {
            return self.handed(self.close_here(place, path, value));
        }
        let path = path.into();
        if self.stays_here(&value, &path) {
            return self.handed(self.close_here(Place::Here, path, value));
        }
        let task = Box::new(move |path: &Path, group: &Arc<str>| {
            let (closed, close_took) = task::finish_timed(value);
            let failed = closed.err().map(|failure| failure.of(path, group));
            Finished { errors: failed.into_iter().collect(), close_took }
        });
        self.handed(self.offer(path, task))
    }

    /// Closes `value`, then runs `then` with the answer on the thread that closed.
    ///
    /// The group's wait returns only after `then` has run. A panic in `then` is caught and reported.
    /// A failed close is reported whatever `then` returns; handing its error back adds nothing.
    ///
    /// Any thread that hands over or waits may be the one that closes. So `then` must not take a lock
    /// that such a thread holds meanwhile.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::fs::{self, File};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let (draft, ready) = (dir.path().join("draft"), dir.path().join("ready"));
    /// let file = File::create(&draft)?;
    /// deferred_close::Closer::default().scope(|scope| {
    ///     let to = ready.clone();
    ///     scope.group("publish").close_then(file, draft.clone(), move |closed| {
    ///         closed?;
    ///         fs::rename(draft, to)
    ///     });
    /// })?;
    /// assert!(ready.exists());
    /// # Ok(())
    /// # }
    /// ```
    pub fn close_then<V, F>(
        &self,
        value: V,
        path: impl Into<PathBuf>,
        then: F,
    ) -> Handed<'_, 'scope>
    where
        V: Finish,
        F: FnOnce(io::Result<()>) -> io::Result<()> + Send + 'static,
    {
        let path = path.into();
        let mut place = self.place(&value);
        if place == Place::Elsewhere && self.stays_here(&value, &path) {
            place = Place::Here;
        }
        if place != Place::Elsewhere {
            let closed = self.finish_here(place, value);
            let at = self.here(|| task::run_then(closed, then, &path, &self.name));
            return self.handed(at);
        }
        let task = Box::new(move |path: &Path, group: &Arc<str>| {
            let (closed, close_took) = task::finish_timed(value);
            Finished { errors: task::run_then(closed, then, path, group), close_took }
        });
        self.handed(self.offer(path, task))
    }

    /// Like [`close`](Self::close), and returns a ticket to wait for this handle alone.
    pub fn close_ticket<V: Finish>(&self, value: V, path: impl Into<PathBuf>) -> Ticket<'scope> {
        let handle = match self.close(value, path).at {
            At::Here(handle) => handle,
            At::Elsewhere(handle) => Some(handle),
        };
        Ticket::new(self.closer, self.owner.scope, handle)
    }

    /// Closes `value` on this thread: for files that are started as programs next.
    pub fn close_executable<V: Finish>(
        &self,
        value: V,
        path: impl Into<PathBuf>,
    ) -> Handed<'_, 'scope> {
        self.closer.pool.inline_executable.fetch_add(1, Relaxed);
        self.handed(self.close_here(Place::Here, path, value))
    }

    /// Returns when every handle of this group is closed and every continuation has run: the barrier
    /// before a rename of the package's folder, before starting one of its programs, and before
    /// opening one of its files again. Meanwhile this thread closes handles of the group too.
    ///
    /// # Errors
    ///
    /// Every error of this group so far, each time it is asked.
    pub fn wait(&self) -> Result<(), CloseErrors> {
        let errors = self
            .closer
            .pool
            .wait(&Awaited::Group(self.owner.group), |ledger| ledger.tell_group(self.owner));
        CloseErrors::check(errors)
    }

    fn place<V: Finish>(&self, value: &V) -> Place {
        match self.closer.policy {
            Policy::Never => Place::Here,
            Policy::Always => Place::Elsewhere,
            Policy::Adaptive if value.is_slow() => Place::Elsewhere,
            Policy::Adaptive => self.closer.pool.pace.place(),
        }
    }

    /// True, and counted, for executables.
    fn stays_here<V: Finish>(&self, value: &V, path: &Path) -> bool {
        let stays = !self.closer.defer_executables && value.is_executable(path);
        self.closer.pool.inline_executable.fetch_add(u64::from(stays), Relaxed);
        stays
    }

    fn handed(&self, at: At) -> Handed<'_, 'scope> {
        Handed { group: self, at }
    }

    fn offer(&self, path: PathBuf, task: Task) -> At {
        let path = Arc::from(path);
        let offer = Offer { owner: self.owner, path, group: Arc::clone(&self.name), task };
        let pool = &self.closer.pool;
        match pool.offer(offer) {
            Ok(handle) => At::Elsewhere(handle),
            Err(Offer { path, group, task, .. }) => {
                let Finished { errors, close_took } = task(&path, &group);
                if let Some(took) = close_took {
                    pool.pace.closed_elsewhere(took);
                }
                self.here(|| errors)
            }
        }
    }

    /// The path that a quick file system takes for every handle: two counters, a clock sometimes.
    fn close_here<V: Finish>(&self, place: Place, path: impl Into<PathBuf>, value: V) -> At {
        let closed = self.finish_here(place, value);
        self.here(|| match closed {
            Ok(()) => Vec::new(),
            Err(failure) => vec![failure.of(&path.into(), &self.name)],
        })
    }

    fn finish_here<V: Finish>(&self, place: Place, value: V) -> Result<(), Failure> {
        if place != Place::HereTimed {
            return task::finish(value);
        }
        let (closed, took) = task::finish_timed(value);
        if let Some(took) = took {
            self.closer.pool.pace.closed_here(took);
        }
        closed
    }

    fn here(&self, close: impl FnOnce() -> Vec<CloseError>) -> At {
        let pool = &self.closer.pool;
        pool.inline.fetch_add(1, Relaxed);
        let errors = close();
        At::Here(if errors.is_empty() { None } else { Some(pool.failed_here(self.owner, errors)) })
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("name", &self.name).finish_non_exhaustive()
    }
}
