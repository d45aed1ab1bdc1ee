//! Starting what was just written; alone in its process, because every fork inherits every handle.
#![cfg(all(target_os = "linux", not(any(loom, shuttle))))]
#![expect(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use deferred_close::{
    Closer, Finish, Group, Policy, SpawnLock, Threads, spawn_retrying, wait_for_no_writers,
};

static ALONE: Mutex<()> = Mutex::new(());
const LONG: Duration = Duration::from_secs(60);

/// A copy of `true`, still open for writing.
fn program(dir: &Path, number: usize) -> (PathBuf, File) {
    let path = dir.join(number.to_string());
    let mut from = File::open("/bin/true").unwrap();
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path).unwrap();
    io::copy(&mut from, &mut to).unwrap();
    (path, to)
}

/// True when starting it says "text file busy".
fn is_busy(path: &Path) -> bool {
    match Command::new(path).spawn() {
        Ok(mut child) => {
            assert!(child.wait().unwrap().success());
            false
        }
        Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => true,
        Err(error) => panic!("{error}"),
    }
}

fn busy_of_300(closer: &Closer, barrier: impl Fn(&Group<'_>)) -> usize {
    let dir = tempfile::tempdir().unwrap();
    closer
        .scope(|scope| {
            let group = scope.group("bin");
            let busy = |number| {
                let (path, file) = program(dir.path(), number);
                group.close(file, path.clone());
                barrier(&group);
                is_busy(&path)
            };
            (0..300).filter(|&number| busy(number)).count()
        })
        .unwrap()
}

#[test]
fn after_a_wait_none_of_300_programs_is_busy() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let closer = Closer::builder()
        .policy(Policy::Always)
        .threads(Threads::Fixed(4))
        .defer_executables(true)
        .build();
    assert_eq!(busy_of_300(&closer, |group| group.wait().unwrap()), 0);
    assert_eq!(closer.stats().deferred, 300);
}

#[test]
fn without_a_wait_none_of_300_programs_is_busy_because_executables_are_not_deferred() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let closer = Closer::builder().policy(Policy::Always).build();
    assert_eq!(busy_of_300(&closer, |_| ()), 0);
    assert_eq!(closer.stats().inline_executable, 300);
}

/// A file whose close waits for the test.
struct Held {
    file: File,
    until: mpsc::Receiver<()>,
}

impl Finish for Held {
    fn finish(self) -> io::Result<()> {
        self.until.recv().unwrap();
        self.file.finish()
    }
}

#[test]
fn a_program_that_is_still_pending_is_busy_and_its_ticket_ends_that() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let closer = Closer::builder().policy(Policy::Always).build();
    closer
        .scope(|scope| {
            let (path, file) = program(dir.path(), 0);
            let (release, until) = mpsc::channel();
            let ticket = scope.group("g").close_ticket(Held { file, until }, path.clone());
            assert!(is_busy(&path));
            release.send(()).unwrap();
            ticket.wait().unwrap();
            assert!(!is_busy(&path));
        })
        .unwrap();
}

#[test]
fn with_a_spawn_lock_none_of_300_programs_is_busy_while_four_threads_start_children() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let lock = SpawnLock::new();
    let stop = AtomicBool::new(false);
    let closer = Closer::builder().policy(Policy::Always).defer_executables(true).build();
    let start_children = || {
        while !stop.load(Relaxed) {
            lock.spawn(&mut Command::new("/bin/true")).unwrap().wait().unwrap();
        }
    };
    let busy = thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(start_children);
        }
        let busy = |number| {
            let writing = lock.writing();
            let (path, file) = program(dir.path(), number);
            let close = |scope: &deferred_close::Scope<'_>| {
                scope.group("g").close_then(file, path.clone(), move |closed| {
                    drop(writing);
                    closed
                });
            };
            closer.scope(close).unwrap();
            let spawning = lock.spawning();
            let busy = is_busy(&path);
            drop(spawning);
            busy
        };
        let count = (0..300).filter(|&number| busy(number)).count();
        stop.store(true, Relaxed);
        count
    });
    assert_eq!(busy, 0);
}

#[test]
fn a_writer_in_another_process_is_waited_for() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let (path, file) = program(dir.path(), 0);
    // The child reads nothing: it only holds the handle, as a forked sibling would.
    let mut child = Command::new("sleep").arg("600").stdin(Stdio::from(file)).spawn().unwrap();
    assert!(!wait_for_no_writers(&path, Duration::from_millis(5)).unwrap());
    assert!(is_busy(&path));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait_for_no_writers(&path, LONG).unwrap());
    assert!(!is_busy(&path));
}

#[test]
fn a_busy_program_is_started_once_its_writer_is_gone() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let (path, file) = program(dir.path(), 0);
    let busy = spawn_retrying(&mut Command::new(&path), Duration::from_millis(5));
    assert_eq!(busy.unwrap_err().kind(), ErrorKind::ExecutableFileBusy);
    thread::scope(|threads| {
        threads.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            drop(file);
        });
        let (mut child, _retried) = spawn_retrying(&mut Command::new(&path), LONG).unwrap();
        assert!(child.wait().unwrap().success());
    });
    let missing = spawn_retrying(&mut Command::new(dir.path().join("none")), LONG);
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn where_the_kernel_grants_no_lease_the_answer_is_unsupported() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let told = wait_for_no_writers(dir.path(), LONG);
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Unsupported);
}
