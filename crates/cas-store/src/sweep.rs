//! Removing what nothing needs: objects with one link, named by no tree, and old enough.
//!
//! A sweep takes no lock that inserters or placers know of. What protects them: an object that is
//! being inserted or placed has two links; one whose destination was just deleted changed its inode
//! a moment ago, and the change time, which nobody can set, is what the grace is measured by; trees
//! written while the sweep runs are read before anything is removed. What still slips through is a
//! placement that finds its object missing, and says so.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use crate::contest::{Contest, Wanted};
use crate::digest::{Digest, Executable};
use crate::error::{Error, Result};
use crate::layout::{self, ObjectName};
use crate::placed::Tally;
use crate::protocol::{self, Retired};
use crate::store::{Inner, Store};
use crate::sys::{Inode, Seen, gone_is_fine};
use crate::watch::{Count, Progress, Watch};

/// What a sweep may remove.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use cas_store::SweepOptions;
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let options = SweepOptions::default().unused_for(month).most_bytes(10 << 30).dry_run(true);
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct SweepOptions {
    grace: Duration,
    dry_run: bool,
    unused_for: Option<Duration>,
    most_bytes: Option<u64>,
    quarantine_for: Duration,
    unfinished_for: Duration,
    watch: Watch,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

impl Default for SweepOptions {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(600),
            dry_run: false,
            unused_for: None,
            most_bytes: None,
            quarantine_for: 30 * DAY,
            unfinished_for: DAY,
            watch: Watch::default(),
        }
    }
}

impl SweepOptions {
    /// Objects that changed within this time are kept. Ten minutes by default.
    ///
    /// It bridges the time between an environment's deletion and the next use of its objects, and,
    /// where files are copied instead of linked, between their publication and their manifest.
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

    /// Forgets trees, those that were not used for longest first, until what is kept takes at most
    /// this many bytes. Objects that environments link to cannot be freed and count in full.
    pub fn most_bytes(self, bytes: u64) -> Self {
        Self { most_bytes: Some(bytes), ..self }
    }

    /// Bad objects are kept for this long. Thirty days by default.
    pub fn quarantine_for(self, age: Duration) -> Self {
        Self { quarantine_for: age, ..self }
    }

    /// Unfinished files and archives may belong to a running process for this long. A day by default.
    pub fn unfinished_for(self, age: Duration) -> Self {
        Self { unfinished_for: age, ..self }
    }

    /// Called after every object that is looked at; [`ControlFlow::Break`] stops.
    pub fn watch(
        self,
        watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { watch: Watch::new(watch), ..self }
    }
}

/// What a sweep found and removed; in a dry run, what it would have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SweepReport {
    /// Trees forgotten because of their age or of the budget.
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
    /// Unfinished files and archives of crashed processes, removed.
    pub temporaries_removed: u64,
    /// Bad objects removed from the quarantine.
    pub quarantined_removed: u64,
}

type Id = (Digest, Executable);

/// A tree that keeps objects alive.
#[derive(Debug)]
struct Root {
    /// The manifest, relative to the store's folder.
    name: String,
    seen: Seen,
    objects: HashSet<Id>,
}

impl Root {
    fn used_s(&self) -> i64 {
        self.seen.modified.seconds
    }
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
        Sweep::new(&self.inner, options).run(&ON_ONE_THREAD)
    }

    /// The same on the threads of the current rayon pool: objects are looked at and removed shard by
    /// shard.
    ///
    /// # Errors
    ///
    /// As [`sweep`](Self::sweep).
    #[cfg(feature = "rayon")]
    pub fn sweep_parallel(&self, options: SweepOptions) -> Result<SweepReport> {
        let _lock = self.inner.lock_sweep()?;
        Sweep::new(&self.inner, options).run(&ON_THE_POOL)
    }
}

impl Inner {
    /// Held until dropped. File systems that cannot lock are swept without: two sweeps only waste
    /// each other's time.
    fn lock_sweep(&self) -> Result<File> {
        let name = layout::SWEEP_LOCK;
        let open = self.home.open_lock(name);
        let file = open.map_err(|error| self.home_error("open", name, error))?;
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(Error::locked(self.home.path().join(name))),
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
    /// Manifests read so far; one that was replaced is another file.
    known: HashSet<(String, Inode)>,
    /// How many trees need each object.
    needed: HashMap<Id, u64>,
    count: Count,
}

/// An object and its stat.
type Found = (Id, Seen);

fn each_inode_once(shards: Vec<Vec<Found>>) -> Vec<Found> {
    let mut inodes = HashSet::new();
    shards.into_iter().flatten().filter(|(_, seen)| inodes.insert(seen.inode)).collect()
}

/// How the two long loops of a sweep run.
struct Loops {
    /// Looks at every shard.
    scan: fn(&Sweep<'_>) -> Result<Vec<Vec<Found>>>,
    /// Removes objects.
    retire: fn(&Sweep<'_>, &[Found]) -> Result<Vec<Retired>>,
}

const ON_ONE_THREAD: Loops = Loops {
    scan: |sweep| layout::shards().map(|shard| sweep.scan_shard(&shard)).collect(),
    retire: |sweep, found| found.iter().map(|(id, _)| sweep.retire(*id)).collect(),
};

#[cfg(feature = "rayon")]
const ON_THE_POOL: Loops = Loops {
    scan: |sweep| {
        use rayon::prelude::*;
        let shards: Vec<String> = layout::shards().collect();
        shards.par_iter().map(|shard| sweep.scan_shard(shard)).collect()
    },
    retire: |sweep, found| {
        use rayon::prelude::*;
        found.par_iter().map(|(id, _)| sweep.retire(*id)).collect()
    },
};

impl<'a> Sweep<'a> {
    fn new(store: &'a Inner, options: SweepOptions) -> Self {
        Self {
            store,
            options,
            report: SweepReport::default(),
            now_s: now_s(),
            known: HashSet::new(),
            needed: HashMap::new(),
            count: Count::default(),
        }
    }

    fn run(mut self, loops: &Loops) -> Result<SweepReport> {
        let roots = self.read_roots()?;
        let roots = self.forget_old(roots)?;
        let found = each_inode_once((loops.scan)(&self)?);
        self.forget_for_budget(roots, &found)?;
        // Trees that were written during the scan.
        self.read_roots()?;
        let (going, kept): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|(id, seen)| self.may_go(*id, seen));
        for (_, seen) in kept {
            self.keep(&seen);
        }
        let retired = (loops.retire)(&self, &going)?;
        for ((_, seen), retired) in going.iter().zip(retired) {
            self.note(seen, retired);
        }
        self.reap_temporaries()?;
        self.reap_quarantine()?;
        Ok(self.report)
    }

    fn is_old(&self, seen: &Seen, age: Duration) -> bool {
        self.is_before(seen.changed_s, age)
    }

    fn is_before(&self, time_s: i64, age: Duration) -> bool {
        let age_s = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        time_s <= self.now_s.saturating_sub(age_s)
    }

    fn may_go(&self, id: Id, seen: &Seen) -> bool {
        seen.links == 1 && !self.needed.contains_key(&id) && self.is_old(seen, self.options.grace)
    }

    /// Reads the manifests that were not read yet, and counts what they need.
    fn read_roots(&mut self) -> Result<Vec<Root>> {
        let mut roots = Vec::new();
        for name in self.store.tree_names()? {
            let Ok(seen) = self.store.home.stat(&name) else { continue };
            if self.known.insert((name.clone(), seen.inode)) {
                roots.extend(self.read_root(name, seen)?);
            }
        }
        for id in roots.iter().flat_map(|root: &Root| &root.objects) {
            *self.needed.entry(*id).or_default() += 1;
        }
        self.report.trees_kept += roots.len() as u64;
        Ok(roots)
    }

    fn read_root(&mut self, name: String, seen: Seen) -> Result<Option<Root>> {
        match self.store.read_tree(&name) {
            Ok(read) => Ok(read.map(|(_, tree)| Root {
                name,
                seen,
                objects: tree.files().iter().map(|file| (file.digest, file.executable)).collect(),
            })),
            Err(error) if error.is_corrupt() => {
                self.report.trees_corrupt += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Forgets the roots that were not used for too long; returns the others.
    fn forget_old(&mut self, roots: Vec<Root>) -> Result<Vec<Root>> {
        let Some(age) = self.options.unused_for else { return Ok(roots) };
        let (old, kept) = roots.into_iter().partition(|root| self.is_before(root.used_s(), age));
        let old: Vec<Root> = old;
        old.iter().try_for_each(|root| self.forget(root))?;
        Ok(kept)
    }

    /// Forgets a root, unless it was placed or replaced since it was read.
    fn forget(&mut self, root: &Root) -> Result<()> {
        let seen = self.store.home.stat(&root.name);
        if seen.is_ok_and(|seen| seen != root.seen) {
            return Ok(());
        }
        for id in &root.objects {
            if let Entry::Occupied(mut count) = self.needed.entry(*id) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        self.report.trees_removed += 1;
        self.report.trees_kept -= 1;
        if self.options.dry_run {
            return Ok(());
        }
        gone_is_fine(self.store.home.unlink(&root.name))
            .map_err(|error| self.store.home_error("remove", &root.name, error))
    }

    /// Forgets the roots used longest ago until the rest fits.
    fn forget_for_budget(&mut self, mut roots: Vec<Root>, found: &[Found]) -> Result<()> {
        let Some(most_bytes) = self.options.most_bytes else { return Ok(()) };
        let sizes: HashMap<Id, &Seen> = found.iter().map(|(id, seen)| (*id, seen)).collect();
        let kept = found.iter().filter(|(id, seen)| !self.may_go(*id, seen));
        let mut bytes: u64 = kept.map(|(_, seen)| seen.disk_bytes).sum();
        roots.sort_by_key(Root::used_s);
        for root in roots {
            if bytes <= most_bytes {
                break;
            }
            self.forget(&root)?;
            let freed = root.objects.iter().filter_map(|id| Some((*id, *sizes.get(id)?)));
            let freed = freed.filter(|(id, seen)| self.may_go(*id, seen));
            bytes -= freed.map(|(_, seen)| seen.disk_bytes).sum::<u64>().min(bytes);
        }
        Ok(())
    }

    fn scan_shard(&self, shard: &str) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for id in self.store.objects_in(shard)? {
            let name = ObjectName::new(&id.0, id.1);
            let Ok(seen) = self.store.objects.stat(name.as_str()) else { continue };
            found.push((id, seen));
            self.options.watch.tell(self.count.add(0))?;
        }
        Ok(found)
    }

    fn keep(&mut self, seen: &Seen) {
        self.report.objects_kept += 1;
        self.report.bytes_kept += seen.disk_bytes;
    }

    fn note(&mut self, seen: &Seen, retired: Retired) {
        match retired {
            Retired::Removed => {
                self.report.objects_removed += 1;
                self.report.bytes_removed += seen.disk_bytes;
            }
            Retired::PutBack => {
                self.report.objects_put_back += 1;
                self.keep(seen);
            }
            Retired::Held => self.keep(seen),
            Retired::Gone => {}
        }
    }

    fn retire(&self, (digest, executable): Id) -> Result<Retired> {
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
        self.report.temporaries_removed +=
            self.reap(layout::TEMPORARY, self.options.unfinished_for)?;
        Ok(())
    }

    fn reap_quarantine(&mut self) -> Result<()> {
        self.report.quarantined_removed +=
            self.reap(layout::QUARANTINE, self.options.quarantine_for)?;
        Ok(())
    }

    /// Removes what is old in `folder`, through one handle: a link put in the folder's place while we
    /// look must not lead the removal elsewhere.
    fn reap(&self, folder: &str, age: Duration) -> Result<u64> {
        let fail = |error| self.store.home_error("clear", folder, error);
        let dir = match self.store.home.open_folder(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            opened => opened.map_err(fail)?,
        };
        let mut reaped = 0;
        for name in dir.names().map_err(fail)? {
            if dir.stat(&name).is_ok_and(|seen| self.is_old(&seen, age)) {
                reaped += 1;
                if !self.options.dry_run {
                    gone_is_fine(dir.remove_all(&name)).map_err(fail)?;
                }
            }
        }
        Ok(reaped)
    }
}
