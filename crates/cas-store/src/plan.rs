//! How files get from a store to a folder, decided by trying once per pair of mounts.
//!
//! Asking cannot replace trying: two bind mounts of one file system have the same `st_dev` and refuse
//! hard links but share extents; two btrfs subvolumes have different `st_dev` and share extents too;
//! file systems claim features they lack. And trying on every file costs more than the file itself
//! (a refused clone is a create, an ioctl and an unlink).
//!
//! The probe is a real file of one block, because some file systems clone only whole blocks, and the
//! clone's bytes are compared, because some have returned zeros.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::options::Protection;
use crate::store::Inner;
use crate::sys::{self, Dir, LinkFailure, MountId, gone_is_fine, link_failure};

/// One way of making the same bytes appear in two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Means {
    /// One inode, two names.
    Hardlink,
    /// Two inodes, shared extents, copied on write.
    Reflink,
    /// Two inodes, two sets of bytes.
    Copy,
}

/// The means of one destination, worsened when a file shows that the probe promised too much.
#[derive(Debug)]
pub(crate) struct MeansCell(AtomicU8);

impl MeansCell {
    pub(crate) fn new(means: Means) -> Self {
        Self(AtomicU8::new(means as u8))
    }

    pub(crate) fn get(&self) -> Means {
        match self.0.load(Ordering::Relaxed) {
            0 => Means::Hardlink,
            1 => Means::Reflink,
            _ => Means::Copy,
        }
    }

    /// Never goes back to a better one.
    pub(crate) fn worsen(&self, means: Means) {
        self.0.fetch_max(means as u8, Ordering::Relaxed);
    }
}

/// The plan per mount of destinations; the store's own mount is one for its life.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    known: Mutex<HashMap<MountId, Means>>,
}

impl Plans {
    fn get(&self, mount: MountId) -> Option<Means> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&mount).copied()
    }

    fn set(&self, mount: MountId, means: Means) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(mount, means);
    }
}

/// What a destination learns when it is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Survey {
    pub(crate) means: Means,
    /// The mode of a file that this process creates here with 0666.
    pub(crate) natural_mode: u32,
}

/// Creates one file in `dest`, reads off the umask, and probes the mount if it is a new one.
pub(crate) fn survey(store: &Inner, dest: &Dir) -> io::Result<Survey> {
    let name = store.names.next();
    let mut file = dest.create_new(&name, 0o666)?;
    let surveyed = survey_with(store, dest, &mut file);
    drop(file);
    gone_is_fine(dest.unlink(&name))?;
    surveyed
}

fn survey_with(store: &Inner, dest: &Dir, file: &mut File) -> io::Result<Survey> {
    let natural_mode = sys::stat_file(file)?.mode & 0o777;
    let mount = dest.mount()?;
    let means = if let Some(means) = store.plans.get(mount) {
        means
    } else {
        let means = probe(store, dest, file)?;
        store.plans.set(mount, means);
        means
    };
    Ok(Survey { means, natural_mode })
}

/// One block, and not all zeros.
const BLOCK: [u8; 4096] = [0x5a; 4096];

/// Tries hard link, then clone, with a file in the store and the empty file `to` in `dest`.
fn probe(store: &Inner, dest: &Dir, to: &mut File) -> io::Result<Means> {
    if store.is_read_only() {
        // Nothing can be created there, so the first object is the probe; see `Destination`.
        return Ok(if store.options.protection == Protection::Cow {
            Means::Reflink
        } else {
            Means::Hardlink
        });
    }
    let name = store.temporary();
    let mut from = store.home.create_new(&name, 0o600)?;
    let means = from.write_all(&BLOCK).and_then(|()| try_means(store, &name, &from, dest, to));
    drop(from);
    gone_is_fine(store.home.unlink(&name))?;
    means
}

fn try_means(
    store: &Inner,
    name: &str,
    from: &File,
    dest: &Dir,
    to: &mut File,
) -> io::Result<Means> {
    if store.options.protection != Protection::Cow && can_link(store, name, dest)? {
        return Ok(Means::Hardlink);
    }
    Ok(if can_clone(from, to) { Means::Reflink } else { Means::Copy })
}

fn can_link(store: &Inner, name: &str, dest: &Dir) -> io::Result<bool> {
    let linked = store.names.next();
    match store.home.link(name, dest, &linked) {
        Ok(()) => dest.unlink(&linked).map(|()| true),
        Err(error) if link_failure(&error) == LinkFailure::Refused => Ok(false),
        Err(error) => Err(error),
    }
}

/// True when the clone exists and holds the same bytes.
fn can_clone(from: &File, to: &mut File) -> bool {
    let mut bytes = Vec::new();
    sys::clone_into(from, to).is_ok()
        && to.seek(SeekFrom::Start(0)).is_ok()
        && to.read_to_end(&mut bytes).is_ok()
        && bytes == BLOCK
}
