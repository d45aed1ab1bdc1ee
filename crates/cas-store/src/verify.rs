//! Looking at every object, healing what can be healed, and saying who else has the bad bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use std::ops::ControlFlow;

use crate::contest::{Contest, Wanted};
use crate::digest::{Digest, Executable};
use crate::error::{Error, Result};
use crate::fingerprint;
use crate::layout::{self, ObjectName};
use crate::placed::{Quarantined, Tally};
use crate::protocol;
use crate::store::{Inner, Store};
use crate::sys::{self, Seen};
use crate::walk;
use crate::watch::{Count, Progress, Watch};

/// How closely objects are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Depth {
    /// Every byte is read and hashed.
    #[default]
    Content,
    /// One `stat` per object; only those whose time or mode does not fit are read.
    Fingerprint,
}

/// What [`Store::verify`] looks at and may use.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct VerifyOptions {
    depth: Depth,
    environments: Vec<PathBuf>,
    report_only: bool,
    watch: Watch,
}

impl VerifyOptions {
    /// How closely objects are looked at.
    pub fn depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    /// Adds a folder with installed files: searched for good copies, and for names of bad inodes.
    pub fn environment(mut self, root: impl Into<PathBuf>) -> Self {
        self.environments.push(root.into());
        self
    }

    /// Changes nothing.
    pub fn report_only(self, report_only: bool) -> Self {
        Self { report_only, ..self }
    }

    /// Called after every object; [`ControlFlow::Break`] stops.
    pub fn watch(
        self,
        watch: impl Fn(Progress) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        Self { watch: Watch::new(watch), ..self }
    }
}

/// What [`Store::verify`] found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Objects looked at.
    pub objects: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Objects with the right bytes and a wrong time or mode, which were set right.
    pub restamped: u64,
    /// Objects with wrong bytes.
    pub damaged: Vec<Damage>,
}

impl VerifyReport {
    fn with(mut self, shard: Self) -> Self {
        self.objects += shard.objects;
        self.bytes_read += shard.bytes_read;
        self.restamped += shard.restamped;
        self.damaged.extend(shard.damaged);
        self
    }
}

/// An object with wrong bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// What it was to contain.
    pub digest: Digest,
    /// Which variant it was.
    pub executable: Executable,
    /// Where it is now; `None` when nothing was to be changed.
    pub quarantined: Option<Quarantined>,
    /// Where the good bytes that replace it came from.
    pub healed: Option<HealedFrom>,
    /// Files in the given environments that are the same, bad inode.
    pub shared_with: Vec<PathBuf>,
}

/// Where good bytes were found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HealedFrom {
    /// The other variant of the object.
    Variant,
    /// A file in a given environment.
    File(PathBuf),
}

/// A file that is a hard link of a bad inode.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Sharer {
    /// The root that was searched.
    pub environment: PathBuf,
    /// The file.
    pub path: PathBuf,
    /// What it should contain.
    pub digest: Digest,
    /// Which variant it should be.
    pub executable: Executable,
}

impl Store {
    /// Checks every object, sets bad ones aside, and heals them where good bytes are at hand.
    ///
    /// Safe beside any number of processes that insert and place.
    ///
    /// # Errors
    ///
    /// [`is_cancelled`](Error::is_cancelled) when the watcher stopped it, or an I/O error.
    #[expect(clippy::needless_pass_by_value, reason = "options are made for one call")]
    pub fn verify(&self, options: VerifyOptions) -> Result<VerifyReport> {
        let known = Surroundings::look(&self.inner, &options)?;
        let verify = Verify::new(&self.inner, &options, &known);
        layout::shards().try_fold(VerifyReport::default(), |report, shard| {
            Ok(report.with(verify.shard(&shard)?))
        })
    }

    /// The same on the threads of the current rayon pool, shard by shard.
    ///
    /// # Errors
    ///
    /// As [`verify`](Self::verify).
    #[cfg(feature = "rayon")]
    #[expect(clippy::needless_pass_by_value, reason = "options are made for one call")]
    pub fn verify_parallel(&self, options: VerifyOptions) -> Result<VerifyReport> {
        use rayon::prelude::*;

        let known = Surroundings::look(&self.inner, &options)?;
        let verify = Verify::new(&self.inner, &options, &known);
        let shards: Vec<String> = layout::shards().collect();
        let reports: Vec<VerifyReport> =
            shards.par_iter().map(|shard| verify.shard(shard)).collect::<Result<_>>()?;
        Ok(reports.into_iter().fold(VerifyReport::default(), VerifyReport::with))
    }

    /// The files under `environments` that are hard links of the inodes in `bad`, as reported by a
    /// placement or by [`verify`](Self::verify).
    ///
    /// # Errors
    ///
    /// When a folder cannot be read.
    #[expect(clippy::unused_self, reason = "a question to the store, whatever answers it")]
    pub fn sharers<P: AsRef<Path>>(
        &self,
        bad: &[Quarantined],
        environments: &[P],
    ) -> Result<Vec<Sharer>> {
        let by_inode: HashMap<_, _> = bad.iter().map(|bad| (bad.inode, bad)).collect();
        let mut sharers = Vec::new();
        for environment in environments {
            let environment = environment.as_ref();
            walk::files(environment, |path, seen| {
                sharers.extend(by_inode.get(&seen.inode).map(|bad| Sharer {
                    environment: environment.to_path_buf(),
                    path,
                    digest: bad.digest,
                    executable: bad.executable,
                }));
                Ok(())
            })?;
        }
        sharers.sort_unstable();
        Ok(sharers)
    }
}

/// What else there is: sizes from manifests, files from environments.
#[derive(Debug, Default)]
struct Surroundings {
    sizes: HashMap<Digest, u64>,
    files: Vec<(PathBuf, Seen)>,
}

impl Surroundings {
    fn look(store: &Inner, options: &VerifyOptions) -> Result<Self> {
        let mut found = Self::default();
        if options.environments.is_empty() {
            return Ok(found);
        }
        for name in store.tree_names()? {
            match store.read_tree(&name) {
                Err(error) if !error.is_corrupt() => return Err(error),
                Ok(Some((_, tree))) => {
                    found.sizes.extend(tree.files().iter().map(|file| (file.digest, file.size)));
                }
                _ => {}
            }
        }
        for root in &options.environments {
            walk::files(root, |path, seen| {
                found.files.push((path, seen));
                Ok(())
            })?;
        }
        Ok(found)
    }

    fn sharing(&self, bad: &Seen) -> Vec<PathBuf> {
        let shares = |(_, seen): &&(PathBuf, Seen)| seen.inode == bad.inode;
        self.files.iter().filter(shares).map(|(path, _)| path.clone()).collect()
    }

    /// A file that may hold the bytes of `digest`: by its size if that is known, else by its time.
    fn may_hold(&self, digest: &Digest, bad: &Seen, seen: &Seen, unit_ns: u32) -> bool {
        seen.inode != bad.inode
            && match self.sizes.get(digest) {
                Some(size) => *size == seen.size,
                None => fingerprint::matches(digest, seen.size, seen.modified, unit_ns),
            }
    }
}

struct Verify<'a> {
    store: &'a Inner,
    options: &'a VerifyOptions,
    known: &'a Surroundings,
    count: Count,
}

impl<'a> Verify<'a> {
    fn new(store: &'a Inner, options: &'a VerifyOptions, known: &'a Surroundings) -> Self {
        Self { store, options, known, count: Count::default() }
    }

    fn shard(&self, shard: &str) -> Result<VerifyReport> {
        let report = VerifyReport::default();
        let mut check = Check { verify: self, tally: Tally::default(), report };
        for (digest, executable) in self.store.objects_in(shard)? {
            check.check(digest, executable)?;
        }
        Ok(check.report)
    }
}

/// One shard's share of a verification.
struct Check<'a> {
    verify: &'a Verify<'a>,
    tally: Tally,
    report: VerifyReport,
}

impl Check<'_> {
    fn check(&mut self, digest: Digest, executable: Executable) -> Result<()> {
        let name = ObjectName::new(&digest, executable);
        let wanted = Wanted { digest, executable, size: None };
        let read_before = self.report.bytes_read;
        match self.look(&name, wanted) {
            // Swept meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(self.verify.store.object_error("verify", &name, error)),
            Ok(None) => self.report.objects += 1,
            Ok(Some(bad)) => {
                self.report.objects += 1;
                self.handle(&name, wanted, &bad)?;
            }
        }
        let read = self.report.bytes_read - read_before;
        self.verify.options.watch.tell(self.verify.count.add(read))
    }

    /// The stat of the object when its bytes are wrong.
    fn look(&mut self, name: &ObjectName, wanted: Wanted) -> io::Result<Option<Seen>> {
        let seen = self.verify.store.objects.stat(name.as_str())?;
        let Wanted { digest, executable, .. } = wanted;
        let fits = self.verify.store.looks_like(&seen, &digest, executable);
        if fits && self.verify.options.depth == Depth::Fingerprint {
            return Ok(None);
        }
        if seen.kind != sys::FileKind::Regular {
            return Ok(Some(seen));
        }
        let file = self.verify.store.objects.open_file(name.as_str())?;
        let (found, size) = Digest::of_reader(&file)?;
        self.report.bytes_read += size;
        if found != digest {
            return Ok(Some(sys::stat_file(&file)?));
        }
        if fits || self.restamp(&file, wanted)? {
            Ok(None)
        } else {
            sys::stat_file(&file).map(Some)
        }
    }

    /// The bytes are right: somebody only touched the file or changed its mode. False when they are
    /// wrong by now.
    fn restamp(&mut self, file: &File, wanted: Wanted) -> io::Result<bool> {
        let changes = !self.verify.options.report_only && !self.verify.store.is_read_only();
        let good = !changes
            || self.verify.store.stamp_and_prove(file, &wanted.digest, wanted.executable)?;
        self.report.restamped += u64::from(good);
        Ok(good)
    }

    fn handle(&mut self, name: &ObjectName, wanted: Wanted, bad: &Seen) -> Result<()> {
        let mut damage = Damage {
            digest: wanted.digest,
            executable: wanted.executable,
            quarantined: None,
            healed: None,
            shared_with: self.verify.known.sharing(bad),
        };
        if !self.verify.options.report_only && !self.verify.store.is_read_only() {
            let contest = Contest::inside(self.verify.store, &self.tally, "", wanted);
            protocol::set_aside(&contest, bad)
                .map_err(|error| self.verify.store.object_error("set aside", name, error))?;
            damage.quarantined = self.tally.report().quarantined.pop();
            damage.healed = self.heal(wanted, bad)?;
        }
        self.report.damaged.push(damage);
        Ok(())
    }

    fn heal(&self, wanted: Wanted, bad: &Seen) -> Result<Option<HealedFrom>> {
        if self.verify.store.make_from_variant(&self.tally, wanted)? {
            return Ok(Some(HealedFrom::Variant));
        }
        for (path, seen) in &self.verify.known.files {
            let unit_ns = self.verify.store.config.time_unit_ns;
            if self.verify.known.may_hold(&wanted.digest, bad, seen, unit_ns)
                && self.heal_from(path, wanted)?
            {
                return Ok(Some(HealedFrom::File(path.clone())));
            }
        }
        Ok(None)
    }

    fn heal_from(&self, path: &Path, wanted: Wanted) -> Result<bool> {
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            opened => opened
                .and_then(|file| self.verify.store.add_copy(&self.tally, file, wanted))
                .map_err(|error| Error::io("copy", path, error)),
        }
    }
}
