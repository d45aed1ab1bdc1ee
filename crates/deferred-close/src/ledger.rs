//! Who is still open, and what went wrong: plain data.
//!
//! No lock, no thread, no I/O is in here; the pool guards the ledger with its one mutex. Every
//! barrier of the crate is a question to this structure.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use crate::errors::CloseError;

/// A number that is never used twice in one pool: of a scope, a group or a handle.
pub(crate) type Id = u64;

/// Where a handle belongs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) scope: Id,
    pub(crate) group: Id,
}

/// What a wait waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Awaited<'a> {
    Handle(Id),
    Group(Id),
    Scope(Id),
    /// The handles of `scope` numbered below `before` whose path is `dir` or under it, by path
    /// components: `/a/bc` is not under `/a/b`.
    Under {
        scope: Id,
        dir: &'a Path,
        before: Id,
    },
}

impl Awaited<'_> {
    /// True when the wait is for this handle as well.
    pub(crate) fn covers(&self, handle: Id, owner: Owner, path: &Path) -> bool {
        match *self {
            Self::Handle(one) => one == handle,
            Self::Group(group) => owner.group == group,
            Self::Scope(scope) => owner.scope == scope,
            Self::Under { scope, dir, before } => {
                owner.scope == scope && handle < before && path.starts_with(dir)
            }
        }
    }

    /// True when any close may end the wait, not only the last one of a group or a scope.
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self, Self::Handle(_) | Self::Under { .. })
    }
}

#[derive(Debug)]
struct Pending {
    owner: Owner,
    path: Arc<Path>,
}

#[derive(Debug)]
struct Kept {
    handle: Id,
    group: Id,
    error: CloseError,
    /// Some wait has returned it, so that the end of the scope need not.
    told: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    next: Id,
    pending: BTreeMap<Id, Pending>,
    open_in: HashMap<Id, usize>,
    kept: HashMap<Id, Vec<Kept>>,
}

impl Ledger {
    /// Draws a fresh number.
    pub(crate) fn id(&mut self) -> Id {
        self.next += 1;
        self.next
    }

    /// How many handles are handed over and not closed.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Notes a handle that is about to be queued.
    pub(crate) fn open(&mut self, owner: Owner, path: Arc<Path>) -> Id {
        let handle = self.id();
        self.pending.insert(handle, Pending { owner, path });
        *self.open_in.entry(owner.scope).or_default() += 1;
        *self.open_in.entry(owner.group).or_default() += 1;
        handle
    }

    /// Notes that a handle is closed; true when its group or its scope has no other.
    pub(crate) fn settle(&mut self, handle: Id, errors: Vec<CloseError>) -> bool {
        let Some(Pending { owner, .. }) = self.pending.remove(&handle) else { return false };
        self.keep(owner, handle, errors);
        let group_done = self.leave(owner.group);
        self.leave(owner.scope) || group_done
    }

    /// Keeps what went wrong with a handle.
    pub(crate) fn keep(&mut self, owner: Owner, handle: Id, errors: Vec<CloseError>) {
        if errors.is_empty() {
            return;
        }
        let kept = self.kept.entry(owner.scope).or_default();
        kept.extend(errors.into_iter().map(|error| Kept {
            handle,
            group: owner.group,
            error,
            told: false,
        }));
    }

    fn leave(&mut self, id: Id) -> bool {
        let Some(open) = self.open_in.get_mut(&id) else { return true };
        *open -= 1;
        let last = *open == 0;
        if last {
            self.open_in.remove(&id);
        }
        last
    }

    /// True when this handle is closed.
    pub(crate) fn is_closed(&self, handle: Id) -> bool {
        !self.pending.contains_key(&handle)
    }

    /// True when nothing that is waited for is open.
    pub(crate) fn is_done(&self, awaited: &Awaited<'_>) -> bool {
        match awaited {
            Awaited::Handle(handle) => self.is_closed(*handle),
            Awaited::Group(id) | Awaited::Scope(id) => !self.open_in.contains_key(id),
            Awaited::Under { before, .. } => !self
                .pending
                .range(..before)
                .any(|(handle, open)| awaited.covers(*handle, open.owner, &open.path)),
        }
    }

    /// The errors of one group, now told.
    pub(crate) fn tell_group(&mut self, owner: Owner) -> Vec<CloseError> {
        self.tell(owner.scope, |kept| kept.group == owner.group)
    }

    /// The errors of one handle, now told.
    pub(crate) fn tell_handle(&mut self, scope: Id, handle: Id) -> Vec<CloseError> {
        self.tell(scope, |kept| kept.handle == handle)
    }

    /// The errors at or under `dir`, now told.
    pub(crate) fn tell_under(&mut self, scope: Id, dir: &Path) -> Vec<CloseError> {
        self.tell(scope, |kept| kept.error.path().starts_with(dir))
    }

    /// All errors of a scope, now told.
    pub(crate) fn tell_scope(&mut self, scope: Id) -> Vec<CloseError> {
        self.tell(scope, |_| true)
    }

    fn tell(&mut self, scope: Id, wanted: impl Fn(&Kept) -> bool) -> Vec<CloseError> {
        let kept = self.kept.get_mut(&scope).map(Vec::as_mut_slice).unwrap_or_default();
        kept.iter_mut()
            .filter(|kept| wanted(kept))
            .map(|kept| {
                kept.told = true;
                kept.error.clone()
            })
            .collect()
    }

    /// The errors so far, without telling them: they still reach a wait.
    pub(crate) fn peek_group(&self, owner: Owner) -> Vec<CloseError> {
        let kept = self.kept.get(&owner.scope).map(Vec::as_slice).unwrap_or_default();
        kept.iter()
            .filter(|kept| kept.group == owner.group)
            .map(|kept| kept.error.clone())
            .collect()
    }

    /// Ends a scope: what no wait has told yet.
    pub(crate) fn end_scope(&mut self, scope: Id) -> Vec<CloseError> {
        let kept = self.kept.remove(&scope).unwrap_or_default();
        kept.into_iter().filter(|kept| !kept.told).map(|kept| kept.error).collect()
    }
}
