//! A scope joins whatever was handed over inside it, however it is left.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::closer::Closer;
use crate::errors::CloseErrors;
use crate::group::Group;
use crate::ledger::{Awaited, Id, Ledger, Owner};

/// The reach of one [`Closer::scope`]; makes groups, may be shared by threads.
pub struct Scope<'closer> {
    closer: &'closer Closer,
    id: Id,
}

impl<'closer> Scope<'closer> {
    pub(crate) fn begin(closer: &'closer Closer, pending_max: usize) -> Self {
        Self { closer, id: closer.pool.begin_scope(pending_max) }
    }

    /// Starts a group: handles that are waited for together, such as one package's.
    ///
    /// The name appears in errors. Dropping the group waits for nothing; the scope does.
    pub fn group(&self, name: &str) -> Group<'_> {
        let group = self.closer.pool.ledger(Ledger::id);
        Group::new(self.closer, Owner { scope: self.id, group }, Arc::from(name))
    }

    /// Returns when every handle of this scope that was handed over before is closed, if its path is
    /// `dir` or under it, with its continuation run.
    ///
    /// Paths are compared as they were given, by components: `/a/bc` is not under `/a/b`; links and
    /// `..` are not resolved. For callers without groups: it looks at all pending handles.
    ///
    /// # Errors
    ///
    /// Every error so far of this scope at or under `dir`.
    pub fn wait_under(&self, dir: impl AsRef<Path>) -> Result<(), CloseErrors> {
        let (pool, dir) = (&self.closer.pool, dir.as_ref());
        let before = pool.ledger(Ledger::id);
        let errors = pool.wait(&Awaited::Under { scope: self.id, dir, before }, |ledger| {
            ledger.tell_under(self.id, dir)
        });
        CloseErrors::check(errors)
    }

    /// Returns when every handle of this scope is closed, with its continuation run.
    ///
    /// # Errors
    ///
    /// Every error so far of this scope.
    pub fn wait(&self) -> Result<(), CloseErrors> {
        let errors =
            self.closer.pool.wait(&Awaited::Scope(self.id), |ledger| ledger.tell_scope(self.id));
        CloseErrors::check(errors)
    }

    /// Joins, and returns what no wait has told.
    pub(crate) fn end(self) -> Result<(), CloseErrors> {
        CloseErrors::check(self.join())
        // `drop` joins again, which finds nothing.
    }

    fn join(&self) -> Vec<crate::errors::CloseError> {
        self.closer.pool.wait(&Awaited::Scope(self.id), |ledger| ledger.end_scope(self.id))
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.join();
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("id", &self.id).finish_non_exhaustive()
    }
}
