//! Takes the time of exactly the work, and of nothing that prepares or removes it.
//!
//! Knows the clock and the counters; does not know rounds, cases or statistics.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::redact::redact;
use crate::usage::{self, Usage};

/// What one run of one case cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sample {
    /// Wall clock, nanoseconds.
    pub wall_ns: u64,
    /// Charged resources; absent where the platform cannot tell.
    pub usage: Option<Usage>,
    /// The caller's own counters: how much each grew during the work.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

impl Sample {
    /// Returns the sample's value of `metric`, in the metric's unit.
    pub fn get(&self, metric: &Metric) -> Option<f64> {
        match metric {
            Metric::Wall => Some(to_f64(self.wall_ns)),
            Metric::Cpu => self.usage.map(|usage| to_f64(usage.cpu_us() * 1000)),
            Metric::Counter(name) => self.counters.get(name).copied().map(to_f64),
        }
    }

    fn add(&mut self, wall: Duration, usage: Option<Usage>) {
        self.wall_ns += u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        self.usage = match (self.usage, usage) {
            (Some(so_far), Some(more)) => Some(so_far.plus(&more)),
            (so_far, more) => so_far.or(more),
        };
    }
}

/// Exact below 2^53: 104 days in nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "no measured value comes near 2^53")]
pub(crate) fn to_f64(value: u64) -> f64 {
    value as f64
}

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Metric {
    /// Wall clock, nanoseconds.
    Wall,
    /// CPU time of both modes and all threads, nanoseconds.
    Cpu,
    /// One of the caller's counters. A name that ends in `_ns` or `_bytes` is shown in that unit.
    Counter(String),
}

impl Metric {
    /// Names a counter.
    pub fn counter(name: impl Into<String>) -> Self {
        Self::Counter(name.into())
    }
}

/// A named source of a number that only grows, such as a count of allocations.
pub(crate) type Counter<'a> = (String, Box<dyn FnMut() -> u64 + 'a>);

/// Measures the work of one case in one round.
///
/// A case does its preparations, calls [`measure`](Self::measure) or
/// [`measure_command`](Self::measure_command), and cleans up; only the calls are timed. Several
/// calls add up.
pub struct Meter<'a, 'c> {
    round: usize,
    counters: &'a mut [Counter<'c>],
    sample: Option<Sample>,
}

impl<'a, 'c> Meter<'a, 'c> {
    pub(crate) fn new(round: usize, counters: &'a mut [Counter<'c>]) -> Self {
        Self { round, counters, sample: None }
    }

    /// The number of the round, from 0; the warm-up rounds come first.
    pub fn round(&self) -> usize {
        self.round
    }

    /// Runs `work` under the clock and the counters.
    ///
    /// What it returns is dropped by the caller, so outside the time.
    pub fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let counters_before: Vec<u64> = self.counters.iter_mut().map(|(_, read)| read()).collect();
        let usage_before = Usage::of_this_process();
        let start = Instant::now();
        let answer = black_box(work());
        let wall = start.elapsed();
        let usage = Usage::of_this_process();
        for ((name, read), before) in self.counters.iter_mut().zip(counters_before) {
            let grown = read().saturating_sub(before);
            *self.sample.get_or_insert_default().counters.entry(name.clone()).or_default() += grown;
        }
        let used = usage.zip(usage_before).map(|(after, before)| after.since(&before));
        self.sample.get_or_insert_default().add(wall, used);
        answer
    }

    /// Runs `command` to its end under the clock; its output is read only when it fails.
    ///
    /// # Errors
    ///
    /// When it cannot be started, or ends with anything but success: the error then holds the last
    /// lines of what it printed.
    pub fn measure_command(&mut self, command: &mut Command) -> Result<()> {
        let (wall, usage) = run(command)?;
        self.sample.get_or_insert_default().add(wall, usage);
        Ok(())
    }

    /// Runs `command` as [`measure_command`](Self::measure_command) does, but returns what it cost
    /// instead of adding it: for a part that is to be subtracted or shown beside.
    ///
    /// # Errors
    ///
    /// As [`measure_command`](Self::measure_command).
    pub fn measure_aside(command: &mut Command) -> Result<Sample> {
        let (wall, usage) = run(command)?;
        let mut sample = Sample::default();
        sample.add(wall, usage);
        Ok(sample)
    }

    /// Adds `amount` to a counter that the work itself reports, such as the bytes it wrote.
    pub fn count(&mut self, name: &str, amount: u64) {
        let counters = &mut self.sample.get_or_insert_default().counters;
        *counters.entry(name.to_owned()).or_default() += amount;
    }

    /// What was measured so far in this round.
    pub fn so_far(&self) -> Option<&Sample> {
        self.sample.as_ref()
    }

    pub(crate) fn finish(self) -> Option<Sample> {
        self.sample
    }
}

impl std::fmt::Debug for Meter<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Meter").field("round", &self.round).finish_non_exhaustive()
    }
}

/// A file takes the output: a pipe would need a reader that competes for the cores.
fn run(command: &mut Command) -> Result<(Duration, Option<Usage>)> {
    let program = program_name(command);
    let failed = |error| Error::io("run", Path::new(&program), error);
    let mut output = tempfile::tempfile().map_err(failed)?;
    command.stdin(Stdio::null());
    command.stdout(output.try_clone().map_err(failed)?);
    command.stderr(output.try_clone().map_err(failed)?);
    let start = Instant::now();
    let child = command.spawn().map_err(failed)?;
    let (status, usage) = usage::wait(child).map_err(failed)?;
    let wall = start.elapsed();
    if status.success() {
        return Ok((wall, usage));
    }
    let text = read_back(&mut output).map_err(failed)?;
    Err(Error::command(program, status.to_string(), redact(&text, &[])))
}

fn read_back(output: &mut std::fs::File) -> io::Result<String> {
    output.rewind()?;
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The file name alone: a report must not carry the paths of the machine that made it.
pub(crate) fn program_name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_measurements_of_one_round_add_up() {
        let mut calls = 0_u64;
        let mut counters: Vec<Counter<'_>> = vec![(
            "calls".to_owned(),
            Box::new(move || {
                calls += 1;
                calls
            }),
        )];
        let mut meter = Meter::new(0, &mut counters);
        assert_eq!(meter.measure(|| 1), 1);
        meter.measure(|| ());
        meter.count("bytes", 7);
        let sample = meter.finish().unwrap();
        assert_eq!(sample.get(&Metric::counter("calls")), Some(2.0));
        assert_eq!(sample.get(&Metric::counter("bytes")), Some(7.0));
        assert_eq!(sample.get(&Metric::counter("other")), None);
    }

    #[test]
    #[cfg(unix)]
    fn a_failing_command_says_what_it_printed_last() {
        let mut meter = Meter::new(0, &mut []);
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo early; echo the reason >&2; exit 4"]);
        let error = meter.measure_command(&mut command).unwrap_err().to_string();
        assert!(error.contains("`sh` ended with exit status: 4"), "{error}");
        assert!(error.contains("early / the reason"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn what_is_measured_aside_is_not_part_of_the_round() {
        let meter = Meter::new(0, &mut []);
        let sample = Meter::measure_aside(&mut Command::new("true")).unwrap();
        assert!(sample.wall_ns > 0);
        assert_eq!(meter.finish(), None);
    }

    #[test]
    fn a_missing_program_is_an_error_with_its_name() {
        let mut meter = Meter::new(0, &mut []);
        let error = meter.measure_command(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
    }
}
