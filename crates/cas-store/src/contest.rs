//! The protocols' calls on real files: one object, one destination, and names nobody else uses.

use std::cell::OnceCell;
use std::io;

use crate::destination::Destination;
use crate::digest::{Digest, Executable};
use crate::layout::{self, ObjectName};
use crate::path;
use crate::placed::{Quarantined, Tally};
use crate::protocol::{Calls, Name};
use crate::store::{Inner, make_folder};
use crate::sys::{self, Dir, Seen, gone_is_fine};

/// What an object must be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) digest: Digest,
    pub(crate) executable: Executable,
    /// What the caller takes for its length, `None` when unknown. Never a reason to doubt an object.
    pub(crate) size: Option<u64>,
}

/// One object and one name that it is, or becomes, known by.
pub(crate) struct Contest<'a> {
    store: &'a Inner,
    tally: &'a Tally,
    wanted: Wanted,
    object: ObjectName,
    dir: &'a Dir,
    dest: &'a str,
    scratch: OnceCell<String>,
    aside: OnceCell<String>,
}

impl<'a> Contest<'a> {
    /// About `dest`, a checked path in the destination's folder.
    pub(crate) fn outside(place: &'a Destination, dest: &'a str, wanted: Wanted) -> Self {
        Self::new(&place.shared.store, &place.tally, wanted, &place.shared.dir, dest)
    }

    /// About `dest`, a name in the store's own folder.
    pub(crate) fn inside(
        store: &'a Inner,
        tally: &'a Tally,
        dest: &'a str,
        wanted: Wanted,
    ) -> Self {
        Self::new(store, tally, wanted, &store.home, dest)
    }

    /// About `dest`, a name in any folder.
    pub(crate) fn new(
        store: &'a Inner,
        tally: &'a Tally,
        wanted: Wanted,
        dir: &'a Dir,
        dest: &'a str,
    ) -> Self {
        let object = ObjectName::new(&wanted.digest, wanted.executable);
        let (scratch, aside) = (OnceCell::new(), OnceCell::new());
        Self { store, tally, wanted, object, dir, dest, scratch, aside }
    }

    fn at(&self, name: Name) -> (&Dir, &str) {
        match name {
            Name::Object => (&self.store.objects, self.object.as_str()),
            Name::Dest => (self.dir, self.dest),
            Name::Scratch => (self.dir, self.scratch.get_or_init(|| self.beside())),
            Name::Aside => (&self.store.home, self.aside.get_or_init(|| self.store.temporary())),
        }
    }

    fn beside(&self) -> String {
        match path::parent(self.dest) {
            "" => self.store.names.next(),
            parent => format!("{parent}/{}", self.store.names.next()),
        }
    }

    /// Before every call that may go through the object's shard.
    fn check(&self, names: &[Name]) -> io::Result<()> {
        if !names.contains(&Name::Object) {
            return Ok(());
        }
        self.store.check_shard(&self.object, &self.wanted.digest)
    }

    fn link_once(&self, from: Name, to: Name) -> io::Result<()> {
        self.check(&[from, to])?;
        let ((dir, name), (to_dir, to_name)) = (self.at(from), self.at(to));
        dir.link(name, to_dir, to_name)
    }

    /// True when the shard's folder was not there, or was removed, and is there now.
    ///
    /// Shards are made when their first object comes: 256 folders at once would be a third of the
    /// time of a first, small install.
    fn made_shard(&self) -> bool {
        let (digest, fresh) = (&self.wanted.digest, &self.store.fresh);
        let made = make_folder(&self.store.objects, self.object.shard(), &self.store.options);
        if matches!(made, Ok(true)) {
            fresh.made(digest);
        } else if fresh.is_unmade(digest) {
            fresh.shared(digest);
        }
        made.is_ok()
    }

    /// Keeps what is known of the shards that we made ourselves.
    fn note_named(&self, named: &io::Result<()>) {
        let Wanted { digest, executable, .. } = &self.wanted;
        match named {
            Ok(()) => self.store.fresh.added(digest, *executable),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.store.fresh.shared(digest);
            }
            Err(_) => {}
        }
    }
}

impl Calls for Contest<'_> {
    fn link(&self, from: Name, to: Name) -> io::Result<()> {
        if to == Name::Object && self.store.fresh.is_unmade(&self.wanted.digest) {
            self.made_shard();
        }
        let mut linked = self.link_once(from, to);
        if to == Name::Object {
            let absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
            if linked.as_ref().is_err_and(absent) && self.made_shard() {
                linked = self.link_once(from, to);
            }
            self.note_named(&linked);
        }
        linked
    }

    fn rename(&self, from: Name, to: Name) -> io::Result<()> {
        self.check(&[from, to])?;
        let ((dir, name), (to_dir, to_name)) = (self.at(from), self.at(to));
        let renamed = dir.rename(name, to_dir, to_name);
        if to == Name::Object {
            self.note_named(&renamed);
        }
        renamed
    }

    fn unlink(&self, name: Name) -> io::Result<()> {
        let (dir, name) = self.at(name);
        dir.unlink(name)
    }

    fn stat(&self, name: Name) -> io::Result<Seen> {
        self.check(&[name])?;
        let (dir, name) = self.at(name);
        dir.stat(name)
    }

    fn trusts(&self, name: Name, seen: &Seen) -> io::Result<bool> {
        let Wanted { digest, executable, .. } = self.wanted;
        if !self.store.looks_like(seen, &digest, executable) {
            return Ok(false);
        }
        if !self.store.needs_hash(seen) {
            return Ok(true);
        }
        let (dir, name) = self.at(name);
        let (found, _) = Digest::of_reader(dir.open_file(name)?)?;
        Ok(found == digest)
    }

    fn is_read_only(&self) -> bool {
        self.store.is_read_only()
    }

    fn quarantine(&self, seen: &Seen) -> io::Result<()> {
        let file = format!("{}{}", self.object.flat(), self.store.names.next());
        let kept = format!("{}/{file}", layout::QUARANTINE);
        gone_is_fine(self.rename_aside(&kept))?;
        self.tally.quarantined(Quarantined {
            digest: self.wanted.digest,
            executable: self.wanted.executable,
            file,
            other_links: seen.links.saturating_sub(1),
            inode: seen.inode,
        });
        Ok(())
    }
}

impl Contest<'_> {
    /// When the inode at `name` was made, where that can be known.
    pub(crate) fn born(&self, name: Name) -> Option<(i64, u32)> {
        let (dir, name) = self.at(name);
        sys::born(dir, name)
    }

    fn rename_aside(&self, kept: &str) -> io::Result<()> {
        let (dir, name) = self.at(Name::Aside);
        dir.rename(name, &self.store.home, kept)
    }
}
