//! What Windows does differently: an open file keeps others out, and a close is what lets them in.
//!
//! Handles here share nothing, as those of programs that do not ask for sharing: Wine and Windows
//! agree on what that refuses.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use deferred_close::{
    Closer, FileSystem, Finish, Policy, rename_retrying, spawn_retrying, wait_for_no_writers,
};

use crate::fixture::eager;

const LONG: Duration = Duration::from_secs(60);
const ERROR_ACCESS_DENIED: i32 = 5;
const ERROR_SHARING_VIOLATION: i32 = 32;

/// Opens a new file that nobody else may open, replace or delete meanwhile.
fn unshared(path: &Path) -> File {
    OpenOptions::new().write(true).create_new(true).share_mode(0).open(path).unwrap()
}

fn refused(result: io::Result<impl Sized>) -> bool {
    let codes = [Some(ERROR_ACCESS_DENIED), Some(ERROR_SHARING_VIOLATION)];
    result.is_err_and(|error| codes.contains(&error.raw_os_error()))
}

/// A file whose close waits for the test.
struct Held {
    file: File,
    until: mpsc::Receiver<()>,
}

impl Finish for Held {
    fn finish(self) -> io::Result<()> {
        let _nobody_waits_any_more = self.until.recv();
        self.file.finish()
    }
}

#[test]
fn a_pending_file_cannot_be_replaced_or_deleted_and_its_ticket_ends_that() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("file"), dir.path().join("new"));
    fs::write(&new, "new").unwrap();
    let closer = eager(1).build();
    closer
        .scope(|scope| {
            let (release, until) = mpsc::channel();
            let held = Held { file: unshared(&path), until };
            let ticket = scope.group("g").close_ticket(held, path.clone());
            assert!(refused(fs::rename(&new, &path)));
            assert!(refused(fs::remove_file(&path)));
            assert!(refused(File::open(&path)));
            release.send(()).unwrap();
            ticket.wait().unwrap();
            fs::rename(&new, &path).unwrap();
        })
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_rename_over_a_held_file_fails_at_once_without_a_budget_and_outlasts_the_holder_with_one() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (dir.path().join("file"), dir.path().join("new"));
    fs::write(&new, "new").unwrap();
    let holder = unshared(&path);
    assert!(refused(rename_retrying(&new, &path, Duration::ZERO)));
    assert!(new.exists(), "nothing was moved");
    let closing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(holder);
    });
    rename_retrying(&new, &path, LONG).unwrap();
    closing.join().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

/// Does nothing unless it was started by another test; then it is a program that runs for a while.
#[test]
fn as_a_program_that_waits_for_its_input() {
    if std::env::var_os("DEFERRED_CLOSE_TEST_WAITS").is_some() {
        io::stdin().read_line(&mut String::new()).unwrap();
    }
}

/// A copy of this test program.
fn program(dir: &Path) -> PathBuf {
    let path = dir.join("tool.exe");
    fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    path
}

fn waiting(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.args(["--exact", "windows::as_a_program_that_waits_for_its_input"]);
    command.env("DEFERRED_CLOSE_TEST_WAITS", "1").stdin(Stdio::piped()).stdout(Stdio::null());
    command
}

/// Closes the child's input, so that it ends.
fn end(mut child: Child) {
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_program_that_is_open_for_writing_does_not_start_and_starts_after_the_close() {
    let dir = tempfile::tempdir().unwrap();
    let path = program(dir.path());
    let writer = OpenOptions::new().write(true).open(&path).unwrap();
    let error = spawn_retrying(&mut waiting(&path), Duration::ZERO).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(ERROR_SHARING_VIOLATION));
    let closer = Closer::builder().policy(Policy::Always).build();
    closer.scope(|scope| scope.group("bin").close(writer, path.clone()).is_inline()).unwrap();
    let (child, retried) = spawn_retrying(&mut waiting(&path), LONG).unwrap();
    assert_eq!(retried.failures, 0, "its close was not deferred");
    end(child);
}

#[test]
fn a_running_program_cannot_be_written_deleted_or_replaced_but_renamed_away() {
    let dir = tempfile::tempdir().unwrap();
    let (path, new) = (program(dir.path()), dir.path().join("new.exe"));
    fs::write(&new, "new").unwrap();
    let child = waiting(&path).spawn().unwrap();
    assert!(refused(OpenOptions::new().write(true).open(&path)));
    assert!(refused(fs::remove_file(&path)));
    assert!(refused(rename_retrying(&new, &path, Duration::from_millis(20))));
    fs::rename(&path, dir.path().join("tool.old.exe")).unwrap();
    rename_retrying(&new, &path, Duration::ZERO).unwrap();
    end(child);
}

#[test]
fn names_of_programs_and_libraries_are_closed_inline_whatever_their_case() {
    let dir = tempfile::tempdir().unwrap();
    let closer = eager(1).build();
    closer
        .scope(|scope| {
            let group = scope.group("g");
            for name in ["a.exe", "b.DLL", "c.Pyd", "d.bat", "e.cmd", "f.com"] {
                let path = dir.path().join(name);
                assert!(group.close(unshared(&path), path.clone()).is_inline(), "{name}");
                File::open(&path).unwrap();
            }
            let path = dir.path().join("exe.txt");
            assert!(!group.close(unshared(&path), path.clone()).is_inline());
        })
        .unwrap();
    assert_eq!(closer.stats().inline_executable, 6);
}

#[test]
fn what_windows_cannot_do_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    let writers = wait_for_no_writers(&path, Duration::ZERO).unwrap_err();
    assert_eq!(writers.kind(), io::ErrorKind::Unsupported);
    let sync = FileSystem::of(dir.path()).unwrap().sync().unwrap_err();
    assert_eq!(sync.kind(), io::ErrorKind::Unsupported);
}
