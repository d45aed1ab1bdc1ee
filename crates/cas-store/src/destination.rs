//! A folder that files are placed in: by link when the store has them, by writing when it has not.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::contest::{Contest, Wanted};
use crate::copying::{self, Copied};
use crate::digest::{Digest, Executable};
use crate::error::{Error, Result};
use crate::fingerprint;
use crate::layout::ObjectName;
use crate::new_file::{Draft, NewFile, Route, StreamedFile};
use crate::options::{Protection, Sharing};
use crate::path;
use crate::placed::{PlaceReport, Placed, Tally, Why};
use crate::plan::{self, Means, MeansCell};
use crate::protocol::{self, Calls, Hit, Name};
use crate::store::{Inner, with_execute};
use crate::sys::{self, Dir, FileKind, gone_is_fine, is_absent};

/// A folder to place files in, made by [`Store::destination`](crate::Store::destination).
///
/// Cheap to clone, and shared by any number of threads. Folders above a file are made as needed. Give
/// it a folder that nobody else writes to meanwhile, such as a private stage that is renamed into
/// place afterwards.
///
/// A file that exists is an error unless [`replacing`](Self::replacing) was asked for.
#[derive(Debug, Clone)]
pub struct Destination {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) replace: bool,
}

/// What all handles of one destination share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<Inner>,
    pub(crate) dir: Dir,
    /// How objects come out of the store.
    means_out: MeansCell,
    /// How files get into it.
    means_in: Means,
    natural_mode: u32,
    folders: RwLock<HashSet<String>>,
}

/// The answer of [`Destination::place_or_create`].
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "either it is there or it is not")]
pub enum Lookup {
    /// The store had it; the file is in place.
    Found(Placed),
    /// The store has not: write the bytes here.
    Missing(NewFile),
}

impl Destination {
    pub(crate) fn open(store: Arc<Inner>, folder: &Path) -> Result<Self> {
        let fail = |error| Error::io("prepare the destination", folder, error);
        let dir = Dir::open(folder).map_err(fail)?;
        let survey = plan::survey(&store, &dir).map_err(fail)?;
        let means = means_for(&store, survey);
        let shared = Shared {
            means_out: MeansCell::new(means),
            means_in: means,
            natural_mode: survey.natural_mode,
            folders: RwLock::default(),
            store,
            dir,
        };
        Ok(Self { shared: Arc::new(shared), tally: Arc::default(), replace: false })
    }

    /// A handle that replaces files that exist, each by one rename.
    #[must_use]
    pub fn replacing(&self) -> Self {
        Self { replace: true, ..self.clone() }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.shared.dir.path()
    }

    /// How files of the store get here, as found by probing, or as learnt since from a file that the
    /// system refused.
    pub fn means(&self) -> Means {
        self.shared.means_out.get()
    }

    /// What happened so far, over all handles of this destination.
    pub fn report(&self) -> PlaceReport {
        self.tally.report()
    }

    /// Places a file whose bytes are in hand: by link when the store has `digest`, else by writing,
    /// closing and publishing.
    ///
    /// `digest` must be the digest of `bytes`; debug builds check.
    ///
    /// # Errors
    ///
    /// [`is_already_exists`](Error::is_already_exists) when `path` is taken,
    /// [`is_unsafe_path`](Error::is_unsafe_path) when it would leave the folder,
    /// [`is_storage_full`](Error::is_storage_full), or another I/O error. Nothing is left at `path`.
    ///
    /// # Durability
    ///
    /// Nothing is synced; see [`Durability`](crate::Durability).
    pub fn put(
        &self,
        path: &str,
        bytes: &[u8],
        digest: Digest,
        executable: Executable,
    ) -> Result<Placed> {
        debug_assert_eq!(Digest::of(bytes), digest, "the digest of `{path}` is another one");
        let size = bytes.len() as u64;
        let wanted = Wanted { digest, executable, size: Some(size) };
        self.prepare(path)?;
        match self.try_known(path, wanted)? {
            Some(placed) => Ok(self.tally.count(placed)),
            None => self.write_new(path, bytes, wanted),
        }
    }

    fn write_new(&self, path: &str, bytes: &[u8], wanted: Wanted) -> Result<Placed> {
        let (file, written_as) = self.create_file(path, wanted.executable)?;
        let mut draft = Draft::new(file, Cow::Borrowed(self), path.into(), written_as);
        draft.write_all(bytes).map_err(|error| self.fail("write", path, error))?;
        let (file, finished) = draft.into_parts(wanted)?;
        drop(file);
        finished.run()
    }

    /// Places a file if the store has `digest`, else hands out a new file to write it to.
    ///
    /// For callers that close files elsewhere: see [`NewFile::into_parts`].
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    pub fn place_or_create(
        &self,
        path: &str,
        digest: Digest,
        executable: Executable,
    ) -> Result<Lookup> {
        let wanted = Wanted { digest, executable, size: None };
        self.prepare(path)?;
        if let Some(placed) = self.try_known(path, wanted)? {
            return Ok(Lookup::Found(self.tally.count(placed)));
        }
        Ok(Lookup::Missing(NewFile::new(self.draft(path, executable)?, wanted)))
    }

    /// Creates a file whose digest is known only after it was written: [`StreamedFile::finish`].
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    pub fn create(&self, path: &str, executable: Executable) -> Result<StreamedFile> {
        self.prepare(path)?;
        Ok(StreamedFile::new(self.draft(path, executable)?, executable))
    }

    /// A new file that does not depend on this handle.
    fn draft(&self, path: &str, executable: Executable) -> Result<Draft<'static>> {
        let (file, written_as) = self.create_file(path, executable)?;
        let (path, written_as) = (path.to_owned().into(), written_as.into_owned().into());
        Ok(Draft::new(file, Cow::Owned(self.clone()), path, written_as))
    }

    /// As [`try_place`](Self::try_place), for callers that have the bytes: whatever is wrong with the
    /// store (a shard that is closed to us, a bad block), the file can still be written. What is wrong
    /// with the destination shows again then.
    fn try_known(&self, path: &str, wanted: Wanted) -> Result<Option<Placed>> {
        if wanted.digest == Digest::EMPTY
            || self.shared.store.fresh.lacks(&wanted.digest, wanted.executable)
        {
            return Ok(None);
        }
        match self.try_place(path, wanted) {
            Err(error) if error.is_already_exists() => Err(error),
            placed => Ok(placed.unwrap_or(None)),
        }
    }

    /// Places the object if it is there and good.
    pub(crate) fn try_place(&self, path: &str, wanted: Wanted) -> Result<Option<Placed>> {
        let written_as = self.written_as(path);
        let placed = match self.means_of(path, wanted) {
            Means::Hardlink => self.try_link(&written_as, wanted),
            means => self.try_copy(&written_as, wanted, means),
        };
        let placed = placed.map_err(|error| self.fail("place", path, error))?;
        if placed.is_some() {
            self.reveal(&written_as, path)?;
        }
        Ok(placed)
    }

    pub(crate) fn contest<'a>(&'a self, path: &'a str, wanted: Wanted) -> Contest<'a> {
        Contest::outside(self, path, wanted)
    }

    fn try_link(&self, path: &str, wanted: Wanted) -> io::Result<Option<Placed>> {
        let contest = self.contest(path, wanted);
        let born = self.shared.store.is_overlay.then(|| contest.born(Name::Object));
        match protocol::place(&contest)? {
            Hit::Linked => {
                if born.is_some_and(|born| born != contest.born(Name::Dest)) {
                    self.note_copy_up();
                }
                Ok(Some(Placed::Linked))
            }
            Hit::Missing => Ok(None),
            Hit::Crowded => self.try_copy_and_roll_over(path, wanted),
            Hit::Refused(_) => {
                if self.shared.store.is_read_only() {
                    // There was no probe; this file was it.
                    self.shared.means_out.worsen(Means::Reflink);
                }
                self.try_copy(path, wanted, Means::Reflink)
            }
        }
    }

    /// The store lies in a lower layer: each link copies and syncs a whole file first, twice the work
    /// of a plain copy. From here on copies are made.
    fn note_copy_up(&self) {
        self.tally.copied_up();
        self.shared.means_out.worsen(Means::Copy);
    }

    /// The object is full: a copy of it takes its name, and this destination is its second link.
    fn try_copy_and_roll_over(&self, path: &str, wanted: Wanted) -> io::Result<Option<Placed>> {
        let placed = self.try_copy(path, wanted, Means::Reflink)?;
        if placed.is_some() && !self.shared.store.is_read_only() {
            let file = self.shared.dir.open_file(path)?;
            self.shared.store.stamp(&file, &wanted.digest, wanted.executable)?;
            protocol::roll_over(&self.contest(path, wanted))?;
            self.tally.rolled_over();
        }
        Ok(placed)
    }

    /// Copies the object to a file of its own; a bad object is set aside and counts as missing.
    fn try_copy(&self, path: &str, wanted: Wanted, means: Means) -> io::Result<Option<Placed>> {
        let store = &self.shared.store;
        let object = ObjectName::new(&wanted.digest, wanted.executable);
        let mut from = match store.open_object(&object, &wanted.digest) {
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return self.set_aside_if_no_file(path, wanted, error),
            Ok(file) => file,
        };
        let mut to = self.shared.dir.create_new(path, self.natural(wanted.executable))?;
        let copied = self.copy_checked(&mut from, &mut to, wanted, means);
        if !matches!(copied, Ok(Some(_))) {
            gone_is_fine(self.shared.dir.unlink(path))?;
        }
        if matches!(copied, Ok(None)) {
            let bad = sys::stat_file(&from)?;
            protocol::set_aside(&self.contest(path, wanted), &bad)?;
        }
        copied
    }

    /// What cannot be opened because it is no regular file counts as missing.
    fn set_aside_if_no_file(
        &self,
        path: &str,
        wanted: Wanted,
        error: io::Error,
    ) -> io::Result<Option<Placed>> {
        let contest = self.contest(path, wanted);
        let seen = contest.stat(Name::Object)?;
        if seen.kind == FileKind::Regular {
            return Err(error);
        }
        protocol::set_aside(&contest, &seen).map(|()| None)
    }

    /// `None` when the bytes are not what the name says.
    fn copy_checked(
        &self,
        from: &mut File,
        to: &mut File,
        wanted: Wanted,
        means: Means,
    ) -> io::Result<Option<Placed>> {
        let store = &self.shared.store;
        let seen = sys::stat_file(from)?;
        if seen.kind != FileKind::Regular {
            return Ok(None);
        }
        let looks = store.looks_like(&seen, &wanted.digest, wanted.executable);
        let means = if looks && !store.needs_hash(&seen) { means } else { Means::Copy };
        match copying::copy(from, to, means)? {
            Copied::Reflinked => Ok(Some(Placed::Reflinked)),
            Copied::Hashed(found) => {
                if means == Means::Reflink && self.means() == Means::Reflink {
                    self.shared.means_out.worsen(Means::Copy);
                }
                Ok((found == wanted.digest).then_some(Placed::Copied))
            }
        }
    }

    /// Changes the executable bit of a file that was placed or published with the other one.
    ///
    /// Archives that are read as a stream say who is executable only at their end. Where files are
    /// hard links the file becomes a link of the other variant, which is made if need be; a private
    /// file just changes its mode.
    ///
    /// # Errors
    ///
    /// [`is_not_found`](Error::is_not_found) when there is no such file, or an I/O error.
    pub fn set_executable(
        &self,
        path: &str,
        digest: Digest,
        executable: Executable,
    ) -> Result<Placed> {
        path::checked(path)?;
        let fail = |error| self.fail("change the executable bit of", path, error);
        let seen = self.shared.dir.stat(path).map_err(fail)?;
        if seen.kind != FileKind::Regular {
            return Err(fail(io::ErrorKind::InvalidInput.into()));
        }
        if seen.links == 1 {
            self.shared.dir.set_mode(path, self.natural(executable)).map_err(fail)?;
            return Ok(Placed::WrotePrivate(Why::Alone));
        }
        let wanted = Wanted { digest, executable, size: Some(seen.size) };
        self.replacing().swap_variant(path, wanted)
    }

    /// Replaces the file at `path` by the wanted variant, from the store or from its own bytes.
    fn swap_variant(&self, path: &str, wanted: Wanted) -> Result<Placed> {
        if let Some(placed) = self.try_place(path, wanted)? {
            return Ok(placed);
        }
        let fail = |error| self.fail("copy", path, error);
        let mut draft = self.draft(path, wanted.executable)?;
        let mut from = self.shared.dir.open_file(path).map_err(fail)?;
        let copied = copying::copy(&mut from, &mut draft.file, Means::Copy).map_err(fail)?;
        if copied != Copied::Hashed(wanted.digest) {
            return Err(fail(io::ErrorKind::InvalidData.into()));
        }
        let (file, mut finished) = draft.into_parts(wanted)?;
        drop(file);
        finished.run_uncounted()
    }

    /// Checks the path and makes the folders above it, each once.
    pub(crate) fn prepare(&self, path: &str) -> Result<()> {
        self.make_folders_above(path::checked(path)?)
    }

    /// Looks from the innermost outwards for one that is there: nearly always the first or the second.
    pub(crate) fn make_folders_above(&self, path: &str) -> Result<()> {
        let mut inner_first = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
        let known = inner_first.find(|folder| self.knows(folder)).map_or(0, str::len);
        path::ancestors(path)
            .filter(|folder| folder.len() > known)
            .try_for_each(|folder| self.make_folder(folder))
    }

    /// Makes an empty folder, and those above it.
    ///
    /// # Errors
    ///
    /// [`is_unsafe_path`](Error::is_unsafe_path), or an I/O error.
    pub fn create_folder(&self, path: &str) -> Result<()> {
        self.prepare(path)?;
        if self.knows(path) { Ok(()) } else { self.make_folder(path) }
    }

    fn knows(&self, folder: &str) -> bool {
        self.shared.folders.read().unwrap_or_else(PoisonError::into_inner).contains(folder)
    }

    fn make_folder(&self, folder: &str) -> Result<()> {
        let fail = |error| self.fail("create the folder", folder, error);
        match self.shared.dir.make_dir(folder, 0o777) {
            // A link to a folder would lead out of the destination.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if self.shared.dir.stat(folder).map_err(fail)?.kind != FileKind::Folder {
                    return Err(fail(error));
                }
            }
            other => other.map_err(fail)?,
        }
        let mut folders = self.shared.folders.write().unwrap_or_else(PoisonError::into_inner);
        folders.insert(folder.to_owned());
        Ok(())
    }

    /// The name a file is written under: its own, or one beside it that is renamed over it.
    fn written_as<'a>(&self, path: &'a str) -> Cow<'a, str> {
        if !self.replace {
            return path.into();
        }
        let name = self.shared.store.names.next();
        match path::parent(path) {
            "" => name.into(),
            parent => format!("{parent}/{name}").into(),
        }
    }

    /// Gives a finished file its own name.
    pub(crate) fn reveal(&self, written_as: &str, path: &str) -> Result<()> {
        if written_as == path {
            return Ok(());
        }
        let dir = &self.shared.dir;
        let renamed = dir.rename(written_as, dir, path);
        // Still there when the old file is a link of the same object, or when the rename failed.
        let unlinked = gone_is_fine(dir.unlink(written_as));
        renamed.and(unlinked).map_err(|error| self.fail("replace", path, error))
    }

    pub(crate) fn create_file<'a>(
        &self,
        path: &'a str,
        executable: Executable,
    ) -> Result<(File, Cow<'a, str>)> {
        let written_as = self.written_as(path);
        let mode = match self.shared.means_in {
            Means::Hardlink => self.shared.store.config.mode(executable),
            _ => self.natural(executable),
        };
        // A file without write permission can still be written through the handle that made it.
        let file = self.shared.dir.create_new(&written_as, mode);
        Ok((file.map_err(|error| self.fail("create", path, error))?, written_as))
    }

    /// The mode that this process gives to new files here.
    fn natural(&self, executable: Executable) -> u32 {
        let plain = self.shared.natural_mode;
        if executable.into() { with_execute(plain) } else { plain }
    }

    /// How this file comes out of the store: private ones never share an inode.
    fn means_of(&self, path: &str, wanted: Wanted) -> Means {
        let means = self.shared.means_out.get();
        let store = &self.shared.store;
        if means != Means::Hardlink || store.options.private.is_none() {
            return means;
        }
        let name = ObjectName::new(&wanted.digest, wanted.executable);
        let stated = || store.objects.stat(name.as_str()).map_or(0, |seen| seen.size);
        let size = wanted.size.unwrap_or_else(stated);
        if self.is_private(path, size) { Means::Reflink } else { means }
    }

    /// How this file, just written, gets into the store.
    pub(crate) fn route(&self, path: &str, size: u64) -> Route {
        match self.shared.means_in {
            _ if size == 0 => Route::Stay(Why::Empty),
            _ if self.shared.store.is_read_only() => Route::Stay(Why::ReadOnlyStore),
            Means::Hardlink if self.is_private(path, size) => Route::CopyIn(Means::Reflink),
            Means::Hardlink => Route::Share,
            means => Route::CopyIn(means),
        }
    }

    fn is_private(&self, path: &str, size: u64) -> bool {
        self.shared.store.options.is_private(path, size)
    }

    #[cold]
    pub(crate) fn fail(&self, verb: &'static str, path: &str, error: io::Error) -> Error {
        Error::io(verb, self.shared.dir.path().join(path), error)
    }
}

impl Shared {
    /// Gives a file that was created for sharing the time that its object has. Its mode is right
    /// already, unless a group store overrides the umask.
    pub(crate) fn stamp_new(&self, file: &File, wanted: Wanted) -> io::Result<()> {
        match wanted.size {
            Some(size) if self.store.options.sharing != Sharing::Group => {
                sys::set_modified(file, fingerprint::of(&wanted.digest, size))
            }
            _ => self.store.stamp(file, &wanted.digest, wanted.executable),
        }
    }
}

/// Hard links only where they leave the file as open, or as closed, as this process wants its files.
fn means_for(store: &Inner, survey: plan::Survey) -> Means {
    let wanted = store.config.plain_mode;
    let stricter = survey.natural_mode & wanted != wanted;
    let means = match store.options.protection {
        Protection::Cow if survey.means == Means::Hardlink => Means::Reflink,
        _ => survey.means,
    };
    if means == Means::Hardlink && stricter && store.options.sharing != Sharing::Group {
        return Means::Copy;
    }
    means
}
