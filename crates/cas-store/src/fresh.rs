//! Shards that this handle of the store made itself: what it did not put there is not there.
//!
//! A first install finds nothing in the store, and asks for every file in vain: a refused `link` is a
//! twentieth of the whole. But a folder that our own `mkdir` made was empty. Until another process is
//! met there, a name that we did not add can be taken for missing without asking.
//!
//! When that is wrong, nothing is lost: publishing finds the name taken and joins it. So what was
//! added is kept as one bit per object, found by its digest, without a lock: where two share a bit,
//! the store is asked, as it would have been anyway.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::digest::{Digest, Executable};
use crate::layout::SHARDS;

/// Others put objects there, or may have.
const UNKNOWN: u8 = 0;
/// Its folder was not there when we made the store.
const UNMADE: u8 = 1;
/// We made its folder.
const OURS: u8 = 2;
/// Others put objects there, and it is a folder, not a link to one.
const FOLDER: u8 = 3;

/// 128 KiB: of a hundred thousand objects one in ten is asked for in vain, of five thousand hardly any.
const BITS: u32 = 1 << 20;

/// Per shard, whether we know what is in it; and what we put into those that we know.
#[derive(Debug)]
pub(crate) struct FreshShards {
    shards: [AtomicU8; SHARDS],
    /// Made with the store, so that opening one that was there costs nothing.
    added: OnceLock<Box<[AtomicU64]>>,
}

impl FreshShards {
    pub(crate) fn new() -> Self {
        Self { shards: [const { AtomicU8::new(UNKNOWN) }; SHARDS], added: OnceLock::new() }
    }

    fn shard(&self, digest: &Digest) -> &AtomicU8 {
        &self.shards[usize::from(digest.as_bytes()[0])]
    }

    fn state(&self, digest: &Digest) -> u8 {
        self.shard(digest).load(Ordering::Relaxed)
    }

    /// We made the folder of all shards, just now.
    pub(crate) fn all_unmade(&self) {
        self.added.get_or_init(|| (0..BITS / u64::BITS).map(|_| AtomicU64::new(0)).collect());
        self.shards.iter().for_each(|shard| shard.store(UNMADE, Ordering::Relaxed));
    }

    /// True when the shard of `digest` is likely to have no folder.
    pub(crate) fn is_unmade(&self, digest: &Digest) -> bool {
        self.state(digest) == UNMADE
    }

    /// True when the shard of `digest` was seen to be a folder.
    pub(crate) fn is_folder(&self, digest: &Digest) -> bool {
        matches!(self.state(digest), OURS | FOLDER)
    }

    /// Somebody's shard of `digest` is a folder.
    pub(crate) fn found_folder(&self, digest: &Digest) {
        self.shard(digest).store(FOLDER, Ordering::Relaxed);
    }

    /// We made the shard of `digest`, just now.
    pub(crate) fn made(&self, digest: &Digest) {
        self.shard(digest).store(OURS, Ordering::Relaxed);
    }

    /// The object was there, or is there now.
    pub(crate) fn added(&self, digest: &Digest, executable: Executable) {
        if self.state(digest) == OURS {
            self.with_bit(digest, executable, |word, bit| word.fetch_or(bit, Ordering::Relaxed));
        }
    }

    /// Somebody else adds to the shard of `digest`, or made it.
    pub(crate) fn shared(&self, digest: &Digest) {
        self.shard(digest).store(UNKNOWN, Ordering::Relaxed);
    }

    /// True when the object was not there as far as we could know.
    pub(crate) fn lacks(&self, digest: &Digest, executable: Executable) -> bool {
        match self.state(digest) {
            UNMADE => true,
            OURS => self
                .with_bit(digest, executable, |word, bit| word.load(Ordering::Relaxed) & bit == 0)
                .unwrap_or(false),
            _ => false,
        }
    }

    /// `None` when nothing was ever known.
    fn with_bit<T>(
        &self,
        digest: &Digest,
        executable: Executable,
        act: impl FnOnce(&AtomicU64, u64) -> T,
    ) -> Option<T> {
        let [_, a, b, c, ..] = *digest.as_bytes();
        let at = (u32::from_le_bytes([a, b, c, 0]) ^ u32::from(bool::from(executable))) % BITS;
        let word = self.added.get()?.get((at / u64::BITS) as usize)?;
        Some(act(word, 1 << (at % u64::BITS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shard_that_we_made_lacks_what_we_did_not_add() {
        let (fresh, digest) = (FreshShards::new(), Digest::of(b"x"));
        assert!(!fresh.lacks(&digest, Executable::No), "nothing is known");
        fresh.made(&digest);
        fresh.added(&digest, Executable::No);
        assert!(!fresh.lacks(&digest, Executable::No), "a store that was there is asked");
        fresh.all_unmade();
        assert!(fresh.lacks(&digest, Executable::No) && fresh.is_unmade(&digest));
        fresh.made(&digest);
        assert!(fresh.lacks(&digest, Executable::No) && !fresh.is_unmade(&digest));
        fresh.added(&digest, Executable::No);
        assert!(!fresh.lacks(&digest, Executable::No));
        assert!(fresh.lacks(&digest, Executable::Yes));
        fresh.shared(&digest);
        assert!(!fresh.lacks(&digest, Executable::Yes), "somebody else may have added it");
    }

    #[test]
    fn what_was_added_is_never_lacking_and_little_else_is_asked_for() {
        let fresh = FreshShards::new();
        fresh.all_unmade();
        let digest = |number: u32| Digest::of(&number.to_le_bytes());
        for number in 0..5000 {
            fresh.made(&digest(number));
            fresh.added(&digest(number), Executable::from(number % 2 == 0));
        }
        assert!((0..5000).all(|n| !fresh.lacks(&digest(n), Executable::from(n % 2 == 0))));
        let asked = (5000..10_000).filter(|&n| !fresh.lacks(&digest(n), Executable::No)).count();
        assert!(asked < 100, "{asked} of 5,000 that are not there would be asked for");
    }
}
