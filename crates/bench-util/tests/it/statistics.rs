//! The interval, on simulated data whose truth is known.

use bench_util::{Finding, Goal, Ratio, Rng, Verdict};
use proptest::prelude::*;

/// Rounds as a loaded machine gives them: both cases share a round's noise, each has its own, and
/// one run in twenty is ten times slower.
fn simulate(rng: &mut Rng, rounds: usize, truth: f64, noise: f64) -> Vec<(f64, f64)> {
    let mut run = |shared: f64| {
        let spike = if rng.below(20) == 0 { 10.0 } else { 1.0 };
        (shared + noise * rng.normal()).exp() * spike
    };
    (0..rounds)
        .map(|round| {
            let shared = f64::from(u32::try_from(round % 7).unwrap()) * 0.3;
            (run(shared), run(shared) * truth)
        })
        .collect()
}

/// Share of 200 simulated benchmarks for which `holds`.
fn share(rounds: usize, truth: f64, noise: f64, holds: impl Fn(&Ratio) -> bool) -> f64 {
    let mut rng = Rng::for_part(11, &format!("{rounds} {truth} {noise}"));
    let held = (0..200)
        .filter(|&seed| {
            holds(&Ratio::of_pairs(simulate(&mut rng, rounds, truth, noise), seed).unwrap())
        })
        .count();
    f64::from(u32::try_from(held).unwrap()) / 200.0
}

#[test]
fn the_interval_covers_the_truth_about_95_times_in_100() {
    for (rounds, noise) in [(8, 0.05), (15, 0.2), (40, 0.05)] {
        let truth = 0.7;
        let covered = share(rounds, truth, noise, |r| r.low <= truth && truth <= r.high);
        assert!((0.90..=0.995).contains(&covered), "{rounds} rounds: {covered}");
    }
}

#[test]
fn equal_cases_are_rarely_called_different() {
    for rounds in [8, 15, 40] {
        let flagged = share(rounds, 1.0, 0.1, |r| Finding::of(r) != Finding::NoDifferenceShown);
        assert!(flagged <= 0.09, "{rounds} rounds: {flagged}");
    }
}

#[test]
fn a_gate_catches_a_case_slowed_by_a_third_and_passes_an_equal_one() {
    let gate = Goal::WhollyUnder(1.10);
    let caught = share(30, 1.33, 0.05, |r| gate.judge(r) == Verdict::Missed);
    let blamed = share(30, 1.0, 0.05, |r| gate.judge(r) == Verdict::Missed);
    assert!(caught >= 0.95, "caught {caught}");
    assert!(blamed <= 0.01, "blamed {blamed}");
}

#[test]
fn two_runs_of_the_same_comparison_agree() {
    let mut rng = Rng::new(3);
    let mut run = |seed| Ratio::of_pairs(simulate(&mut rng, 30, 0.6, 0.05), seed).unwrap();
    let agreeing = (0..100)
        .filter(|&seed| {
            let (one, two) = (run(seed), run(seed + 1000));
            one.low <= two.high && two.low <= one.high
        })
        .count();
    assert!(agreeing >= 97, "{agreeing}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_interval_holds_its_median_and_turns_over_with_the_pair(
        pairs in prop::collection::vec((1.0_f64..1e9, 1.0_f64..1e9), 6..40),
        seed: u64,
    ) {
        let ratio = Ratio::of_pairs(pairs.iter().copied(), seed).unwrap();
        prop_assert!(ratio.low <= ratio.median && ratio.median <= ratio.high);
        let turned = Ratio::of_pairs(pairs.iter().map(|&(a, b)| (b, a)), seed).unwrap();
        prop_assert!((ratio.median * turned.median - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_factor_on_all_of_ours_moves_all_of_the_interval(
        pairs in prop::collection::vec((1.0_f64..1e9, 1.0_f64..1e9), 6..40),
        factor in 0.01_f64..100.0,
    ) {
        let ratio = Ratio::of_pairs(pairs.iter().copied(), 1).unwrap();
        let moved = Ratio::of_pairs(pairs.iter().map(|&(a, b)| (a, b * factor)), 1).unwrap();
        for (one, other) in [(ratio.low, moved.low), (ratio.median, moved.median), (ratio.high, moved.high)] {
            prop_assert!((other / (one * factor) - 1.0).abs() < 1e-6);
        }
    }
}
