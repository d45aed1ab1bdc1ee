//! Asks the kernel whether anybody, in any process, has a file open for writing.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::retry::Clock;
use crate::sys;

const POLL: Duration = Duration::from_micros(200);

/// Waits until no process has `path` open for writing; false when `budget` is spent before.
///
/// For a program that children of *other* libraries may have inherited, which no lock of this process
/// can know. Between the answer and the start a new writer may come; hold [`SpawnLock`](crate::SpawnLock)
/// or own the file.
///
/// # Errors
///
/// `ErrorKind::Unsupported` where the kernel cannot say: anywhere but on Linux, and on file systems
/// without leases (most network and FUSE ones): use [`spawn_retrying`](crate::spawn_retrying) there.
/// `PermissionDenied` for files of other users. Errors of opening `path` for reading.
///
/// # References
///
/// fcntl(2) `F_SETLEASE`: a read lease is granted only while there is no writer.
pub fn wait_for_no_writers(path: impl AsRef<Path>, budget: Duration) -> io::Result<bool> {
    let file = File::open(path)?;
    let mut clock = Clock::start(budget);
    loop {
        if !sys::has_writers(&file)? {
            return Ok(true);
        }
        if !clock.pause(POLL) {
            return Ok(false);
        }
    }
}
