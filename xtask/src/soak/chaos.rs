//! Starts processes, kills them at random moments, and judges those that end by themselves.
//!
//! A process may fail (the disk is full, descriptors are few); it may not panic, not be killed by
//! anybody else, and not report wrong data.

use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::dice::Dice;
use super::disk::SmallDisk;
use crate::{Result, shell};

/// One place in which a process runs; when it ends or is killed, another one takes its place.
pub(super) struct Actor {
    name: &'static str,
    command: Box<dyn Fn(&mut Dice) -> Command>,
    few_descriptors: bool,
    running: Option<Running>,
}

struct Running {
    child: Child,
    /// When it is killed if it has not ended by then.
    until: Instant,
    what: String,
}

impl Actor {
    pub(super) fn new(
        name: &'static str,
        command: impl Fn(&mut Dice) -> Command + 'static,
    ) -> Self {
        Self { name, command: Box::new(command), few_descriptors: false, running: None }
    }

    /// Each process may open 6 to 25 files, standard streams included: some cannot even begin, some
    /// fail in the middle, some come through.
    pub(super) fn with_few_descriptors(self) -> Self {
        Self { few_descriptors: true, ..self }
    }

    fn described(&self) -> String {
        let few = if self.few_descriptors { " (few descriptors)" } else { "" };
        format!("{}{few}", self.name)
    }

    fn start(&mut self, dice: &mut Dice) -> Result<()> {
        let mut command = (self.command)(dice);
        if self.few_descriptors {
            command = limited(&command, 6 + dice.below(20));
        }
        let what = shell::rendered(&command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A group of its own: what the process started is killed with it.
        let child = command.process_group(0).spawn()?;
        // Most live long enough to do something, some die while they start.
        let life_max = if dice.one_in(3) { 200 } else { 6_000 };
        let life = 20 + dice.below(life_max);
        let until = Instant::now() + Duration::from_millis(life);
        self.running = Some(Running { child, until, what });
        Ok(())
    }
}

/// The command below `prlimit`, which becomes it.
fn limited(command: &Command, descriptors: u64) -> Command {
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--nofile={descriptors}:{descriptors}"));
    limited.arg("--").arg(command.get_program()).args(command.get_args());
    limited
}

/// All actors, the dice, and how often what happened.
pub(super) struct Chaos {
    dice: Dice,
    actors: Vec<Actor>,
    counts: BTreeMap<(String, &'static str), u64>,
    fills: u64,
}

impl Chaos {
    pub(super) fn new(seed: u64, actors: Vec<Actor>) -> Self {
        Self { dice: Dice::new(seed), actors, counts: BTreeMap::new(), fills: 0 }
    }

    pub(super) fn run_until(&mut self, end: Instant, disk: &SmallDisk) -> Result<()> {
        let outcome = self.run(end, disk);
        self.end_all();
        outcome
    }

    fn run(&mut self, end: Instant, disk: &SmallDisk) -> Result<()> {
        let mut disk_changes = Instant::now() + Duration::from_secs(8);
        while Instant::now() < end {
            self.look_at_each()?;
            if Instant::now() >= disk_changes {
                disk_changes = Instant::now() + self.change(disk)?;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Fills the disk for a moment, or leaves it room for a while; returns for how long.
    fn change(&mut self, disk: &SmallDisk) -> Result<Duration> {
        self.fills += 1;
        if self.fills.is_multiple_of(2) {
            disk.make_room()?;
            return Ok(Duration::from_secs(8 + self.dice.below(8)));
        }
        disk.fill()?;
        Ok(Duration::from_secs(1 + self.dice.below(4)))
    }

    fn look_at_each(&mut self) -> Result<()> {
        for actor in &mut self.actors {
            let Some(running) = &mut actor.running else {
                actor.start(&mut self.dice)?;
                continue;
            };
            let ended = match running.child.try_wait()? {
                Some(status) => judge(running, status)?,
                None if Instant::now() < running.until => continue,
                None => kill(running),
            };
            *self.counts.entry((actor.described(), ended)).or_default() += 1;
            actor.running = None;
        }
        Ok(())
    }

    fn end_all(&mut self) {
        for running in self.actors.iter_mut().filter_map(|actor| actor.running.take()) {
            let mut running = running;
            kill(&mut running);
        }
    }

    /// Whoever can end must have come to a good end now and then, or nothing was tried.
    pub(super) fn check(&self) -> Result<()> {
        let count = |actor: &String, ended| *self.counts.get(&(actor.clone(), ended)).unwrap_or(&0);
        for (actor, ended) in self.counts.keys() {
            if *ended == "failed" && count(actor, "succeeded") == 0 {
                return Err(format!("{actor} never succeeded\n{}", self.summary()).into());
            }
        }
        Ok(())
    }

    pub(super) fn summary(&self) -> String {
        let mut lines = vec![format!("the disk was full {} times", self.fills.div_ceil(2))];
        for ((actor, ended), count) in &self.counts {
            lines.push(format!("{actor:<32} {ended:<9} {count:>6}"));
        }
        lines.join("\n")
    }
}

/// What a process that ended by itself may do: end well, or fail with a message.
fn judge(running: &mut Running, status: ExitStatus) -> Result<&'static str> {
    let mut said = String::new();
    if let Some(mut stderr) = running.child.stderr.take() {
        std::io::Read::read_to_string(&mut stderr, &mut said)?;
    }
    // Not by the status: 101 is a panic's, and also cargo's and mini-cargo's for any error.
    let panicked = said.contains("panicked at");
    if panicked || status.signal().is_some() || said.contains("WRONG DATA") {
        return Err(format!("`{}` ended with {status}\n{said}", running.what).into());
    }
    Ok(if status.success() { "succeeded" } else { "failed" })
}

/// Kills the process and all that it started.
fn kill(running: &mut Running) -> &'static str {
    let group = format!("-{}", running.child.id());
    let killed = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    drop(killed);
    drop(running.child.wait());
    "killed"
}
