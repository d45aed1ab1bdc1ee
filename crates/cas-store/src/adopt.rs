//! Sharing the files of a folder that was filled without a store, in place: like `nix-store
//! --optimise`.
//!
//! A file is adopted only when nobody can tell afterwards but by its link count and its time. Passed
//! over: empty files; files that changed a moment ago, or while they were read; files with other
//! permissions than the store's objects, with set-id bits, capabilities or access lists, of another
//! owner, or linked from elsewhere already.
//!
//! Adopting sets the modification time (see `docs/LAYOUT.md`). Caches keyed by it, such as Python's
//! `.pyc` files, become stale and are made again.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::contest::{Contest, Wanted};
use crate::digest::{Digest, Executable};
use crate::error::{Error, Result};
use crate::fingerprint::Instant;
use crate::placed::Tally;
use crate::protocol::{self, Published};
use crate::store::{Inner, Store};
use crate::sys::{self, Dir, Seen};
use crate::walk;
use crate::watch::{Progress, Watch};

type Skip = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Which files [`Store::adopt`] takes.
#[derive(Clone)]
#[must_use]
pub struct AdoptOptions {
    settled_for: Duration,
    dry_run: bool,
    skip: Option<Skip>,
    watch: Watch,
}

impl Default for AdoptOptions {
    fn default() -> Self {
        let settled_for = Duration::from_secs(2);
        Self { settled_for, dry_run: false, skip: None, watch: Watch::default() }
    }
}

impl AdoptOptions {
    /// Files that changed within this time may still be open; they are passed over. Two seconds by
    /// default.
    pub fn settled_for(self, settled_for: Duration) -> Self {
        Self { settled_for, ..self }
    }

    /// Counts, and changes nothing.
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Passes over the files for which `skip(path)` holds.
    pub fn skip(self, skip: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self { skip: Some(Arc::new(skip)), ..self }
    }

    /// Called after every file; [`ControlFlow::Break`] stops.
    pub fn watch(
        self,
        watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { watch: Watch::new(watch), ..self }
    }
}

impl fmt::Debug for AdoptOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdoptOptions")
            .field("settled_for", &self.settled_for)
            .field("dry_run", &self.dry_run)
            .field("skip", &self.skip.is_some())
            .finish_non_exhaustive()
    }
}

/// What [`Store::adopt`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct AdoptReport {
    /// Regular files looked at.
    pub files: u64,
    /// Files that became links of an object.
    pub linked: u64,
    /// Files that became objects.
    pub added: u64,
    /// Bytes freed on the medium.
    pub bytes_freed: u64,
    /// Files that were links of an object already.
    pub shared_already: u64,
    /// Files passed over, by reason.
    pub skipped: Skipped,
}

/// Why files were passed over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Skipped {
    /// No content.
    pub empty: u64,
    /// The caller's hook said so.
    pub asked: u64,
    /// Changed a moment ago, or while it was read.
    pub busy: u64,
    /// Other permissions, owner, attributes or links than an object has, or a name that is no text.
    pub special: u64,
    /// The system refused to link it.
    pub refused: u64,
}

impl Store {
    /// Makes the files under `root` links of objects, adding those that the store has not.
    ///
    /// Adopt what nobody writes to: edits in place are noticed, also while a file is read, but a file that
    /// is renamed over another in the instant between the last look at the name and its replacement by
    /// the object's link is lost.
    ///
    /// # Errors
    ///
    /// [`is_cancelled`](Error::is_cancelled) when the watcher stopped it, or an I/O error. Files
    /// adopted until then stay adopted.
    pub fn adopt(&self, root: impl AsRef<Path>, options: AdoptOptions) -> Result<AdoptReport> {
        let report = AdoptReport::default();
        let mut adopt = Adopt { store: &self.inner, options, report, bytes: 0, folder: None };
        walk::files(root.as_ref(), |path, seen| adopt.visit(&path, &seen))?;
        Ok(adopt.report)
    }
}

struct Adopt<'a> {
    store: &'a Inner,
    options: AdoptOptions,
    report: AdoptReport,
    bytes: u64,
    /// The folder of the last file: files come folder by folder.
    folder: Option<(PathBuf, Dir)>,
}

impl Adopt<'_> {
    fn visit(&mut self, path: &Path, seen: &Seen) -> Result<()> {
        self.report.files += 1;
        if let Some(executable) = self.admit(path, seen) {
            self.adopt(path, seen, executable).map_err(|error| Error::io("adopt", path, error))?;
        }
        let progress = Progress { files: self.report.files, bytes: self.bytes };
        self.options.watch.tell(progress)
    }

    /// Which variant the file would be; `None` after counting why it is passed over.
    fn admit(&mut self, path: &Path, seen: &Seen) -> Option<Executable> {
        let executable = Executable::from(seen.mode & 0o111 != 0);
        let special = self.is_special(path, seen, executable);
        let skipped = &mut self.report.skipped;
        let counter = if seen.size == 0 {
            &mut skipped.empty
        } else if self.options.skip.as_ref().is_some_and(|skip| skip(path)) {
            &mut skipped.asked
        } else if is_fresh(seen, self.options.settled_for) {
            &mut skipped.busy
        } else if special {
            &mut skipped.special
        } else {
            return Some(executable);
        };
        *counter += 1;
        None
    }

    fn is_special(&self, path: &Path, seen: &Seen, executable: Executable) -> bool {
        seen.mode != self.store.config.mode(executable)
            || seen.owner != self.store.owner
            || sys::has_attributes(path)
    }

    fn adopt(&mut self, path: &Path, seen: &Seen, executable: Executable) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            self.report.skipped.special += 1;
            return Ok(());
        };
        if self.folder.as_ref().is_none_or(|(folder, _)| folder != parent) {
            self.folder = Some((parent.to_path_buf(), Dir::open(parent)?));
        }
        let Some((folder, dir)) = self.folder.take() else { return Ok(()) };
        let done = self.adopt_in(&dir, name, seen, executable);
        self.folder = Some((folder, dir));
        done
    }

    fn adopt_in(
        &mut self,
        dir: &Dir,
        name: &str,
        seen: &Seen,
        executable: Executable,
    ) -> io::Result<()> {
        let file = dir.open_file(name)?;
        let (digest, size) = Digest::of_reader(&file)?;
        self.bytes += size;
        if sys::stat_file(&file)? != *seen {
            self.report.skipped.busy += 1;
            return Ok(());
        }
        let wanted = Wanted { digest, executable, size: Some(size) };
        if seen.links > 1 {
            self.count_linked_elsewhere(wanted, seen);
            return Ok(());
        }
        if self.options.dry_run {
            self.count_dry(wanted, seen);
            return Ok(());
        }
        self.share(dir, name, &file, seen, wanted)
    }

    fn object(&self, wanted: Wanted) -> Option<Seen> {
        let name = crate::layout::ObjectName::new(&wanted.digest, wanted.executable);
        self.store.objects.stat(name.as_str()).ok()
    }

    fn count_linked_elsewhere(&mut self, wanted: Wanted, seen: &Seen) {
        match self.object(wanted) {
            Some(object) if object.inode == seen.inode => self.report.shared_already += 1,
            _ => self.report.skipped.special += 1,
        }
    }

    fn count_dry(&mut self, wanted: Wanted, seen: &Seen) {
        if self.object(wanted).is_some() {
            self.report.linked += 1;
            self.report.bytes_freed += seen.disk_bytes;
        } else {
            self.report.added += 1;
        }
    }

    /// Stamps the file and publishes it; puts its time back when that fails. A file that is written to
    /// meanwhile, or whose name another file took, is passed over.
    fn share(
        &mut self,
        dir: &Dir,
        name: &str,
        file: &File,
        seen: &Seen,
        wanted: Wanted,
    ) -> io::Result<()> {
        let good = self.store.stamp_and_prove(file, &wanted.digest, wanted.executable)?;
        if !good || dir.stat(name)?.inode != seen.inode {
            self.report.skipped.busy += 1;
            return set_back(file, seen, good);
        }
        let tally = Tally::default();
        let contest = Contest::new(self.store, &tally, wanted, dir, name);
        match protocol::publish(&contest)? {
            Published::Joined => {
                self.report.linked += 1;
                self.report.bytes_freed += seen.disk_bytes;
            }
            Published::New | Published::RolledOver => self.report.added += 1,
            Published::Private(_) => {
                self.report.skipped.refused += 1;
                sys::set_modified(file, seen.modified)?;
            }
        }
        Ok(())
    }
}

/// Undoes the stamp. A file that changed keeps the time of now, so that its change stays visible.
fn set_back(file: &File, seen: &Seen, unchanged: bool) -> io::Result<()> {
    if unchanged {
        sys::set_modified(file, seen.modified)
    } else {
        file.set_modified(SystemTime::now())
    }
}

fn is_fresh(seen: &Seen, settled_for: Duration) -> bool {
    let oldest = SystemTime::now().checked_sub(settled_for).unwrap_or(SystemTime::UNIX_EPOCH);
    let since = oldest.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let Instant { seconds, nanoseconds } = seen.modified;
    let modified = (i128::from(seconds), nanoseconds);
    modified >= (i128::from(since.as_secs()), since.subsec_nanos())
}
