//! Removing what nothing needs: objects with one link, named by no tree, and old enough.
//!
//! A sweep takes no lock that inserters or placers know of. What protects them: an object that is
//! being inserted or placed has two links; one whose destination was just deleted changed its inode
//! a moment ago, and the change time, which nobody can set, is what the grace is measured by; trees
//! written while the sweep runs are read before anything is removed. What still slips through is a
//! placement that finds its object missing, and says so.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::time::{Duration, SystemTime};

use crate::contest::{Contest, Wanted};
use crate::digest::{Digest, Executable};
use crate::error::{Error, Result};
use crate::layout::{self, ObjectName};
use crate::placed::Tally;
use crate::protocol::{self, Retired};
use crate::store::{Inner, Store};
use crate::sys::{Inode, Seen, gone_is_fine};

/// What a sweep may remove.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use cas_store::SweepOptions;
///
/// let options = SweepOptions::default().grace(Duration::from_secs(60)).dry_run(true);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SweepOptions {
    grace: Duration,
    dry_run: bool,
    unused_for: Option<Duration>,
}

impl Default for SweepOptions {
    fn default() -> Self {
        Self { grace: Duration::from_secs(600), dry_run: false, unused_for: None }
    }
}

impl SweepOptions {
    /// Objects and unfinished files that changed within this time are kept. Ten minutes by default.
    pub fn grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Reports what would be removed, and removes nothing.
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Forgets trees that were neither written nor placed for this long.
    pub fn unused_for(self, age: Duration) -> Self {
        Self { unused_for: Some(age), ..self }
    }
}

/// What a sweep found and removed; in a dry run, what it would have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SweepReport {
    /// Trees forgotten because of their age.
    pub trees_removed: u64,
    /// Trees that keep objects alive.
    pub trees_kept: u64,
    /// Manifests that cannot be read; they keep nothing alive.
    pub trees_corrupt: u64,
    /// Objects removed.
    pub objects_removed: u64,
    /// What they took on the medium, each inode once, in bytes.
    pub bytes_removed: u64,
    /// Objects kept.
    pub objects_kept: u64,
    /// What they take on the medium, each inode once, in bytes.
    pub bytes_kept: u64,
    /// Objects that gained a link while they were being removed, and are back.
    pub objects_put_back: u64,
    /// Unfinished files of crashed processes, removed.
    pub temporaries_removed: u64,
}

/// Which objects the trees need.
#[derive(Debug, Default)]
struct Live {
    manifests: HashSet<String>,
    objects: HashSet<(Digest, Executable)>,
}

impl Store {
    /// Removes objects that no tree names and no other file links to.
    ///
    /// Any number of processes may insert and place meanwhile.
    ///
    /// # Errors
    ///
    /// [`is_locked`](Error::is_locked) when another sweep runs, or an I/O error.
    pub fn sweep(&self, options: SweepOptions) -> Result<SweepReport> {
        let _lock = self.inner.lock_sweep()?;
        Sweep { store: &self.inner, options, report: SweepReport::default(), now_s: now_s() }.run()
    }
}

impl Inner {
    /// Held until dropped. File systems that cannot lock are swept without: two sweeps only waste
    /// each other's time.
    fn lock_sweep(&self) -> Result<File> {
        let path = self.home.path().join(layout::SWEEP_LOCK);
        let open = File::options().create(true).truncate(false).write(true).open(&path);
        let file = open.map_err(|error| Error::io("open", &path, error))?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(Error::locked(path)),
            Ok(()) | Err(fs::TryLockError::Error(_)) => Ok(file),
        }
    }
}

fn now_s() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

struct Sweep<'a> {
    store: &'a Inner,
    options: SweepOptions,
    report: SweepReport,
    now_s: i64,
}

impl Sweep<'_> {
    fn run(mut self) -> Result<SweepReport> {
        let mut live = Live::default();
        self.read_trees(&mut live)?;
        let mut seen = HashSet::new();
        let mut candidates = Vec::new();
        for shard in 0..layout::SHARDS {
            self.scan_shard(&layout::shard(shard), &live, &mut seen, &mut candidates)?;
        }
        // Trees that were written during the scan.
        self.read_trees(&mut live)?;
        for (digest, executable, found) in candidates {
            if live.objects.contains(&(digest, executable)) {
                self.keep(&found);
            } else {
                self.remove(digest, executable, &found)?;
            }
        }
        self.reap_temporaries()?;
        Ok(self.report)
    }

    fn is_old(&self, seen: &Seen, age: Duration) -> bool {
        let age_s = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        seen.changed_s <= self.now_s.saturating_sub(age_s)
    }

    /// Adds what manifests not read yet keep alive, after forgetting those that are too old.
    fn read_trees(&mut self, live: &mut Live) -> Result<()> {
        for name in self.store.tree_names()? {
            if live.manifests.insert(name.clone()) && !self.forget_if_old(&name)? {
                self.read_tree(&name, live)?;
            }
        }
        Ok(())
    }

    fn read_tree(&mut self, name: &str, live: &mut Live) -> Result<()> {
        match self.store.read_tree(name) {
            Ok(None) => {}
            Ok(Some((_, tree))) => {
                self.report.trees_kept += 1;
                live.objects.extend(tree.files().iter().map(|file| (file.digest, file.executable)));
            }
            Err(error) if error.is_corrupt() => self.report.trees_corrupt += 1,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn forget_if_old(&mut self, name: &str) -> Result<bool> {
        let Some(age) = self.options.unused_for else { return Ok(false) };
        let seen = match self.store.home.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            other => other.map_err(|error| self.store.home_error("look up", name, error))?,
        };
        if !self.is_old(&seen, age) {
            return Ok(false);
        }
        self.report.trees_removed += 1;
        if !self.options.dry_run {
            gone_is_fine(self.store.home.unlink(name))
                .map_err(|error| self.store.home_error("remove", name, error))?;
        }
        Ok(true)
    }

    fn scan_shard(
        &mut self,
        shard: &str,
        live: &Live,
        counted: &mut HashSet<Inode>,
        candidates: &mut Vec<(Digest, Executable, Seen)>,
    ) -> Result<()> {
        for name in file_names(&self.store.objects.path().join(shard))? {
            let Some((digest, executable)) = layout::parse_object(shard, &name) else { continue };
            let Ok(seen) = self.store.objects.stat(&format!("{shard}/{name}")) else { continue };
            if !counted.insert(seen.inode) {
                self.report.objects_kept += 1;
            } else if seen.links == 1
                && !live.objects.contains(&(digest, executable))
                && self.is_old(&seen, self.options.grace)
            {
                candidates.push((digest, executable, seen));
            } else {
                self.keep(&seen);
            }
        }
        Ok(())
    }

    fn keep(&mut self, seen: &Seen) {
        self.report.objects_kept += 1;
        self.report.bytes_kept += seen.disk_bytes;
    }

    fn remove(&mut self, digest: Digest, executable: Executable, seen: &Seen) -> Result<()> {
        match self.retire(digest, executable)? {
            Retired::Removed => {
                self.report.objects_removed += 1;
                self.report.bytes_removed += seen.disk_bytes;
            }
            Retired::PutBack => {
                self.report.objects_put_back += 1;
                self.keep(seen);
            }
            Retired::Gone => {}
        }
        Ok(())
    }

    fn retire(&self, digest: Digest, executable: Executable) -> Result<Retired> {
        if self.options.dry_run {
            return Ok(Retired::Removed);
        }
        let wanted = Wanted { digest, executable, size: None };
        let tally = Tally::default();
        protocol::retire(&Contest::inside(self.store, &tally, "", wanted)).map_err(|error| {
            self.store.object_error("remove", &ObjectName::new(&digest, executable), error)
        })
    }

    /// Removes files of processes that died, and of sweeps that were killed in the middle.
    fn reap_temporaries(&mut self) -> Result<()> {
        for name in file_names(&self.store.home.path().join(layout::TEMPORARY))? {
            let name = format!("{}/{name}", layout::TEMPORARY);
            let Ok(seen) = self.store.home.stat(&name) else { continue };
            if self.is_old(&seen, self.options.grace) {
                self.report.temporaries_removed += 1;
                if !self.options.dry_run {
                    gone_is_fine(self.store.home.unlink(&name))
                        .map_err(|error| self.store.home_error("remove", &name, error))?;
                }
            }
        }
        Ok(())
    }
}

/// The names in a folder; none when it is not there.
fn file_names(folder: &std::path::Path) -> Result<Vec<String>> {
    let fail = |error| Error::io("list", folder, error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(fail)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(fail)?.file_name().into_string());
    }
    Ok(names)
}
