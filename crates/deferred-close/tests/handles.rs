//! Handles as a scarce resource of the process; alone in its process, one test after the other.
#![cfg(all(target_os = "linux", not(any(loom, shuttle))))]
#![expect(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]
#![expect(unsafe_code, reason = "closes a descriptor behind its owner's back, to see what happens")]

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use deferred_close::{Closer, Finish, Policy, Threads, close_inline};
use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use slowfs::{Close, SlowFs};

static ALONE: Mutex<()> = Mutex::new(());

/// Ends when the test says so.
struct Stuck(mpsc::Receiver<()>);

impl Finish for Stuck {
    fn finish(self) -> io::Result<()> {
        self.0.recv().map_err(io::Error::other)
    }
}

#[test]
fn two_thousand_files_behind_a_stuck_worker_at_nofile_256_never_run_out_of_handles() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let mounted = SlowFs::mount(dir.path(), Close::waits(Duration::from_micros(200)), 4).unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
    let closer = Closer::builder().policy(Policy::Always).threads(Threads::Fixed(1)).build();
    let (release, stuck) = mpsc::channel();
    let opened = closer.scope(|scope| {
        let group = scope.group("g");
        group.close(Stuck(stuck), "stuck");
        let opened = (0..2000).try_for_each(|number| {
            let path = mounted.path().join(number.to_string());
            let file = File::create(&path)?;
            group.close(file, path);
            Ok::<(), io::Error>(())
        });
        release.send(()).unwrap();
        opened
    });
    setrlimit(Resource::Nofile, before).unwrap();
    opened.unwrap().unwrap();
    let stats = closer.stats();
    assert_eq!(stats.pending_max, 64, "a quarter of the limit");
    assert_eq!(stats.inline_full, 2000 - 63);
    assert_eq!(mounted.closes().0, 2000);
}

#[test]
fn a_file_that_was_closed_elsewhere_is_an_error_with_its_path() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let broken = || {
        let file = File::create(dir.path().join("f")).unwrap();
        // SAFETY: nothing else in this process opens files meanwhile (`ALONE`).
        unsafe { libc::close(file.as_raw_fd()) };
        file
    };
    assert_eq!(close_inline(broken()).unwrap_err().raw_os_error(), Some(libc::EBADF));
    for policy in [Policy::Always, Policy::Never] {
        let closer = Closer::builder().policy(policy).build();
        let errors = closer.scope(|scope| {
            scope.group("g").close(broken(), "twice");
        });
        let errors = errors.unwrap_err();
        assert_eq!(errors.first().path(), "twice");
        assert_eq!(errors.first().io_error().raw_os_error(), Some(libc::EBADF));
    }
}

/// Why `Finish` says never to hand over a lock file, nor another handle of one.
#[test]
fn closing_any_handle_of_a_file_silently_drops_the_posix_locks_taken_on_another() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let locked = File::create(&path).unwrap();
    fcntl_lock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(is_locked(&locked), "taken on the first handle");
    let other = File::open(&path).unwrap();
    let closer = Closer::builder().policy(Policy::Always).build();
    closer.scope(|scope| scope.group("g").close(other, path).is_inline()).unwrap();
    assert!(!is_locked(&locked), "and lost by closing the second");
}

fn is_locked(file: &File) -> bool {
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    let process = format!(" {} ", std::process::id());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks
        .lines()
        .any(|lock| lock.contains("POSIX") && lock.contains(&process) && lock.contains(&inode))
}
