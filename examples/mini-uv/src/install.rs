//! Makes an environment hold the chosen wheels instead of the replaced packages, or changes nothing.
//!
//! Wheels are unpacked and arranged in parallel, each in its own folder of the transaction's stage.
//! Only when all of them are ready does anything move. What was unpacked stays in the cache even if
//! another wheel fails, so that trying again is cheap.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Context;
use stream_extract::Scratch;

use crate::cache::Cache;
use crate::closing;
use crate::dist::{Chosen, Location};
use crate::environment::Environment;
use crate::http::Http;
use crate::installed::Installed;
use crate::interrupt;
use crate::meter::Meter;
use crate::stage::{self, Provenance, Staged};
use crate::transaction::Transaction;
use crate::ui::Ui;
use crate::uninstall;
use crate::unpack::{Raw, Threads, Unpacker};

/// An installation that was decided.
pub(crate) struct Installation<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) cache: &'a Cache,
    pub(crate) http: &'a Http,
    pub(crate) ui: Ui,
    pub(crate) chosen: &'a [Chosen],
    pub(crate) replaced: &'a [Installed],
    /// How many wheels are prepared at once.
    pub(crate) workers: usize,
    /// Each wheel has a folder of its own in the cache.
    pub(crate) is_separate: bool,
}

impl Installation<'_> {
    /// Does it, and returns the Python sources that are there now. A signal undoes it.
    pub(crate) fn run(&self) -> anyhow::Result<Vec<PathBuf>> {
        let cancel = AtomicBool::new(false);
        let stop = || {
            cancel.store(true, Ordering::Relaxed);
            self.http.stop();
        };
        interrupt::guard(stop, || self.change(&cancel))
    }

    fn change(&self, cancel: &AtomicBool) -> anyhow::Result<Vec<PathBuf>> {
        let started = Instant::now();
        let mut transaction = Transaction::begin(&self.environment.roots.purelib)?;
        let dirs: Vec<PathBuf> =
            self.chosen.iter().map(|_| transaction.prepare()).collect::<anyhow::Result<_>>()?;
        let staged = self.prepare(&dirs, cancel)?;
        if !self.chosen.is_empty() {
            self.ui.done("Prepared", self.chosen.len(), started);
        }
        anyhow::ensure!(!cancel.load(Ordering::Relaxed), "the installation was stopped");
        self.replace(&mut transaction)?;
        self.place(transaction, &staged)?;
        self.cache.know_environment(&self.environment.roots.purelib);
        Ok(staged.into_iter().flat_map(|staged| staged.sources).collect())
    }

    fn replace(&self, transaction: &mut Transaction) -> anyhow::Result<()> {
        let started = Instant::now();
        for package in self.replaced {
            uninstall::remove(package, &self.environment.roots, transaction)?;
        }
        if !self.replaced.is_empty() {
            self.ui.done("Uninstalled", self.replaced.len(), started);
        }
        Ok(())
    }

    fn place(&self, mut transaction: Transaction, staged: &[Staged]) -> anyhow::Result<()> {
        let started = Instant::now();
        for (chosen, staged) in self.chosen.iter().zip(staged) {
            place_one(&mut transaction, staged)
                .with_context(|| format!("failed to install {}", chosen.dist.wheel))?;
        }
        transaction.commit()?;
        if !staged.is_empty() {
            self.ui.done("Installed", staged.len(), started);
        }
        Ok(())
    }

    /// Unpacks and arranges every wheel; the first error stops the others.
    fn prepare(&self, dirs: &[PathBuf], cancel: &AtomicBool) -> anyhow::Result<Vec<Staged>> {
        let bytes: Vec<u64> = self.chosen.iter().map(Chosen::bytes).collect();
        let meter = Meter::new(self.ui, &bytes);
        let closer = closing::closer(&meter.bar);
        let unpacker = Unpacker {
            cache: self.cache,
            http: self.http,
            closer: &closer,
            ui: self.ui,
            cancel,
            is_separate: self.is_separate,
        };
        let shares = shares(&bytes, cores());
        let outcome = Outcome::new(&bytes);
        std::thread::scope(|threads| {
            for _ in 1..self.workers.min(dirs.len()) {
                threads.spawn(|| self.work(&unpacker, dirs, &shares, &outcome, &meter));
            }
            self.work(&unpacker, dirs, &shares, &outcome, &meter);
        });
        meter.bar.finish_and_clear();
        outcome.into_result()
    }

    /// Takes the next wheel until there is none.
    fn work(
        &self,
        unpacker: &Unpacker<'_>,
        dirs: &[PathBuf],
        shares: &[usize],
        outcome: &Outcome,
        meter: &Meter,
    ) {
        let mut scratches = Vec::new();
        while let Some(at) = outcome.next() {
            while scratches.len() < shares[at] {
                scratches.push(Scratch::new());
            }
            let part = meter.part(self.chosen[at].bytes());
            let (scratches, is_ahead) = (&mut scratches[..shares[at]], self.is_longest(at));
            let mut threads = Threads { scratches, part, is_ahead };
            match self.prepare_one(unpacker, &self.chosen[at], &dirs[at], &mut threads) {
                Ok(staged) => outcome.succeed(at, staged),
                Err(error) => {
                    outcome.fail(error);
                    unpacker.cancel.store(true, Ordering::Relaxed);
                }
            }
            threads.part.finish();
        }
    }

    /// True for a wheel with more than one core's share of the bytes: it is still arriving when all others
    /// are done.
    fn is_longest(&self, at: usize) -> bool {
        let all: u64 = self.chosen.iter().map(Chosen::bytes).sum();
        self.chosen[at].bytes().saturating_mul(cores() as u64) > all
    }

    fn prepare_one(
        &self,
        unpacker: &Unpacker<'_>,
        chosen: &Chosen,
        dir: &std::path::Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<Staged> {
        let wheel = &chosen.dist.wheel;
        let raw = Self::unpack(unpacker, chosen, dir, threads)?;
        let provenance = Provenance { requested: chosen.requested, url: chosen.direct_url.clone() };
        stage::arrange(&raw, wheel, self.environment, &provenance)
            .with_context(|| format!("failed to install {wheel}"))
    }

    fn unpack(
        unpacker: &Unpacker<'_>,
        chosen: &Chosen,
        dir: &std::path::Path,
        threads: &mut Threads<'_>,
    ) -> anyhow::Result<Raw> {
        let Chosen { dist, allowed, .. } = chosen;
        match &dist.location {
            Location::File(path) => unpacker.file(&dist.wheel, path, allowed, dir, threads),
            Location::Url(url) => unpacker.url(&dist.wheel, url, allowed, dir, threads),
            Location::Installed(path) => {
                anyhow::bail!("`{}` is installed and cannot be unpacked", path.display())
            }
        }
    }
}

fn place_one(transaction: &mut Transaction, staged: &Staged) -> anyhow::Result<()> {
    for (from, to) in &staged.moves {
        if let Some(parent) = to.parent() {
            transaction.make_dirs(parent)?;
        }
        transaction.place(from, to)?;
    }
    Ok(())
}

/// How many threads this machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How many threads each wheel gets: its share of all the bytes, and one at least.
///
/// The largest wheel often has most of the bytes of an installation; on one thread it would still be
/// unpacked when all others are done.
fn shares(bytes: &[u64], cores: usize) -> Vec<usize> {
    let all = bytes.iter().sum::<u64>().max(1);
    let cores = cores as u64;
    // Rounded to the nearest; a petabyte of wheels times the cores fits.
    let share = |bytes: &u64| (bytes.saturating_mul(cores) + all / 2) / all;
    let shares = bytes.iter().map(share).map(|share| share.clamp(1, cores));
    shares.map(|share| usize::try_from(share).unwrap_or(1)).collect()
}

/// What the workers have done so far.
struct Outcome {
    /// The wheels, largest first.
    order: Vec<usize>,
    next: AtomicUsize,
    results: Mutex<Results>,
}

#[derive(Default)]
struct Results {
    staged: Vec<Option<Staged>>,
    error: Option<anyhow::Error>,
}

impl Outcome {
    fn new(bytes: &[u64]) -> Self {
        let mut order: Vec<usize> = (0..bytes.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(bytes[*at]));
        let staged = bytes.iter().map(|_| None).collect();
        let results = Mutex::new(Results { staged, error: None });
        Self { order, next: AtomicUsize::new(0), results }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The next wheel to prepare; none when all are taken or one has failed.
    fn next(&self) -> Option<usize> {
        let results = self.lock();
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        self.order.get(next).copied().filter(|_| results.error.is_none())
    }

    fn succeed(&self, at: usize, staged: Staged) {
        self.lock().staged[at] = Some(staged);
    }

    /// Keeps the first error: later ones are often its consequences.
    fn fail(&self, error: anyhow::Error) {
        self.lock().error.get_or_insert(error);
    }

    fn into_result(self) -> anyhow::Result<Vec<Staged>> {
        let results = self.results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match results.error {
            Some(error) => Err(error),
            None => Ok(results.staged.into_iter().flatten().collect()),
        }
    }
}
