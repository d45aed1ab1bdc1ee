//! What a ratio has to reach, and what can honestly be said about it.
//!
//! A verdict never rests on the median alone: a median of 0.37 with an interval up to 0.60 does not
//! show "at most 0.38". It rests on the interval's bounds, so a loaded machine gives *inconclusive*
//! instead of a verdict that flaps.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::stats::Ratio;

/// How far above a goal the interval may still reach when the median meets the goal.
const SLACK: f64 = 1.10;

/// A bound that a ratio is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Goal {
    /// Met when the median is at or under the number and the interval's upper end is at most 10 %
    /// above it; missed when the whole interval lies above it.
    AtMost(f64),
    /// Met when the whole interval lies under the number, missed when it lies above: "within noise
    /// of the reference" and regression gates are such bounds.
    WhollyUnder(f64),
}

impl Goal {
    /// Returns what `ratio` shows about this goal.
    ///
    /// # Examples
    ///
    /// ```
    /// use bench_util::{Goal, Ratio, Verdict};
    ///
    /// assert_eq!(Goal::AtMost(0.5).judge(&Ratio::exact(0.5)), Verdict::Met);
    /// assert_eq!(Goal::WhollyUnder(1.05).judge(&Ratio::exact(1.2)), Verdict::Missed);
    /// ```
    pub fn judge(&self, ratio: &Ratio) -> Verdict {
        let (met, missed) = match *self {
            Self::AtMost(goal) => {
                (ratio.median <= goal && ratio.high <= goal * SLACK, ratio.low > goal)
            }
            Self::WhollyUnder(goal) => (ratio.high < goal, ratio.low >= goal),
        };
        match (met, missed) {
            (true, _) => Verdict::Met,
            (_, true) => Verdict::Missed,
            _ => Verdict::Inconclusive,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(goal) => write!(f, "<= {}", Shown(*goal)),
            Self::WhollyUnder(goal) => write!(f, "upper bound < {}", Shown(*goal)),
        }
    }
}

/// Two decimals, or three where the third is not 0: rounded, 0.026 would seem to be under 0.025.
struct Shown(f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.3}", self.0);
        f.write_str(text.strip_suffix('0').unwrap_or(&text))
    }
}

/// What the measurement shows about a [`Goal`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Verdict {
    /// The goal is reached, beyond the doubt that the goal allows.
    Met,
    /// The measurement cannot tell; more rounds or a quieter machine can.
    Inconclusive,
    /// The goal is not reached, beyond doubt.
    Missed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Met => "met",
            Self::Inconclusive => "inconclusive",
            Self::Missed => "missed",
        })
    }
}

/// What the measurement shows when nobody set a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Finding {
    /// The whole interval lies under 1.
    Less,
    /// The interval holds 1. This is a result, and not the same as "equal".
    NoDifferenceShown,
    /// The whole interval lies above 1.
    More,
}

impl Finding {
    /// Returns what `ratio` shows against equality.
    pub fn of(ratio: &Ratio) -> Self {
        if ratio.high < 1.0 {
            Self::Less
        } else if ratio.low > 1.0 {
            Self::More
        } else {
            Self::NoDifferenceShown
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "less",
            Self::NoDifferenceShown => "no difference shown",
            Self::More => "more",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, median: f64, high: f64) -> Ratio {
        let mut ratio = Ratio::exact(median);
        (ratio.low, ratio.high) = (low, high);
        ratio
    }

    #[test]
    fn a_goal_is_met_missed_or_inconclusive_by_the_bounds() {
        let goal = Goal::AtMost(0.50);
        assert_eq!(goal.judge(&ratio(0.40, 0.50, 0.55)), Verdict::Met);
        assert_eq!(goal.judge(&ratio(0.40, 0.45, 0.56)), Verdict::Inconclusive);
        assert_eq!(goal.judge(&ratio(0.45, 0.51, 0.54)), Verdict::Inconclusive);
        assert_eq!(goal.judge(&ratio(0.501, 0.52, 0.54)), Verdict::Missed);
    }

    #[test]
    fn a_goal_is_shown_as_it_is_and_not_rounded_to_what_the_median_meets() {
        let shown = [0.025, 0.5, 0.125, 1.0 / 15.0].map(|goal| Goal::AtMost(goal).to_string());
        assert_eq!(shown, ["<= 0.025", "<= 0.50", "<= 0.125", "<= 0.067"]);
        assert_eq!(Goal::WhollyUnder(1.05).to_string(), "upper bound < 1.05");
    }

    #[test]
    fn a_gate_looks_only_at_the_bounds() {
        let gate = Goal::WhollyUnder(1.05);
        assert_eq!(gate.judge(&ratio(0.97, 1.00, 1.04)), Verdict::Met);
        assert_eq!(gate.judge(&ratio(0.97, 1.00, 1.06)), Verdict::Inconclusive);
        assert_eq!(gate.judge(&ratio(1.06, 1.10, 1.20)), Verdict::Missed);
    }

    #[test]
    fn an_interval_that_holds_one_shows_no_difference() {
        assert_eq!(Finding::of(&ratio(0.9, 0.95, 1.0)), Finding::NoDifferenceShown);
        assert_eq!(Finding::of(&ratio(0.9, 0.95, 0.99)), Finding::Less);
        assert_eq!(Finding::of(&ratio(1.01, 1.1, 1.2)), Finding::More);
    }
}
