//! Keeps "a program is open for writing" and "a child is being started" apart.
//!
//! A child that is forked while a program is open for writing inherits the handle until its own
//! `exec`; starting the program meanwhile fails with `ETXTBSY`, though its writer has long closed it.
//! `O_CLOEXEC` does not help: it works at the `exec`, not at the fork. With 4 threads that start
//! children this hit 4-5 of 300 starts; with this lock none.
//!
//! Any number of writers, or any number of spawners. A spawner waits for a moment without writers,
//! and writers do not queue behind it, because one that already holds [`Writing`] may want another.

use std::fmt;
use std::io;
use std::process::{Child, Command};
use std::sync::Arc;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Shared by all that write programs or start them; clones are the same lock.
///
/// # Examples
///
/// ```
/// use deferred_close::{Closer, SpawnLock};
/// # #[cfg(unix)]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{fs, os::unix::fs::OpenOptionsExt, process::Command};
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("true");
/// let lock = SpawnLock::new();
/// Closer::default().scope(|scope| -> std::io::Result<()> {
///     let writing = lock.writing();
///     let mut from = fs::File::open("/bin/true")?;
///     let mut to = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path)?;
///     std::io::copy(&mut from, &mut to)?;
///     scope.group("bin").close_then(to, path.clone(), move |closed| {
///         drop(writing); // Held until the real close, on whatever thread.
///         closed
///     });
///     Ok(())
/// })??;
/// assert!(lock.spawn(&mut Command::new(&path))?.wait()?.success());
/// # Ok(())
/// # }
/// # #[cfg(not(unix))]
/// # fn main() {}
/// ```
#[derive(Clone, Default)]
pub struct SpawnLock {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    held: Mutex<Held>,
    released: Condvar,
}

#[derive(Debug, Default)]
struct Held {
    writers: usize,
    spawners: usize,
}

/// A program is open for writing, until this is dropped. May go to another thread.
#[must_use = "dropping it says that the program is closed"]
pub struct Writing {
    shared: Arc<Shared>,
}

/// A child is being started, until this is dropped.
#[must_use = "dropping it says that the child runs"]
pub struct Spawning {
    shared: Arc<Shared>,
}

impl SpawnLock {
    /// Makes a lock that nobody holds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until no child is being started. Take it before the program is opened for writing.
    pub fn writing(&self) -> Writing {
        let mut held = self.shared.wait_while(|held| held.spawners > 0);
        held.writers += 1;
        Writing { shared: Arc::clone(&self.shared) }
    }

    /// Waits until no program is open for writing. Drop it when the child has been started.
    ///
    /// A thread that holds [`Writing`] and calls this waits for itself.
    pub fn spawning(&self) -> Spawning {
        let mut held = self.shared.wait_while(|held| held.writers > 0);
        held.spawners += 1;
        Spawning { shared: Arc::clone(&self.shared) }
    }

    /// Starts `command` while no program is open for writing.
    ///
    /// # Errors
    ///
    /// Those of [`Command::spawn`].
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let _spawning = self.spawning();
        command.spawn()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, blocked: impl Fn(&Held) -> bool) -> MutexGuard<'_, Held> {
        let mut held = self.lock();
        while blocked(&held) {
            held = self.released.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held
    }

    fn release(&self, change: impl FnOnce(&mut Held)) {
        change(&mut self.lock());
        self.released.notify_all();
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.shared.release(|held| held.writers -= 1);
    }
}

impl Drop for Spawning {
    fn drop(&mut self) {
        self.shared.release(|held| held.spawners -= 1);
    }
}

impl fmt::Debug for SpawnLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SpawnLock").field(&*self.shared.lock()).finish()
    }
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writing")
    }
}

impl fmt::Debug for Spawning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spawning")
    }
}
