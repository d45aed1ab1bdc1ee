//! Placing whole trees: each object by link, what is gone collected into one list.

use std::fs::File;
use std::io;

use crate::contest::{Contest, Wanted};
use crate::copying::{self, Copied};
use crate::destination::Destination;
use crate::digest::{Digest, Executable};
use crate::error::{Error, Missing, Result};
use crate::layout::{self, ObjectName};
use crate::path;
use crate::placed::{PlaceReport, Placed, Tally, Why};
use crate::plan::Means;
use crate::protocol;
use crate::store::Inner;
use crate::sys::{self, gone_is_fine, is_absent};
use crate::tree::{Tree, TreeFile};

/// A share of a tree, for one of several threads: made by [`Tree::parts`].
#[derive(Debug, Clone, Copy)]
pub struct TreePart<'a> {
    tree: &'a Tree,
    files: &'a [TreeFile],
}

impl Tree {
    /// Places every file in `destination`, on this thread.
    ///
    /// The report counts this call alone; the destination's own report includes it.
    ///
    /// # Errors
    ///
    /// [`is_missing`](Error::is_missing) when objects are gone: everything else was placed, and
    /// [`missing`](Error::missing) lists what to fetch. Otherwise as [`Destination::put`], at the
    /// first file that fails.
    pub fn place(&self, destination: &Destination) -> Result<PlaceReport> {
        self.whole().place(destination)
    }

    /// Cuts the tree into at most `count` parts of similar numbers of files, at folder boundaries
    /// where possible, to be placed by as many threads of the caller.
    ///
    /// # Examples
    ///
    /// ```
    /// # use cas_store::{Digest, Executable, Options, Store, TreeBuilder};
    /// # let folder = tempfile::tempdir()?;
    /// # let env = folder.path().join("env");
    /// # std::fs::create_dir(&env)?;
    /// # let store = Store::open(folder.path().join("store"), Options::default())?;
    /// # let mut tree = TreeBuilder::new();
    /// # for name in ["a/x", "a/y", "b/x", "b/y"] {
    /// #     tree.file(name, Digest::EMPTY, Executable::No, 0)?;
    /// # }
    /// # let tree = tree.build()?;
    /// let destination = store.destination(&env)?;
    /// std::thread::scope(|scope| {
    ///     for part in tree.parts(2) {
    ///         let destination = &destination;
    ///         scope.spawn(move || part.place(destination));
    ///     }
    /// });
    /// assert_eq!(destination.report().files(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parts(&self, count: usize) -> Vec<TreePart<'_>> {
        let share = self.files.len().div_ceil(count.max(1)).max(1);
        let mut parts = Vec::new();
        let mut rest = self.files.as_slice();
        while !rest.is_empty() {
            let (files, after) = rest.split_at(end_of_folder(rest, share));
            parts.push(TreePart { tree: self, files });
            rest = after;
        }
        parts
    }

    /// Places every file on the threads of the current rayon pool.
    ///
    /// # Errors
    ///
    /// As [`place`](Self::place).
    #[cfg(feature = "rayon")]
    pub fn place_parallel(&self, destination: &Destination) -> Result<PlaceReport> {
        use rayon::prelude::*;

        // More parts than threads, because folders differ in size.
        let counting = destination.recounting();
        let parts = self.parts(rayon::current_num_threads() * 4);
        let missing: Vec<Vec<Missing>> = parts
            .into_par_iter()
            .map(|part| part.place_counting(&counting, &|_| Ok(false)))
            .collect::<Result<_>>()?;
        self.whole().finish(destination, &counting, missing.concat())
    }

    fn whole(&self) -> TreePart<'_> {
        TreePart { tree: self, files: &self.files }
    }

    /// Places every file; `restore` may bring back an object that is gone, and says whether it did.
    pub(crate) fn place_with(
        &self,
        destination: &Destination,
        restore: &Restore<'_>,
    ) -> Result<PlaceReport> {
        let counting = destination.recounting();
        let missing = self.whole().place_counting(&counting, restore)?;
        self.whole().finish(destination, &counting, missing)
    }
}

type Restore<'a> = dyn Fn(&TreeFile) -> Result<bool> + Sync + 'a;

/// The first place at or after `share` where the folder changes, or `share` when that is too far.
fn end_of_folder(files: &[TreeFile], share: usize) -> usize {
    let folder = |at: usize| path::parent(&files[at].path);
    let last = files.len().min(share.saturating_mul(2));
    (share..last).find(|&at| folder(at) != folder(at - 1)).unwrap_or(share.min(files.len()))
}

impl TreePart<'_> {
    /// Places the files of this part, like [`Tree::place`].
    ///
    /// # Errors
    ///
    /// As [`Tree::place`].
    pub fn place(&self, destination: &Destination) -> Result<PlaceReport> {
        let counting = destination.recounting();
        let missing = self.place_counting(&counting, &|_| Ok(false))?;
        self.finish(destination, &counting, missing)
    }

    /// The objects that are gone.
    fn place_counting(
        &self,
        counting: &Destination,
        restore: &Restore<'_>,
    ) -> Result<Vec<Missing>> {
        let (mut missing, mut folder) = (Vec::new(), "");
        for file in self.files {
            // Files are sorted: most lie in the folder of the one before.
            let parent = path::parent(&file.path);
            if parent != folder {
                counting.make_folders_above(&file.path)?;
                folder = parent;
            }
            if !counting.place_file(file, restore)? {
                missing.push(file.as_missing());
            }
        }
        Ok(missing)
    }

    fn finish(
        &self,
        destination: &Destination,
        counting: &Destination,
        missing: Vec<Missing>,
    ) -> Result<PlaceReport> {
        let report = counting.report();
        destination.tally.absorb(&report);
        if let Some(name) = &self.tree.stored_as {
            destination.shared.store.mark_used(name);
        }
        if missing.is_empty() { Ok(report) } else { Err(Error::missing_objects(missing)) }
    }
}

impl Destination {
    /// The same destination with counters of its own.
    fn recounting(&self) -> Self {
        Self { tally: Tally::default().into(), ..self.clone() }
    }

    /// Places one file of a tree, whose path was checked when the tree was made; false when its object
    /// is gone.
    fn place_file(&self, file: &TreeFile, restore: &Restore<'_>) -> Result<bool> {
        if file.digest == Digest::EMPTY {
            self.create_empty(&file.path, file.executable)?;
            return Ok(true);
        }
        let mut placed = self.try_place(&file.path, file.wanted())?;
        if placed.is_none() && (restore(file)? || self.make_from_variant(file)?) {
            placed = self.try_place(&file.path, file.wanted())?;
        }
        Ok(placed.map(|placed| self.tally.count(placed)).is_some())
    }

    fn make_from_variant(&self, file: &TreeFile) -> Result<bool> {
        self.shared.store.make_from_variant(&self.tally, file.wanted())
    }

    fn create_empty(&self, path: &str, executable: Executable) -> Result<()> {
        let (file, written_as) = self.create_file(path, executable)?;
        drop(file);
        self.reveal(&written_as, path)?;
        self.tally.count(Placed::WrotePrivate(Why::Empty));
        Ok(())
    }
}

impl Inner {
    /// Makes a missing object from its other variant, the same bytes with another mode. True when it
    /// is there now.
    pub(crate) fn make_from_variant(&self, tally: &Tally, wanted: Wanted) -> Result<bool> {
        let other = ObjectName::new(&wanted.digest, wanted.executable.flipped());
        if self.is_read_only() {
            return Ok(false);
        }
        let from = match self.open_object(&other, &wanted.digest) {
            Err(error) if is_absent(&error) => return Ok(false),
            opened => opened.map_err(|error| self.object_error("open", &other, error))?,
        };
        self.add_copy(tally, from, wanted).map_err(|error| self.object_error("copy", &other, error))
    }

    /// Adds an object with the bytes of `from`, unless they are not what was wanted.
    pub(crate) fn add_copy(
        &self,
        tally: &Tally,
        mut from: File,
        wanted: Wanted,
    ) -> io::Result<bool> {
        let name = self.temporary();
        let mut to = self.home.create_new(&name, self.config.mode(wanted.executable))?;
        let copied = copying::copy(&mut from, &mut to, Means::Copy);
        let stamped = self.stamp(&to, &wanted.digest, wanted.executable);
        drop(to);
        let good = matches!(&copied, Ok(Copied::Hashed(found)) if *found == wanted.digest);
        let published = match stamped {
            Ok(()) if good => {
                protocol::publish(&Contest::inside(self, tally, &name, wanted)).map(|_| true)
            }
            other => other.map(|()| false),
        };
        gone_is_fine(self.home.unlink(&name))?;
        copied.and(published)
    }

    /// Notes that a tree was used, for a sweep by age. A failure only makes the tree look older.
    fn mark_used(&self, name: &str) {
        if !self.is_read_only() {
            sys::touch(&self.home, &format!("{}/{name}", layout::TREES)).unwrap_or(());
        }
    }
}
