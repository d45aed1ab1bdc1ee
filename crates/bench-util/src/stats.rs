//! From paired log ratios to a median and its interval. Pure: no clock, no I/O.
//!
//! Times are skewed and have rare huge outliers (a neighbour's `sync`, a page cache flush), so the
//! estimate is the *median*, and the scale is the logarithm: "twice as slow" and "twice as fast"
//! are then the same distance from "equal". Each value is the ratio of two runs of one round, which
//! saw the same neighbours: what both share cancels out.
//!
//! The interval is the percentile bootstrap of the median. Below [`MIN_ROUNDS`] rounds no interval
//! of a median can reach 95 %: five rounds miss a median, all on one side, 6 % of the time.
//!
//! # References
//!
//! Efron, Tibshirani: *An Introduction to the Bootstrap*, chapter 13.

use serde::{Deserialize, Serialize};

use crate::rng::Rng;

/// Rounds below which a 95 % interval of a median does not exist: `2 * 0.5^6` is 3 %.
pub const MIN_ROUNDS: usize = 6;

/// Resamples of one bootstrap: the ends of the interval then move by less than its own 1 %.
const RESAMPLES: usize = 10_000;

/// A ratio to the reference with its 95 % interval; below 1 is faster or smaller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ratio {
    /// Lower end of the 95 % interval; zero when there were too few rounds.
    pub low: f64,
    /// Median of the rounds' ratios.
    pub median: f64,
    /// Upper end of the 95 % interval; infinite (`null` in JSON) when there were too few rounds.
    #[serde(with = "crate::stats::infinite_as_null")]
    pub high: f64,
}

impl Ratio {
    /// Estimates the ratio from paired measurements, each `(reference, ours)` of one round.
    ///
    /// Pairs that have no logarithm (a zero, a NaN) are left out; `None` when none is left.
    ///
    /// # Examples
    ///
    /// ```
    /// use bench_util::Ratio;
    ///
    /// let rounds = [(100.0, 50.0), (300.0, 151.0), (90.0, 44.0), (120.0, 60.0), (99.0, 50.0), (80.0, 40.5)];
    /// let ratio = Ratio::of_pairs(rounds, 1).unwrap();
    /// assert!((ratio.median - 0.5).abs() < 0.01);
    /// assert!(ratio.high < 0.52);
    /// ```
    pub fn of_pairs(pairs: impl IntoIterator<Item = (f64, f64)>, seed: u64) -> Option<Self> {
        let logs: Vec<f64> = pairs
            .into_iter()
            .map(|(reference, ours)| (ours / reference).ln())
            .filter(|log| log.is_finite())
            .collect();
        (!logs.is_empty()).then(|| Self::of_logs(&logs, seed))
    }

    /// A ratio known without doubt, such as one of two sizes.
    pub fn exact(ratio: f64) -> Self {
        Self { low: ratio, median: ratio, high: ratio }
    }

    /// Returns true when there is no doubt: equal bounds.
    pub fn is_exact(&self) -> bool {
        self.low.total_cmp(&self.high).is_eq()
    }

    /// Half the interval's width, relative to the median.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).sqrt() - 1.0
    }

    fn of_logs(logs: &[f64], seed: u64) -> Self {
        let (low, high) = if logs.len() < MIN_ROUNDS {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else {
            median_interval(logs, seed)
        };
        Self { low: low.exp(), median: median(&mut logs.to_vec()).exp(), high: high.exp() }
    }
}

/// Returns the median of `values`, which it reorders; NaN when there is none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let (half, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(lower, upper)
}

/// Percentile bootstrap: resample with replacement, take each resample's median, cut off 2.5 %.
fn median_interval(values: &[f64], seed: u64) -> (f64, f64) {
    let mut rng = Rng::for_part(seed, "bootstrap");
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut drawn = vec![0; sorted.len()];
    let mut medians: Vec<f64> =
        (0..RESAMPLES).map(|_| resampled_median(&sorted, &mut drawn, &mut rng)).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let cut = RESAMPLES / 40;
    (medians[cut], medians[RESAMPLES - 1 - cut])
}

/// Draws how often each value is in the resample, so that no resample has to be sorted.
fn resampled_median(sorted: &[f64], drawn: &mut [usize], rng: &mut Rng) -> f64 {
    drawn.fill(0);
    for _ in 0..sorted.len() {
        drawn[rng.below(sorted.len())] += 1;
    }
    let lower = value_at((sorted.len() - 1) / 2, sorted, drawn);
    let upper = value_at(sorted.len() / 2, sorted, drawn);
    f64::midpoint(lower, upper)
}

/// The value at place `place` of the resample in order.
fn value_at(place: usize, sorted: &[f64], drawn: &[usize]) -> f64 {
    let mut passed = 0;
    for (value, times) in sorted.iter().zip(drawn) {
        passed += times;
        if passed > place {
            return *value;
        }
    }
    f64::NAN
}

/// JSON has no infinity.
pub(crate) mod infinite_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde decides the signature")]
    pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_the_mean_of_both_middles() {
        assert!(median(&mut []).is_nan());
        for (mut values, expected) in
            [(vec![3.0], 3.0), (vec![9.0, 1.0, 2.0], 2.0), (vec![4.0, 1.0, 9.0, 2.0], 3.0)]
        {
            assert!((median(&mut values) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_resample_by_counts_has_the_median_of_the_resample_itself() {
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let (mut counts, mut again) = (Rng::new(8), Rng::new(8));
        for _ in 0..50 {
            let mut resample: Vec<f64> = (0..6).map(|_| sorted[again.below(6)]).collect();
            let by_counts = resampled_median(&sorted, &mut [0; 6], &mut counts);
            assert!((by_counts - median(&mut resample)).abs() < 1e-12);
        }
    }

    #[test]
    fn too_few_rounds_have_no_bounds() {
        let ratio = Ratio::of_pairs(vec![(2.0, 1.0); MIN_ROUNDS - 1], 0).unwrap();
        assert!(ratio.low == 0.0 && ratio.high.is_infinite());
        let ratio = Ratio::of_pairs(vec![(2.0, 1.0); MIN_ROUNDS], 0).unwrap();
        assert!((ratio.low - 0.5).abs() < 1e-12 && (ratio.high - 0.5).abs() < 1e-12);
    }

    #[test]
    fn an_infinite_bound_survives_json() {
        let ratio = Ratio::of_pairs([(2.0, 1.0)], 0).unwrap();
        let text = serde_json::to_string(&ratio).unwrap();
        assert_eq!(serde_json::from_str::<Ratio>(&text).unwrap(), ratio);
    }

    #[test]
    fn zeros_are_left_out_rather_than_dividing_by_them() {
        assert_eq!(Ratio::of_pairs([(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0)], 0), None);
    }
}
