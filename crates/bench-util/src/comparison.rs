//! The result of one comparison: every raw round, and the rows of its table.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::goal::{Finding, Goal, Verdict};
use crate::meter::{Metric, Sample};
use crate::stats::{Ratio, median};

/// Everything that was measured by one [`Paired`](crate::Paired) run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What was compared.
    pub name: String,
    /// Seed of the orders and of the bootstrap.
    pub seed: u64,
    /// Names of the cases, in the order of [`Round::samples`].
    pub cases: Vec<String>,
    /// Every counted round, raw.
    pub rounds: Vec<Round>,
    /// Why the run ended.
    pub stopped: Stopped,
    /// What follows from the rounds.
    pub rows: Vec<Row>,
    /// What a reader must know to read the numbers.
    pub notes: Vec<String>,
}

/// One counted round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Round {
    /// The order in which the cases ran.
    pub order: Vec<usize>,
    /// What each case cost, by the number of the case.
    pub samples: Vec<Sample>,
    /// The machine's load average before the round, where known.
    pub load_before: Option<f64>,
    /// The machine's load average after the round, where known.
    pub load_after: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stopped {
    /// Every interval was narrow enough.
    Narrow,
    /// All rounds were run.
    Rounds,
    /// The time was used up.
    Budget,
    /// Not measured in rounds: the numbers are exact.
    Exact,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// The case that is judged.
    pub case: String,
    /// The case that it is compared with.
    pub reference: String,
    /// What is compared.
    pub metric: Metric,
    /// Median of the reference, in the metric's unit.
    pub reference_median: f64,
    /// Median of the case, in the metric's unit.
    pub median: f64,
    /// The ratio with its interval.
    pub ratio: Ratio,
    /// The goal, when there is one.
    pub goal: Option<Goal>,
    /// Whether the goal is reached.
    pub verdict: Option<Verdict>,
}

impl Row {
    pub(crate) fn of_pairs(
        (reference, case): (&str, &str),
        metric: &Metric,
        pairs: &[(f64, f64)],
        goal: Option<Goal>,
        seed: u64,
    ) -> Option<Self> {
        let ratio = Ratio::of_pairs(pairs.iter().copied(), seed)?;
        let (mut references, mut ours): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let medians = (median(&mut references), median(&mut ours));
        Some(Self::new((reference, case), metric, medians, ratio, goal))
    }

    fn new(
        (reference, case): (&str, &str),
        metric: &Metric,
        (reference_median, median): (f64, f64),
        ratio: Ratio,
        goal: Option<Goal>,
    ) -> Self {
        Self {
            case: case.to_owned(),
            reference: reference.to_owned(),
            metric: metric.clone(),
            reference_median,
            median,
            ratio,
            goal,
            verdict: goal.map(|goal| goal.judge(&ratio)),
        }
    }

    /// What the row shows against equality, whatever its goal.
    pub fn finding(&self) -> Finding {
        Finding::of(&self.ratio)
    }

    /// The verdict when there is a goal, else the finding.
    pub fn outcome(&self) -> String {
        self.verdict.map_or_else(|| self.finding().to_string(), |verdict| verdict.to_string())
    }
}

/// What the runner hands over.
pub(crate) struct Measured {
    pub(crate) cases: Vec<String>,
    pub(crate) rounds: Vec<Round>,
    pub(crate) stopped: Stopped,
}

impl Comparison {
    pub(crate) fn new(name: String, seed: u64, measured: Measured, rows: Vec<Row>) -> Self {
        let Measured { cases, rounds, stopped } = measured;
        Self { name, seed, cases, rounds, stopped, rows, notes: Vec::new() }
    }

    /// Compares two numbers that are known without doubt, such as sizes or counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use bench_util::{Comparison, Goal, Verdict};
    ///
    /// let size = Comparison::exact("size", "size_bytes", ("files", 1000), ("ours", 1015));
    /// let size = size.goal(Goal::AtMost(1.02));
    /// assert_eq!(size.rows[0].verdict, Some(Verdict::Met));
    /// ```
    pub fn exact(
        name: impl Into<String>,
        metric: &str,
        reference: (&str, u64),
        ours: (&str, u64),
    ) -> Self {
        let metric = Metric::counter(metric);
        let medians = (crate::meter::to_f64(reference.1), crate::meter::to_f64(ours.1));
        let ratio = Ratio::exact(medians.1 / medians.0);
        let row = Row::new((reference.0, ours.0), &metric, medians, ratio, None);
        let cases = vec![reference.0.to_owned(), ours.0.to_owned()];
        let measured = Measured { cases, rounds: Vec::new(), stopped: Stopped::Exact };
        Self::new(name.into(), 0, measured, vec![row])
    }

    /// Sets the goal of the last row.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        if let Some(row) = self.rows.last_mut() {
            row.goal = Some(goal);
            row.verdict = Some(goal.judge(&row.ratio));
        }
        self
    }

    /// Adds something that a reader must know.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The row of `case` on `metric`.
    pub fn row(&self, case: &str, metric: &Metric) -> Option<&Row> {
        self.rows.iter().find(|row| row.case == case && row.metric == *metric)
    }

    /// The worst verdict of all rows, `None` without goals.
    pub fn verdict(&self) -> Option<Verdict> {
        self.rows.iter().filter_map(|row| row.verdict).max()
    }

    /// Rounds during which the machine's load average moved by more than one: marked, not dropped.
    pub fn disturbed_rounds(&self) -> usize {
        let moved = |round: &&Round| {
            let loads = round.load_before.zip(round.load_after);
            loads.is_some_and(|(before, after)| (after - before).abs() > 1.0)
        };
        self.rounds.iter().filter(moved).count()
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Narrow => "the intervals were narrow enough",
            Self::Rounds => "all rounds were run",
            Self::Budget => "the time was used up",
            Self::Exact => "exact numbers, not measured in rounds",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_moving_load_marks_a_round() {
        let round = |before, after| Round {
            order: vec![],
            samples: vec![],
            load_before: before,
            load_after: after,
        };
        let mut comparison = Comparison::exact("x", "n", ("a", 1), ("b", 1));
        comparison.rounds =
            vec![round(Some(9.0), Some(9.5)), round(Some(1.0), Some(2.5)), round(None, Some(9.0))];
        assert_eq!(comparison.disturbed_rounds(), 1);
    }

    #[test]
    fn the_worst_verdict_decides() {
        let worse = Comparison::exact("x", "n", ("a", 1), ("b", 2)).goal(Goal::AtMost(1.0));
        let better = Comparison::exact("x", "n", ("a", 2), ("b", 1)).goal(Goal::AtMost(1.0));
        let mut both = worse;
        both.rows.extend(better.rows);
        assert_eq!(both.verdict(), Some(Verdict::Missed));
    }
}
