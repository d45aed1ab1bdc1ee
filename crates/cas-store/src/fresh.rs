//! Shards that this handle of the store made itself: what it did not put there is not there.
//!
//! A first install finds nothing in the store, and asks for every file in vain: a refused `link` is a
//! twentieth of the whole. But a folder that our own `mkdir` made was empty. Until another process is
//! met there, a name that we did not add can be taken for missing without asking.
//!
//! When that is wrong, nothing is lost: publishing finds the name taken and joins it.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::digest::{Digest, Executable};
use crate::layout::SHARDS;

/// What is known of one shard.
#[derive(Debug, Default)]
enum Known {
    /// Nothing: others put objects there.
    #[default]
    Nothing,
    /// Its folder was not there when we made the store.
    Unmade,
    /// We made its folder, and these are in it.
    Ours(HashSet<(Digest, Executable)>),
}

/// Per shard, what is in it, if we know.
#[derive(Debug)]
pub(crate) struct FreshShards {
    shards: Vec<Mutex<Known>>,
}

impl FreshShards {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    fn shard(&self, digest: &Digest) -> MutexGuard<'_, Known> {
        let index = usize::from(digest.as_bytes()[0]);
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// We made the folder of all shards, just now.
    pub(crate) fn all_unmade(&self) {
        for shard in &self.shards {
            *shard.lock().unwrap_or_else(PoisonError::into_inner) = Known::Unmade;
        }
    }

    /// True when the shard of `digest` is likely to have no folder.
    pub(crate) fn is_unmade(&self, digest: &Digest) -> bool {
        matches!(*self.shard(digest), Known::Unmade)
    }

    /// We made the shard of `digest`, just now.
    pub(crate) fn made(&self, digest: &Digest) {
        *self.shard(digest) = Known::Ours(HashSet::new());
    }

    /// The object was there, or is there now.
    pub(crate) fn added(&self, digest: &Digest, executable: Executable) {
        if let Known::Ours(known) = &mut *self.shard(digest) {
            known.insert((*digest, executable));
        }
    }

    /// Somebody else adds to the shard of `digest`.
    pub(crate) fn shared(&self, digest: &Digest) {
        *self.shard(digest) = Known::Nothing;
    }

    /// True when the object was not there as far as we could know.
    pub(crate) fn lacks(&self, digest: &Digest, executable: Executable) -> bool {
        match &*self.shard(digest) {
            Known::Nothing => false,
            Known::Unmade => true,
            Known::Ours(known) => !known.contains(&(*digest, executable)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shard_that_we_made_lacks_what_we_did_not_add() {
        let (fresh, digest) = (FreshShards::new(), Digest::of(b"x"));
        assert!(!fresh.lacks(&digest, Executable::No), "nothing is known");
        fresh.all_unmade();
        assert!(fresh.lacks(&digest, Executable::No) && fresh.is_unmade(&digest));
        fresh.made(&digest);
        fresh.added(&digest, Executable::No);
        assert!(!fresh.lacks(&digest, Executable::No));
        assert!(fresh.lacks(&digest, Executable::Yes));
        fresh.shared(&digest);
        assert!(!fresh.lacks(&digest, Executable::Yes), "somebody else may have added it");
    }
}
