//! Every interleaving of the protocols, by running the real functions on a model file system.
//!
//! A process is a function of the answers that its calls got so far. So a state is the model's files
//! plus one list of answers per process, and one step of a process is: run its function from the
//! start, answer from the list, let the first call beyond it act on the files, and stop there. All
//! states that any order of steps can reach are visited, each once; no thread is needed.
//!
//! What must hold holds in *every* state, so a process that is killed anywhere is covered too.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::hash::Hash;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crate::fingerprint::Instant;
use crate::protocol::{Calls, Hit, Name, Published, Retired, place, publish, retire};
use crate::sys::{FileKind, Inode, Seen};

type Key = (usize, Name);

/// Files, without their bytes: a file is good, bad, or half written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Files {
    names: BTreeMap<Key, usize>,
    inodes: Vec<Content>,
    most_links: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Content {
    Good,
    Bad,
    Partial,
}

/// The environment that had the object before anything starts.
const BEFORE: Key = (usize::MAX, Name::Dest);
const OBJECT: Key = (usize::MAX, Name::Object);

impl Files {
    fn empty() -> Self {
        Self { names: BTreeMap::new(), inodes: Vec::new(), most_links: 1000 }
    }

    /// One object that nothing else links to.
    fn unused(content: Content) -> Self {
        Self { names: BTreeMap::from([(OBJECT, 0)]), inodes: vec![content], ..Self::empty() }
    }

    /// One object that an environment links to.
    fn used(content: Content) -> Self {
        let mut files = Self::unused(content);
        files.names.insert(BEFORE, 0);
        files
    }

    fn find(&self, key: Key) -> io::Result<usize> {
        self.names.get(&key).copied().ok_or_else(|| os_error(libc_numbers::ENOENT))
    }

    fn links(&self, inode: usize) -> u64 {
        self.names.values().filter(|&&found| found == inode).count() as u64
    }

    fn seen(&self, key: Key) -> io::Result<Seen> {
        let number = self.find(key)?;
        Ok(Seen {
            kind: FileKind::Regular,
            size: 1,
            modified: Instant { seconds: 0, nanoseconds: 0 },
            changed_s: 0,
            mode: 0o644,
            links: self.links(number),
            inode: Inode { device: 1, number: number as u64 },
            owner: 0,
            disk_bytes: 1,
        })
    }

    fn link(&mut self, from: Key, to: Key) -> io::Result<()> {
        let inode = self.find(from)?;
        if self.names.contains_key(&to) {
            return Err(os_error(libc_numbers::EEXIST));
        }
        if self.links(inode) >= self.most_links {
            return Err(os_error(libc_numbers::EMLINK));
        }
        self.names.insert(to, inode);
        Ok(())
    }

    /// As POSIX has it: nothing happens when both are names of one file.
    fn rename(&mut self, from: Key, to: Key) -> io::Result<()> {
        let inode = self.find(from)?;
        if self.names.get(&to) != Some(&inode) {
            self.names.remove(&from);
            self.names.insert(to, inode);
        }
        Ok(())
    }

    fn unlink(&mut self, key: Key) -> io::Result<()> {
        self.find(key)?;
        self.names.remove(&key);
        Ok(())
    }

    fn create(&mut self, key: Key) -> io::Result<()> {
        if self.names.contains_key(&key) {
            return Err(os_error(libc_numbers::EEXIST));
        }
        self.names.insert(key, self.inodes.len());
        self.inodes.push(Content::Partial);
        Ok(())
    }

    fn complete(&mut self, key: Key) -> io::Result<()> {
        let inode = self.find(key)?;
        self.inodes[inode] = Content::Good;
        Ok(())
    }
}

/// The numbers that the real calls would give.
mod libc_numbers {
    pub(super) const ENOENT: i32 = 2;
    pub(super) const EIO: i32 = if cfg!(windows) { 1117 } else { 5 };
    pub(super) const EEXIST: i32 = if cfg!(windows) { 183 } else { 17 };
    pub(super) const EMLINK: i32 = if cfg!(windows) { 1142 } else { 31 };
}

fn os_error(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

/// What a call said, without what cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Answer {
    Done,
    Failed(i32),
    Stat { inode: u64, links: u64 },
    Trusted(bool),
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Outcome {
    Linked,
    Published,
    Joined,
    RolledOver,
    Private,
    Missing,
    Removed,
    PutBack,
    Gone,
    Kept,
    Failed,
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    files: Files,
    answers: Vec<Vec<Answer>>,
    ended: Vec<Option<Outcome>>,
}

/// The calls of one process during one step.
struct Turn {
    process: usize,
    files: RefCell<Files>,
    answers: RefCell<Vec<Answer>>,
    replayed: RefCell<usize>,
    acted: RefCell<bool>,
    /// The call, counted from 0, that fails with EIO.
    fails_at: Option<usize>,
}

/// Thrown when a process has done its one call.
struct Stopped;

impl Turn {
    fn call(&self, act: impl FnOnce(&mut Files) -> io::Result<Answer>) -> Answer {
        let at = *self.replayed.borrow();
        *self.replayed.borrow_mut() += 1;
        if let Some(answer) = self.answers.borrow().get(at) {
            return answer.clone();
        }
        if self.acted.replace(true) {
            resume_unwind(Box::new(Stopped));
        }
        let answer = if self.fails_at == Some(at) {
            Answer::Failed(libc_numbers::EIO)
        } else {
            act(&mut self.files.borrow_mut())
                .unwrap_or_else(|error| Answer::Failed(error.raw_os_error().unwrap_or(0)))
        };
        self.answers.borrow_mut().push(answer.clone());
        answer
    }

    fn done(&self, act: impl FnOnce(&mut Files) -> io::Result<()>) -> io::Result<()> {
        match self.call(|files| act(files).map(|()| Answer::Done)) {
            Answer::Failed(number) => Err(os_error(number)),
            _ => Ok(()),
        }
    }

    fn key(&self, name: Name) -> Key {
        if name == Name::Object { OBJECT } else { (self.process, name) }
    }
}

impl Calls for Turn {
    fn link(&self, from: Name, to: Name) -> io::Result<()> {
        self.done(|files| files.link(self.key(from), self.key(to)))
    }

    fn rename(&self, from: Name, to: Name) -> io::Result<()> {
        self.done(|files| files.rename(self.key(from), self.key(to)))
    }

    fn unlink(&self, name: Name) -> io::Result<()> {
        self.done(|files| files.unlink(self.key(name)))
    }

    fn stat(&self, name: Name) -> io::Result<Seen> {
        let key = self.key(name);
        let answer = self.call(|files| {
            let seen = files.seen(key)?;
            Ok(Answer::Stat { inode: seen.inode.number, links: seen.links })
        });
        match answer {
            Answer::Stat { inode, links } => {
                let mut seen = Files::used(Content::Good).seen(OBJECT)?;
                seen.inode.number = inode;
                seen.links = links;
                Ok(seen)
            }
            Answer::Failed(number) => Err(os_error(number)),
            other => panic!("a stat answered {other:?}"),
        }
    }

    fn trusts(&self, name: Name, _: &Seen) -> io::Result<bool> {
        let key = self.key(name);
        let answer = self.call(|files| {
            let inode = files.find(key)?;
            Ok(Answer::Trusted(files.inodes[inode] == Content::Good))
        });
        match answer {
            Answer::Trusted(good) => Ok(good),
            Answer::Failed(number) => Err(os_error(number)),
            other => panic!("a check answered {other:?}"),
        }
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn quarantine(&self, _: &Seen) -> io::Result<()> {
        let aside = self.key(Name::Aside);
        self.done(|files| {
            let inode = files.find(aside)?;
            assert_eq!(files.inodes[inode], Content::Bad, "a good object is quarantined");
            files.unlink(aside)
        })
    }
}

type Process = fn(&Turn) -> io::Result<Outcome>;

/// Hash first: link, or write, close and publish.
fn install(turn: &Turn) -> io::Result<Outcome> {
    if let Hit::Linked = place(turn)? {
        return Ok(Outcome::Linked);
    }
    turn.done(|files| files.create(turn.key(Name::Dest)))?;
    turn.done(|files| files.complete(turn.key(Name::Dest)))?;
    Ok(match publish(turn)? {
        Published::New => Outcome::Published,
        Published::Joined => Outcome::Joined,
        Published::RolledOver => Outcome::RolledOver,
        Published::Private(_) => Outcome::Private,
    })
}

/// An environment that is deleted as soon as it is there: its object may be swept at once.
fn install_and_delete(turn: &Turn) -> io::Result<Outcome> {
    install(turn)?;
    turn.unlink(Name::Dest)?;
    Ok(Outcome::Removed)
}

/// Runs the end again, as a retried network call would.
fn publish_again(turn: &Turn) -> io::Result<Outcome> {
    Ok(match publish(turn)? {
        Published::Joined => Outcome::Joined,
        other => panic!("{other:?}"),
    })
}

/// From a manifest: there are no bytes to write.
fn place_only(turn: &Turn) -> io::Result<Outcome> {
    Ok(match place(turn)? {
        Hit::Linked => Outcome::Linked,
        _ => Outcome::Missing,
    })
}

/// A sweep without any grace: the worst one.
fn sweep(turn: &Turn) -> io::Result<Outcome> {
    match turn.stat(Name::Object) {
        Ok(seen) if seen.links == 1 => {}
        _ => return Ok(Outcome::Kept),
    }
    Ok(match retire(turn)? {
        Retired::Removed => Outcome::Removed,
        Retired::PutBack => Outcome::PutBack,
        Retired::Gone => Outcome::Gone,
        Retired::Held => Outcome::Kept,
    })
}

/// The environment that was there before is deleted.
fn uninstall(turn: &Turn) -> io::Result<Outcome> {
    turn.done(|files| files.unlink(BEFORE))?;
    Ok(Outcome::Removed)
}

/// The order that needs a lock: drop the duplicate, then link the object back.
fn install_dropping_the_duplicate(turn: &Turn) -> io::Result<Outcome> {
    turn.done(|files| files.create(turn.key(Name::Dest)))?;
    turn.done(|files| files.complete(turn.key(Name::Dest)))?;
    if turn.link(Name::Dest, Name::Object).is_ok() {
        return Ok(Outcome::Published);
    }
    turn.unlink(Name::Dest)?;
    Ok(turn.link(Name::Object, Name::Dest).map_or(Outcome::Lost, |()| Outcome::Joined))
}

/// Everything that can happen from `state` by one call of `process`.
fn step(state: &State, process: usize, run: Process, fails_at: Option<usize>) -> State {
    let turn = Rc::new(Turn {
        process,
        files: RefCell::new(state.files.clone()),
        answers: RefCell::new(state.answers[process].clone()),
        replayed: RefCell::new(0),
        acted: RefCell::new(false),
        fails_at,
    });
    let ended = match catch_unwind(AssertUnwindSafe(|| run(&turn))) {
        Ok(outcome) => Some(outcome.unwrap_or(Outcome::Failed)),
        Err(thrown) if thrown.is::<Stopped>() => None,
        Err(panic) => resume_unwind(panic),
    };
    let mut next = state.clone();
    next.files = turn.files.borrow().clone();
    next.answers[process] = turn.answers.borrow().clone();
    next.ended[process] = ended;
    next
}

/// What exploring found.
#[derive(Debug, Default)]
struct Found {
    states: usize,
    outcomes: HashSet<(usize, Outcome)>,
    finals: Vec<State>,
}

/// Visits every state that `processes` can reach from `files`, checking `holds` in each.
fn explore(files: Files, processes: &[Process], holds: impl Fn(&State)) -> Found {
    let count = processes.len();
    let start = State { files, answers: vec![Vec::new(); count], ended: vec![None; count] };
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    let mut found = Found::default();
    while let Some(state) = open.pop() {
        holds(&state);
        found.states += 1;
        let running: Vec<_> = (0..count).filter(|&at| state.ended[at].is_none()).collect();
        for &at in &running {
            let next = step(&state, at, processes[at], None);
            found.outcomes.extend(next.ended[at].map(|outcome| (at, outcome)));
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
        if running.is_empty() {
            found.finals.push(state);
        }
    }
    found
}

/// The promises, in every state: so also when everybody is killed in it.
fn promises(state: &State) {
    if let Some(&inode) = state.files.names.get(&OBJECT) {
        let content = state.files.inodes[inode];
        assert_ne!(content, Content::Partial, "a partial object is visible: {state:?}");
    }
    for (process, ended) in state.ended.iter().enumerate() {
        use Outcome::{Joined, Linked, Private, Published, RolledOver};
        if let Some(Linked | Joined | Published | RolledOver | Private) = ended {
            let inode = state.files.names.get(&(process, Name::Dest));
            let content = inode.map(|&inode| state.files.inodes[inode]);
            assert_eq!(content, Some(Content::Good), "a destination is lost: {state:?}");
        }
        assert_ne!(*ended, Some(Outcome::Lost), "a destination is lost: {state:?}");
        assert_ne!(*ended, Some(Outcome::Failed), "a process failed: {state:?}");
    }
}

/// At the end nothing but objects and destinations is left.
fn tidy(found: &Found) {
    for state in &found.finals {
        let left: Vec<_> = state.files.names.keys().map(|(_, name)| *name).collect();
        assert!(
            left.iter().all(|name| matches!(name, Name::Object | Name::Dest)),
            "something is left behind: {state:?}"
        );
    }
}

fn check(files: Files, processes: &[Process]) -> Found {
    let found = explore(files, processes, promises);
    tidy(&found);
    assert!(!found.finals.is_empty());
    found
}

#[test]
fn two_installers_and_a_sweep_never_lose_a_destination() {
    for files in [Files::empty(), Files::unused(Content::Good), Files::used(Content::Good)] {
        let found = check(files, &[install, install, sweep]);
        assert!(found.states > 100, "{} states", found.states);
    }
}

#[test]
fn an_object_that_is_swept_while_it_is_joined_loses_no_destination() {
    let found = check(Files::empty(), &[install, install_and_delete, sweep]);
    for outcome in [Outcome::Published, Outcome::Joined, Outcome::Linked] {
        assert!(found.outcomes.contains(&(0, outcome)), "{outcome:?} was never seen");
    }
    assert!(found.outcomes.contains(&(2, Outcome::Removed)));
}

#[test]
fn a_file_that_is_published_twice_stays_what_it_is() {
    let mut files = Files::unused(Content::Good);
    files.names.insert((0, Name::Dest), 0);
    let found = check(files, &[publish_again, sweep]);
    assert!(found.outcomes.contains(&(0, Outcome::Joined)));
}

#[test]
fn three_installers_of_one_file_share_it() {
    let found = check(Files::empty(), &[install, install, install]);
    for outcome in [Outcome::Published, Outcome::Joined, Outcome::Linked] {
        assert!(found.outcomes.contains(&(0, outcome)), "{outcome:?} was never seen");
    }
    for state in &found.finals {
        let inodes: HashSet<_> = state.files.names.values().collect();
        assert_eq!(inodes.len(), 1, "all four names are one file: {state:?}");
    }
}

#[test]
fn a_placer_finds_the_object_or_says_that_it_is_missing() {
    let found = check(Files::used(Content::Good), &[place_only, uninstall, sweep]);
    for outcome in [Outcome::Linked, Outcome::Missing] {
        assert!(found.outcomes.contains(&(0, outcome)), "{outcome:?} was never seen");
    }
    for outcome in [Outcome::Removed, Outcome::PutBack, Outcome::Kept] {
        assert!(found.outcomes.contains(&(2, outcome)), "{outcome:?} was never seen");
    }
}

#[test]
fn two_sweeps_beside_an_installer_do_no_harm() {
    check(Files::unused(Content::Good), &[install, sweep, sweep]);
    check(Files::used(Content::Good), &[install, uninstall, sweep, sweep]);
}

#[test]
fn a_bad_object_is_replaced_and_never_handed_out() {
    let found = check(Files::used(Content::Bad), &[install, install, sweep]);
    for state in &found.finals {
        let object = state.files.names.get(&OBJECT).map(|&inode| state.files.inodes[inode]);
        assert_ne!(object, Some(Content::Bad), "{state:?}");
    }
    check(Files::used(Content::Bad), &[install, place_only, sweep]);
}

#[test]
fn a_full_object_is_rolled_over() {
    let mut files = Files::used(Content::Good);
    files.most_links = 2;
    let found = check(files, &[install, install, sweep]);
    assert!(found.outcomes.contains(&(0, Outcome::RolledOver)));
}

#[test]
fn a_call_that_fails_anywhere_leaves_no_wrong_file() {
    for start in [Files::empty(), Files::used(Content::Good), Files::used(Content::Bad)] {
        for fails_at in 0..20 {
            for process in [install as Process, place_only, sweep] {
                let (answers, ended) = (vec![Vec::new()], vec![None]);
                let mut state = State { files: start.clone(), answers, ended };
                while state.ended[0].is_none() {
                    state = step(&state, 0, process, Some(fails_at));
                    if state.ended[0] != Some(Outcome::Failed) {
                        promises(&state);
                    }
                }
            }
        }
    }
}

/// The control: the model finds the loss that the other order has.
#[test]
#[should_panic(expected = "a destination is lost")]
fn dropping_the_duplicate_first_loses_destinations() {
    check(Files::unused(Content::Good), &[install_dropping_the_duplicate, sweep]);
}
