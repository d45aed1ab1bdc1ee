//! A claim on one handle.

use std::fmt;

use crate::closer::Closer;
use crate::errors::CloseErrors;
use crate::ledger::{Awaited, Id};

/// Waits for one handle; see [`Group::close_ticket`](crate::Group::close_ticket).
///
/// Dropping it waits for nothing: the group and the scope still do.
#[must_use = "a ticket that is not waited for is a plain `close`"]
pub struct Ticket<'scope> {
    closer: &'scope Closer,
    scope: Id,
    /// None when it was closed at once, without an error.
    handle: Option<Id>,
}

impl<'scope> Ticket<'scope> {
    pub(crate) fn new(closer: &'scope Closer, scope: Id, handle: Option<Id>) -> Self {
        Self { closer, scope, handle }
    }

    /// Returns true when the handle is closed.
    pub fn is_closed(&self) -> bool {
        self.handle.is_none_or(|handle| self.closer.pool.ledger(|ledger| ledger.is_closed(handle)))
    }

    /// Returns when this handle is closed: it may be opened again, renamed or started.
    ///
    /// # Errors
    ///
    /// What this close said.
    pub fn wait(self) -> Result<(), CloseErrors> {
        let Some(handle) = self.handle else { return Ok(()) };
        let errors = self
            .closer
            .pool
            .wait(&Awaited::Handle(handle), |ledger| ledger.tell_handle(self.scope, handle));
        CloseErrors::check(errors)
    }
}

impl fmt::Debug for Ticket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}
