//! The runner, with work whose cost is decided by the test.

use std::cell::RefCell;
#[cfg(unix)]
use std::process::Command;
use std::time::Duration;

use bench_util::{Comparison, Finding, Goal, Metric, Paired, Report, Stopped, Verdict};

/// A counter in place of the clock: tests must not depend on time.
fn costs(
    mut next: impl FnMut(usize) -> u64,
) -> impl FnMut(&mut bench_util::Meter<'_, '_>) -> Result<(), bench_util::CaseError> {
    move |meter| {
        let cost = next(meter.round());
        meter.count("cost", cost);
        Ok(())
    }
}

fn cost() -> Metric {
    Metric::counter("cost")
}

#[test]
fn every_case_runs_once_per_round_in_changing_order() {
    let log = RefCell::new(Vec::new());
    let note = |name: &'static str| {
        let log = &log;
        move || log.borrow_mut().push(name)
    };
    let comparison = Paired::new("order")
        .warm_up(0)
        .rounds(20)
        .narrow_at(0.0)
        .reference("a", note("a"))
        .case("b", note("b"))
        .case("c", note("c"))
        .run()
        .unwrap();
    let log = log.into_inner();
    assert_eq!(log.len(), 60);
    for round in log.chunks(3) {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, ["a", "b", "c"]);
    }
    let firsts: std::collections::BTreeSet<_> = log.chunks(3).map(|round| round[0]).collect();
    assert_eq!(firsts.len(), 3, "each case is first at some time");
    assert_eq!(comparison.stopped, Stopped::Rounds);
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let orders = |seed| {
        let run = Paired::new("order").seed(seed).rounds(12).narrow_at(0.0);
        let run = run.reference("a", || 1).case("b", || 2).run().unwrap();
        run.rounds.into_iter().map(|round| round.order).collect::<Vec<_>>()
    };
    assert_eq!(orders(1), orders(1));
    assert_ne!(orders(1), orders(2));
}

#[test]
fn a_slow_round_of_both_cases_does_not_move_the_ratio() {
    let noise = |round: usize| if round.is_multiple_of(3) { 1_000 } else { 1 };
    let comparison = Paired::new("noise")
        .rounds(12)
        .reference_metered("reference", costs(move |round| 200 * noise(round)))
        .case_metered("ours", costs(move |round| 100 * noise(round)))
        .goal_on(cost(), Goal::AtMost(0.5))
        .run()
        .unwrap();
    let row = comparison.row("ours", &cost()).unwrap();
    assert!((row.ratio.median - 0.5).abs() < 1e-9 && (row.ratio.high - 0.5).abs() < 1e-9);
    assert_eq!(row.verdict, Some(Verdict::Met));
}

#[test]
fn a_goal_can_be_against_another_case_than_the_reference() {
    let comparison = Paired::new("two peers")
        .rounds(6)
        .reference_metered("files", costs(|_| 1000))
        .case_metered("peer", costs(|_| 100))
        .case_metered("ours", costs(|_| 80))
        .goal_on(cost(), Goal::AtMost(0.1))
        .goal_against("peer", cost(), Goal::AtMost(0.6))
        .run()
        .unwrap();
    let verdicts: Vec<_> = comparison
        .rows
        .iter()
        .filter(|row| row.metric == cost())
        .map(|row| (row.reference.as_str(), row.verdict))
        .collect();
    assert_eq!(verdicts, [("files", Some(Verdict::Met)), ("peer", Some(Verdict::Missed))]);
}

#[test]
fn five_rounds_give_no_verdict() {
    let comparison = Paired::new("short")
        .rounds(5)
        .reference_metered("a", costs(|_| 100))
        .case_metered("b", costs(|_| 10))
        .goal_on(cost(), Goal::AtMost(0.5))
        .run()
        .unwrap();
    let row = comparison.row("b", &cost()).unwrap();
    assert_eq!(row.verdict, Some(Verdict::Inconclusive));
    assert_eq!(row.finding(), Finding::NoDifferenceShown);
}

#[test]
fn an_empty_budget_still_runs_the_six_rounds_that_a_verdict_needs() {
    let run = Paired::new("no time").budget(Duration::ZERO).narrow_at(0.0);
    let comparison = run.reference("a", || 1).case("b", || 1).run().unwrap();
    assert_eq!(comparison.rounds.len(), 6);
    assert_eq!(comparison.stopped, Stopped::Budget);
}

#[cfg(unix)] // Elsewhere only wall time is measured.
#[test]
fn commands_are_charged_for_their_own_cpu_time() {
    let busy = |turns: u32| {
        move |_| {
            let mut command = Command::new("sh");
            let script = format!("i=0; while [ $i -lt {turns} ]; do i=$((i+1)); done");
            command.args(["-c", &script]);
            Ok(command)
        }
    };
    let comparison = Paired::new("commands")
        .rounds(6)
        .reference_command("much", busy(60_000))
        .case_command("little", busy(10))
        .goal_on(Metric::Cpu, Goal::AtMost(0.8))
        .run()
        .unwrap();
    let row = comparison.row("little", &Metric::Cpu).unwrap();
    assert!(row.reference_median > row.median, "{row:?}");
}

#[test]
fn the_failing_case_and_round_are_named() {
    let error = Paired::new("fails")
        .warm_up(1)
        .reference("a", || 1)
        .case_metered("b", |meter| {
            meter.measure(|| ());
            if meter.round() == 2 { Err("no more".into()) } else { Ok(()) }
        })
        .run()
        .unwrap_err();
    assert_eq!(error.to_string(), "case `b` failed in round 2");
    assert_eq!(error.case_name(), Some("b"));
}

#[test]
fn wrong_use_is_refused_before_anything_runs() {
    let never = || panic!("it ran");
    let runs: [Paired<'_>; 6] = [
        Paired::new("no reference").case("a", never),
        Paired::new("two references").reference("a", never).reference("b", never),
        Paired::new("same name").reference("a", never).case("a", never),
        Paired::new("goal first").goal(1.0).reference("a", never),
        Paired::new("unknown").reference("a", never).goal_against(
            "b",
            Metric::Wall,
            Goal::AtMost(1.0),
        ),
        Paired::new("no case"),
    ];
    for run in runs {
        assert!(run.run().unwrap_err().is_usage());
    }
}

#[test]
fn a_case_that_measures_nothing_is_an_error() {
    let run = Paired::new("nothing").reference("a", || 1).case_metered("b", |_| Ok(()));
    assert!(run.run().unwrap_err().is_usage());
}

#[test]
fn a_report_survives_json_and_its_status_follows_the_worst_row() {
    let mut report = Report::new("status", "Does the worst row decide?");
    report.add(Comparison::exact("good", "n", ("a", 10), ("b", 5)).goal(Goal::AtMost(0.5)));
    assert_eq!(report.status(), 0);
    report.missing("peer", "not installed", "install it");
    assert_eq!(report.status(), 2);
    report.add(Comparison::exact("bad", "n", ("a", 10), ("b", 50)).goal(Goal::AtMost(0.5)));
    assert_eq!(report.status(), 1);
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
    assert!(Report::from_json("{}").unwrap_err().is_usage());
}
