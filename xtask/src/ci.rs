//! Everything that continuous integration runs, in the same order, with what each step took.
//!
//! A step that cannot run is a failed step: a check that is skipped in silence is not a check.
//! Every step runs even when an earlier one failed, so that one run shows all there is to mend.
//! `.ci/run` installs what the steps need; this file installs nothing.

use std::fs;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::shell;

mod steps;

use steps::{STEPS, Step};

/// Runs the steps that `arguments` choose, or all; the exit code is a failure when one failed.
#[expect(clippy::print_stdout, reason = "the report is this chore's product")]
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let (options, words): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|argument| argument.starts_with("--"));
    let chosen = choose(STEPS, &words);
    if let Some(unknown) = options.iter().find(|option| **option != "--list") {
        println!("there is no option {unknown}; `--list` names all steps");
        return ExitCode::FAILURE;
    }
    if !options.is_empty() {
        for step in &chosen {
            println!("{}: {}", step.name, step.rendered());
        }
        return ExitCode::SUCCESS;
    }
    if chosen.is_empty() {
        println!("no step is called {words:?}; `cargo xtask ci --list` names all");
        return ExitCode::FAILURE;
    }
    let outcomes: Vec<_> = chosen.into_iter().map(Step::run).collect();
    report(&outcomes);
    let failed = outcomes.iter().any(|outcome| outcome.error.is_some());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[expect(clippy::print_stdout, reason = "the report is this chore's product")]
fn report(outcomes: &[Outcome]) {
    println!();
    for outcome in outcomes {
        println!("{}", outcome.line());
    }
    let minutes = |part: fn(&Outcome) -> Duration| {
        outcomes.iter().map(part).sum::<Duration>().as_secs_f64() / 60.0
    };
    let (took, computed) = (minutes(|outcome| outcome.took), minutes(|outcome| outcome.computed));
    println!("{:<20} {took:>6.1} min   {computed:>6.1} min of CPU time", "total");
}

/// How one step ended.
struct Outcome {
    name: &'static str,
    took: Duration,
    /// CPU time of all processes: on a machine that does other things too, the truer figure.
    computed: Duration,
    error: Option<String>,
}

impl Outcome {
    fn line(&self) -> String {
        let verdict = self.error.as_deref().unwrap_or("ok");
        let (took, computed) = (self.took.as_secs_f64(), self.computed.as_secs_f64());
        format!("{:<20} {took:>6.0} s   {computed:>6.0} s of CPU time   {verdict}", self.name)
    }
}

/// The steps that have one of `words` as their name or, where no step does, in it; without words, all.
fn choose<'s>(all: &'s [Step], words: &[&String]) -> Vec<&'s Step> {
    let is_name = |word: &str| all.iter().any(|step| step.name == word);
    let has =
        |step: &Step, word: &str| step.name == word || !is_name(word) && step.name.contains(word);
    let is_chosen = |step: &Step| words.is_empty() || words.iter().any(|word| has(step, word));
    all.iter().filter(|step| is_chosen(step)).collect()
}

impl Step {
    fn command(&self) -> Command {
        let mut words = self.command.split_whitespace();
        let mut command = match words.next().unwrap_or_default() {
            "cargo" => shell::cargo(),
            local if local.starts_with(".ci/") => Command::new(shell::workspace().join(local)),
            program => Command::new(program),
        };
        command.current_dir(shell::workspace()).args(words);
        command.envs(self.environment.iter().copied());
        command
    }

    /// The command as a person would type it.
    fn rendered(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}='{value}' "));
        format!("{}{}", variables.collect::<String>(), self.command)
    }

    #[expect(clippy::print_stdout, reason = "a person following the log sees where it is")]
    fn run(&self) -> Outcome {
        println!("\n==> {}: {}", self.name, self.rendered());
        let (start, before) = (Instant::now(), cpu_time_of_children());
        let error = match self.command().status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("FAILED: {status}")),
            Err(error) => Some(format!("FAILED: could not run: {error}")),
        };
        let computed = cpu_time_of_children().saturating_sub(before);
        Outcome { name: self.name, took: start.elapsed(), computed, error }
    }
}

/// User and system time of all processes that were started here and have ended; zero where there is
/// no `/proc`. See `proc_pid_stat(5)`: ticks of a hundredth of a second, fields 16 and 17.
fn cpu_time_of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(13).take(2);
    Duration::from_millis(ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, command: &'static str) -> Step {
        Step { name, command, environment: &[] }
    }

    #[test]
    fn a_step_that_cannot_run_is_a_failed_step() {
        let outcome = step("absent", "no-such-program-anywhere --version").run();
        assert!(outcome.error.unwrap().contains("could not run"));
    }

    #[test]
    fn a_step_that_fails_is_a_failed_step() {
        assert!(step("fails", "false").run().error.is_some());
        assert!(step("passes", "true").run().error.is_none());
    }

    #[test]
    fn what_a_step_computed_is_counted() {
        let busy = "timeout 0.5 sha256sum /dev/zero";
        let computed = step("busy", busy).run().computed;
        assert!(computed > Duration::ZERO, "{computed:?}");
        assert_eq!(step("idle", "true").run().error, None);
    }

    #[test]
    fn a_word_means_the_step_of_that_name_or_all_that_have_it_in_theirs() {
        let steps = ["tests", "windows tests", "windows lints"].map(|name| step(name, "true"));
        let chosen = |word: &str| -> Vec<_> {
            choose(&steps, &[&word.to_owned()]).iter().map(|step| step.name).collect()
        };
        assert_eq!(chosen("tests"), ["tests"]);
        assert_eq!(chosen("windows"), ["windows tests", "windows lints"]);
        assert_eq!(choose(&steps, &[]).len(), 3);
    }

    #[test]
    fn names_are_unique_so_that_a_step_can_be_chosen() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }
}
