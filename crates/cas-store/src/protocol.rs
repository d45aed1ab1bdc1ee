//! The order of system calls that makes a lost race cost space and never a destination.
//!
//! No inserter and no placer takes a lock, so every call here may be followed by any call of any
//! number of other processes. Six calls do everything: `link`, `rename`, `unlink`, `stat`, a checked
//! read, and the caller's own create-write-close of its destination.
//!
//! ```text
//! place    link(object, dest) ── ok ──> stat(dest): as its name says? ── yes ──> done
//!              │ ENOENT                     │ no: unlink(dest), object set aside
//!              v                            v
//!          caller writes dest, closes it, then
//! publish  link(dest, object) ── ok ──> done: born complete, with two links
//!              │ EEXIST: somebody was first
//!              v
//!          link(object, scratch), check, rename(scratch, dest), unlink(scratch)
//! retire   stat(object): one link, old, not wanted? rename(object, aside), stat again:
//!          one link: unlink(aside); more: link(aside, object), unlink(aside)
//! ```
//!
//! Why each step is safe:
//!
//! * A destination is never removed before its replacement has a link of its own. (Unlinking a
//!   duplicate and then linking the object back loses 3-7 % of contested destinations.)
//! * An object that is published has two links, so `retire` cannot choose it.
//! * `retire` may race with `place`: the placer's link keeps the inode; at worst the store forgets
//!   the name and the next insert makes a second inode.
//! * `rename` of two names of the *same* inode does nothing and leaves both, hence the unlink after.
//!
//! This module does no I/O: it is generic over [`Calls`], so that a model can explore every
//! interleaving of the very code that runs (see `model.rs`).

use std::io;

use crate::sys::{FileKind, LinkFailure, Seen, gone_is_fine, is_held, link_failure, there_is_fine};

/// The files that one protocol run can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Name {
    /// The object in its shard.
    Object,
    /// The caller's file.
    Dest,
    /// A name beside the destination that only this run uses.
    Scratch,
    /// A name in the store that only this run uses; what is found there after a crash is rubbish.
    Aside,
}

/// The system calls, on real files or on a model's.
pub(crate) trait Calls {
    fn link(&self, from: Name, to: Name) -> io::Result<()>;
    fn rename(&self, from: Name, to: Name) -> io::Result<()>;
    fn unlink(&self, name: Name) -> io::Result<()>;
    fn stat(&self, name: Name) -> io::Result<Seen>;
    /// True when the file at `name`, of which `seen` is the stat, is what the object's name says.
    fn trusts(&self, name: Name, seen: &Seen) -> io::Result<bool>;
    /// True when the store must not be changed.
    fn is_read_only(&self) -> bool;
    /// Keeps what is at [`Name::Aside`], a bad object, for people to look at.
    fn quarantine(&self, seen: &Seen) -> io::Result<()>;
}

/// How [`place`] ended.
#[derive(Debug)]
pub(crate) enum Hit {
    /// The destination is a link of a checked object.
    Linked,
    /// There is no such object (any more).
    Missing,
    /// The object cannot have another link; it is good otherwise as far as known.
    Crowded,
    /// These places or this owner cannot be linked.
    Refused(io::Error),
}

/// Links the object to the destination, which must not exist, and checks what was linked.
pub(crate) fn place(calls: &impl Calls) -> io::Result<Hit> {
    link_checked(calls, Name::Dest)
}

/// Links the object to `name` and checks it there: what is checked is what was linked.
fn link_checked(calls: &impl Calls, name: Name) -> io::Result<Hit> {
    if let Err(error) = calls.link(Name::Object, name) {
        return match link_failure(&error) {
            LinkFailure::Missing => Ok(Hit::Missing),
            LinkFailure::Crowded => Ok(Hit::Crowded),
            LinkFailure::Refused => Ok(Hit::Refused(error)),
            LinkFailure::Exists | LinkFailure::Other => Err(error),
        };
    }
    match inspect(calls, name) {
        Ok(None) => Ok(Hit::Linked),
        Ok(Some(bad)) => {
            calls.unlink(name)?;
            set_aside(calls, &bad)?;
            Ok(Hit::Missing)
        }
        Err(error) => {
            // What could not be checked is not handed out.
            calls.unlink(name)?;
            Err(error)
        }
    }
}

/// The stat of the file at `name` when it is not what the object's name says.
fn inspect(calls: &impl Calls, name: Name) -> io::Result<Option<Seen>> {
    let seen = calls.stat(name)?;
    Ok(if calls.trusts(name, &seen)? { None } else { Some(seen) })
}

/// Takes a bad object out of its shard. If another process healed it meanwhile, puts that one back.
pub(crate) fn set_aside(calls: &impl Calls, bad: &Seen) -> io::Result<()> {
    if calls.is_read_only() {
        return Ok(());
    }
    match calls.rename(Name::Object, Name::Aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    }
    let seen = calls.stat(Name::Aside)?;
    if seen.inode == bad.inode { calls.quarantine(&seen) } else { put_back(calls) }
}

/// Gives the object its name again, unless somebody took the name: then theirs is as good.
fn put_back(calls: &impl Calls) -> io::Result<()> {
    there_is_fine(calls.link(Name::Aside, Name::Object))?;
    calls.unlink(Name::Aside)
}

/// How [`publish`] ended. The destination is complete in every case.
#[derive(Debug)]
pub(crate) enum Published {
    /// The destination's inode is the object.
    New,
    /// An object was there: the destination became a link of it.
    Joined,
    /// The object was full of links: the destination's inode took its name.
    RolledOver,
    /// The destination keeps an inode of its own.
    Private(io::Error),
}

/// How often [`publish`] starts again when the object appears and vanishes under it.
const ATTEMPTS: usize = 16;

/// Makes the closed, complete destination the object, or a link of the object that is there.
pub(crate) fn publish(calls: &impl Calls) -> io::Result<Published> {
    for _ in 0..ATTEMPTS {
        match calls.link(Name::Dest, Name::Object) {
            Ok(()) => return Ok(Published::New),
            Err(error) if link_failure(&error) == LinkFailure::Exists => {}
            Err(error) => return Ok(Published::Private(error)),
        }
        if let Some(done) = join(calls)? {
            return Ok(done);
        }
    }
    Ok(Published::Private(io::ErrorKind::ResourceBusy.into()))
}

/// Swaps the destination's inode for the object's; `None` when the object went away or was bad.
fn join(calls: &impl Calls) -> io::Result<Option<Published>> {
    match link_checked(calls, Name::Scratch)? {
        Hit::Missing => Ok(None),
        Hit::Crowded => roll_over(calls).map(Some),
        Hit::Refused(error) => {
            let seen = match calls.stat(Name::Object) {
                Err(gone) if gone.kind() == io::ErrorKind::NotFound => return Ok(None),
                seen => seen?,
            };
            if seen.kind == FileKind::Regular {
                return Ok(Some(Published::Private(error)));
            }
            // A folder cannot be linked, and is no object.
            set_aside(calls, &seen).map(|()| None)
        }
        Hit::Linked => {
            let renamed = calls.rename(Name::Scratch, Name::Dest);
            // Still there when both names were one inode, or when the rename failed.
            gone_is_fine(calls.unlink(Name::Scratch))?;
            Ok(Some(renamed.map_or_else(Published::Private, |()| Published::Joined)))
        }
    }
}

/// Gives the object's name to the destination's inode; the full inode lives on in its other names.
pub(crate) fn roll_over(calls: &impl Calls) -> io::Result<Published> {
    if let Err(error) = calls.link(Name::Dest, Name::Aside) {
        return Ok(Published::Private(error));
    }
    let renamed = calls.rename(Name::Aside, Name::Object);
    gone_is_fine(calls.unlink(Name::Aside))?;
    Ok(renamed.map_or_else(Published::Private, |()| Published::RolledOver))
}

/// How [`retire`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retired {
    /// The object's last name is gone.
    Removed,
    /// It gained a link while it was being removed, and has its name again.
    PutBack,
    /// Somebody else removed it.
    Gone,
    /// A program holds it open and does not let it be removed (Windows).
    Held,
}

/// Removes an object that was seen with one link, unless it gains another meanwhile.
pub(crate) fn retire(calls: &impl Calls) -> io::Result<Retired> {
    match calls.rename(Name::Object, Name::Aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Retired::Gone),
        Err(error) if is_held(&error) => return Ok(Retired::Held),
        other => other?,
    }
    if calls.stat(Name::Aside)?.links > 1 {
        put_back(calls)?;
        return Ok(Retired::PutBack);
    }
    calls.unlink(Name::Aside)?;
    Ok(Retired::Removed)
}
