//! Everything that continuous integration runs, in the same order, with what each step took.
//!
//! A step that cannot run is a failed step: a check that is skipped in silence is not a check.
//! Every step runs even when an earlier one failed, so that one run shows all there is to mend.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::shell;

/// One step: its name, the program, its arguments and additional environment.
struct Step {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const fn step(
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
) -> Step {
    Step { name, program, arguments, environment: &[] }
}

/// The first step is the README's test command, to the letter.
const STEPS: &[Step] = &[
    step("tests", "cargo", &["test", "--workspace"]),
    step("format", "cargo", &["fmt", "--all", "--check"]),
    step(
        "lints",
        "cargo",
        &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"],
    ),
    Step {
        name: "documentation",
        program: "cargo",
        arguments: &["doc", "--workspace", "--no-deps", "--all-features"],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
    },
    step("supply chain", "cargo", &["deny", "check", "bans", "licenses", "sources"]),
    step("spelling", "typos", &[]),
];

/// Runs every step; the exit code is a failure when one of them failed.
#[expect(clippy::print_stdout, reason = "the report is this chore's product")]
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|argument| argument == "--list") {
        for step in STEPS {
            println!("{}: {}", step.name, shell::rendered(&step.command()));
        }
        return ExitCode::SUCCESS;
    }
    let outcomes: Vec<_> = STEPS.iter().map(|step| (step, step.run())).collect();
    println!();
    for (step, outcome) in &outcomes {
        println!("{}", outcome.line(step.name));
    }
    let failed = outcomes.iter().any(|(_, outcome)| outcome.error.is_some());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// How one step ended.
struct Outcome {
    took: Duration,
    error: Option<String>,
}

impl Outcome {
    fn line(&self, name: &str) -> String {
        let verdict = self.error.as_deref().unwrap_or("ok");
        format!("{name:<16} {:>6.0} s   {verdict}", self.took.as_secs_f64())
    }
}

impl Step {
    fn command(&self) -> Command {
        let mut command =
            if self.program == "cargo" { shell::cargo() } else { Command::new(self.program) };
        command.current_dir(shell::workspace()).args(self.arguments);
        command.envs(self.environment.iter().copied());
        command
    }

    #[expect(clippy::print_stdout, reason = "a person following the log sees where it is")]
    fn run(&self) -> Outcome {
        let mut command = self.command();
        println!("\n==> {}: {}", self.name, shell::rendered(&command));
        let start = Instant::now();
        let error = match command.status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("FAILED: {status}")),
            Err(error) => Some(format!("FAILED: could not run: {error}")),
        };
        Outcome { took: start.elapsed(), error }
    }
}
