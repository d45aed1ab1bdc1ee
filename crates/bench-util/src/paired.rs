//! The runner: every case once per round, in a new order each round, compared within the round.
//!
//! Running all of A and then all of B measures the machine's mood as much as A and B. Here a round
//! runs each case once, in a seeded random order, so that neighbours, caches and the file system's
//! state hit all cases alike; the statistics then look at ratios *within* a round. In our own first
//! measurement of a close pool a fixed order "showed" 17.7 times slower; shuffled, it was equal.
//!
//! A run stops when every interval is narrow enough, or out of rounds or time. It never stops
//! because a goal looks met: that would bias the verdict. Only whole rounds count.

use std::error::Error as StdError;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::comparison::{Comparison, Measured, Round, Row, Stopped};
use crate::error::{Error, Result};
use crate::goal::Goal;
use crate::meter::{Counter, Meter, Metric, Sample};
use crate::rng::Rng;
use crate::settings::Settings;
use crate::stamp::load_average;
use crate::stats::MIN_ROUNDS;

/// What a case may fail with; `?` turns every error into it.
pub type CaseError = Box<dyn StdError + Send + Sync>;

type Work<'a> = Box<dyn FnMut(&mut Meter<'_, '_>) -> Result<(), CaseError> + 'a>;

struct Case<'a> {
    name: String,
    work: Work<'a>,
    goals: Vec<(Option<String>, Metric, Goal)>,
}

/// Builds and runs one comparison of several cases against a reference.
///
/// # Examples
///
/// ```
/// use bench_util::{Paired, Verdict};
///
/// let numbers: Vec<u64> = (0..20_000).collect();
/// let comparison = Paired::new("sum of a tenth")
///     .seed(1)
///     .rounds(8)
///     .reference("all", || numbers.iter().map(|n| n % 7).sum::<u64>())
///     .case("a tenth", || numbers[..2_000].iter().map(|n| n % 7).sum::<u64>())
///     .goal(0.9)
///     .run()?;
/// let row = &comparison.rows[0];
/// assert_eq!(row.verdict, Some(Verdict::Met));
/// # Ok::<(), bench_util::Error>(())
/// ```
#[must_use = "nothing is measured before `run`"]
pub struct Paired<'a> {
    name: String,
    seed: u64,
    rounds_max: usize,
    rounds_warm: usize,
    budget: Duration,
    half_width: f64,
    cases: Vec<Case<'a>>,
    reference: Option<usize>,
    counters: Vec<Counter<'a>>,
    before_round: Option<Box<dyn FnMut() -> Result<(), CaseError> + 'a>>,
    misuse: Option<String>,
}

impl<'a> Paired<'a> {
    /// Starts a comparison: seed 1, one warm-up round, at most 30 rounds in two minutes, narrow at
    /// 1 %.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            seed: 1,
            rounds_max: 30,
            rounds_warm: 1,
            budget: Duration::from_secs(120),
            half_width: 0.01,
            cases: Vec::new(),
            reference: None,
            counters: Vec::new(),
            before_round: None,
            misuse: None,
        }
    }

    /// Takes rounds, time and seed from the command line's settings.
    pub fn settings(self, settings: &Settings) -> Self {
        self.seed(settings.seed).rounds(settings.rounds_max()).budget(settings.budget())
    }

    /// Sets the seed of the orders and of the bootstrap.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the most rounds to run; below six no interval, and so no verdict, can be given.
    pub fn rounds(mut self, most: usize) -> Self {
        self.rounds_max = most;
        self
    }

    /// Sets the rounds that are run first and not counted.
    pub fn warm_up(mut self, rounds: usize) -> Self {
        self.rounds_warm = rounds;
        self
    }

    /// Sets the time after which no further round starts; six rounds are run in any case.
    pub fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Sets the relative half width at which an interval is narrow enough to stop: 0.01 is 1 %.
    pub fn narrow_at(mut self, half_width: f64) -> Self {
        self.half_width = half_width;
        self
    }

    /// Reads a growing number before and after each measured closure of this process.
    pub fn counter(mut self, name: impl Into<String>, read: impl FnMut() -> u64 + 'a) -> Self {
        self.counters.push((name.into(), Box::new(read)));
        self
    }

    /// Runs `prepare` before each round, outside all times: drop caches, renew the work folder.
    pub fn before_round(mut self, prepare: impl FnMut() -> Result<(), CaseError> + 'a) -> Self {
        self.before_round = Some(Box::new(prepare));
        self
    }

    /// Adds the case that the others are compared with: one call of `work` is one measurement.
    pub fn reference<T>(self, name: &str, work: impl FnMut() -> T + 'a) -> Self {
        self.next_is_reference().case(name, work)
    }

    /// Adds the reference as a closure that chooses what is measured.
    pub fn reference_metered(
        self,
        name: &str,
        work: impl FnMut(&mut Meter<'_, '_>) -> Result<(), CaseError> + 'a,
    ) -> Self {
        self.next_is_reference().case_metered(name, work)
    }

    /// Adds the reference as a command; building it is not timed.
    pub fn reference_command(
        self,
        name: &str,
        build: impl FnMut(usize) -> Result<Command, CaseError> + 'a,
    ) -> Self {
        self.next_is_reference().case_command(name, build)
    }

    /// Adds a case: one call of `work` is one measurement. What it returns is dropped untimed.
    ///
    /// Work below some microseconds should loop inside `work`.
    pub fn case<T>(self, name: &str, mut work: impl FnMut() -> T + 'a) -> Self {
        self.case_metered(name, move |meter| {
            drop(meter.measure(&mut work));
            Ok(())
        })
    }

    /// Adds a case whose closure prepares, measures through the [`Meter`], and cleans up.
    ///
    /// # Examples
    ///
    /// ```
    /// use bench_util::Paired;
    ///
    /// let comparison = Paired::new("sorting")
    ///     .rounds(6)
    ///     .reference_metered("stable", |meter| {
    ///         let mut numbers: Vec<u32> = (0..1000).rev().collect(); // not timed
    ///         meter.measure(|| numbers.sort());
    ///         Ok(())
    ///     })
    ///     .case_metered("unstable", |meter| {
    ///         let mut numbers: Vec<u32> = (0..1000).rev().collect();
    ///         meter.measure(|| numbers.sort_unstable());
    ///         Ok(())
    ///     })
    ///     .run()?;
    /// assert_eq!(comparison.rounds.len(), 6);
    /// # Ok::<(), bench_util::Error>(())
    /// ```
    pub fn case_metered(
        mut self,
        name: &str,
        work: impl FnMut(&mut Meter<'_, '_>) -> Result<(), CaseError> + 'a,
    ) -> Self {
        self.cases.push(Case { name: name.to_owned(), work: Box::new(work), goals: Vec::new() });
        self
    }

    /// Adds a case that is a whole process; `build` gets the round and is not timed.
    pub fn case_command(
        self,
        name: &str,
        mut build: impl FnMut(usize) -> Result<Command, CaseError> + 'a,
    ) -> Self {
        self.case_metered(name, move |meter| {
            let mut command = build(meter.round())?;
            Ok(meter.measure_command(&mut command)?)
        })
    }

    /// Sets the goal of the case added last: its wall time, as a ratio to the reference's.
    pub fn goal(self, at_most: f64) -> Self {
        self.goal_on(Metric::Wall, Goal::AtMost(at_most))
    }

    /// Sets a goal of the case added last on another metric, or of another kind.
    pub fn goal_on(self, metric: Metric, goal: Goal) -> Self {
        self.add_goal(None, metric, goal)
    }

    /// Sets a goal of the case added last against another case than the reference.
    pub fn goal_against(self, other: &str, metric: Metric, goal: Goal) -> Self {
        self.add_goal(Some(other.to_owned()), metric, goal)
    }

    fn add_goal(mut self, against: Option<String>, metric: Metric, goal: Goal) -> Self {
        match self.cases.last_mut() {
            Some(case) => case.goals.push((against, metric, goal)),
            None => self.misuse = Some("a goal belongs to the case before it".to_owned()),
        }
        self
    }

    fn next_is_reference(mut self) -> Self {
        if self.reference.replace(self.cases.len()).is_some() {
            self.misuse = Some("a comparison has one reference".to_owned());
        }
        self
    }

    /// Runs the rounds and compares.
    ///
    /// # Errors
    ///
    /// When a case fails, with its name and round; when there is no reference, a case has the name
    /// of another, or a goal names a case that does not exist (`is_usage`).
    pub fn run(mut self) -> Result<Comparison> {
        self.check()?;
        let mut rng = Rng::for_part(self.seed, &self.name);
        for warm in 0..self.rounds_warm {
            self.round(warm, &mut rng)?;
        }
        let start = Instant::now();
        let mut rounds = Vec::new();
        loop {
            rounds.push(self.round(self.rounds_warm + rounds.len(), &mut rng)?);
            if let Some(stopped) = self.stop(&rounds, start) {
                let rows = self.rows(&rounds);
                return Ok(self.finish(rounds, rows, stopped));
            }
        }
    }

    fn check(&self) -> Result<()> {
        if let Some(what) = &self.misuse {
            return Err(Error::usage(what.clone()));
        }
        if self.reference.is_none() {
            return Err(Error::usage(format!("`{}` has no reference", self.name)));
        }
        for (at, case) in self.cases.iter().enumerate() {
            if self.position(&case.name) != Some(at) {
                return Err(Error::usage(format!("two cases are named `{}`", case.name)));
            }
            for against in case.goals.iter().filter_map(|(against, ..)| against.as_ref()) {
                if self.position(against).is_none() {
                    return Err(Error::usage(format!("no case is named `{against}`")));
                }
            }
        }
        Ok(())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.cases.iter().position(|case| case.name == name)
    }

    fn round(&mut self, number: usize, rng: &mut Rng) -> Result<Round> {
        if let Some(prepare) = &mut self.before_round {
            prepare().map_err(|error| Error::case("before the round", number, error))?;
        }
        let mut order: Vec<usize> = (0..self.cases.len()).collect();
        rng.shuffle(&mut order);
        let load_before = load_average();
        let mut samples = vec![Sample::default(); order.len()];
        for &at in &order {
            samples[at] = run_case(&mut self.cases[at], number, &mut self.counters)?;
        }
        Ok(Round { order, samples, load_before, load_after: load_average() })
    }

    fn stop(&self, rounds: &[Round], start: Instant) -> Option<Stopped> {
        if rounds.len() >= self.rounds_max {
            return Some(Stopped::Rounds);
        }
        if rounds.len() < MIN_ROUNDS {
            return None;
        }
        if start.elapsed() >= self.budget {
            return Some(Stopped::Budget);
        }
        // Twice the least number: a lucky streak of six must not end a run.
        let enough = rounds.len() >= 2 * MIN_ROUNDS;
        let narrow = |row: &Row| row.ratio.half_width() <= self.half_width;
        (enough && self.rows(rounds).iter().all(narrow)).then_some(Stopped::Narrow)
    }

    /// One row per case against the reference, and one more per goal on something else.
    fn rows(&self, rounds: &[Round]) -> Vec<Row> {
        let reference = self.reference.unwrap_or(0);
        let mut rows = Vec::new();
        for (at, case) in self.cases.iter().enumerate() {
            let wall_goal = case
                .goals
                .iter()
                .find(|(other, metric, _)| other.is_none() && *metric == Metric::Wall);
            if at != reference {
                rows.extend(self.row(rounds, at, reference, &Metric::Wall, wall_goal.map(|g| g.2)));
            }
            for (against, metric, goal) in &case.goals {
                let against = against.as_deref().and_then(|name| self.position(name));
                if against.is_some() || *metric != Metric::Wall {
                    let against = against.unwrap_or(reference);
                    rows.extend(self.row(rounds, at, against, metric, Some(*goal)));
                }
            }
        }
        rows
    }

    fn row(
        &self,
        rounds: &[Round],
        ours: usize,
        reference: usize,
        metric: &Metric,
        goal: Option<Goal>,
    ) -> Option<Row> {
        let names = (self.cases[reference].name.as_str(), self.cases[ours].name.as_str());
        let pairs: Vec<(f64, f64)> = rounds
            .iter()
            .filter_map(|round| {
                Some((round.samples[reference].get(metric)?, round.samples[ours].get(metric)?))
            })
            .collect();
        Row::of_pairs(names, metric, &pairs, goal, self.seed)
    }

    fn finish(self, rounds: Vec<Round>, rows: Vec<Row>, stopped: Stopped) -> Comparison {
        let measured = Measured {
            cases: self.cases.into_iter().map(|case| case.name).collect(),
            rounds,
            stopped,
        };
        Comparison::new(self.name, self.seed, measured, rows)
    }
}

impl std::fmt::Debug for Paired<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cases: Vec<&str> = self.cases.iter().map(|case| case.name.as_str()).collect();
        f.debug_struct("Paired")
            .field("name", &self.name)
            .field("cases", &cases)
            .finish_non_exhaustive()
    }
}

fn run_case(case: &mut Case<'_>, round: usize, counters: &mut [Counter<'_>]) -> Result<Sample> {
    let mut meter = Meter::new(round, counters);
    (case.work)(&mut meter).map_err(|error| Error::case(&case.name, round, error))?;
    meter.finish().ok_or_else(|| Error::usage(format!("case `{}` measured nothing", case.name)))
}
