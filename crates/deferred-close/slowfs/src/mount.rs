//! Mounting, turning the dial, unmounting.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use fuser::{BackgroundSession, Config, MountOption, SessionACL};

use crate::Close;
use crate::delay::Delay;
use crate::requests::Requests;

/// What the server threads and the owner of the mount share.
pub(crate) struct Dial {
    close: Mutex<Close>,
    closes: AtomicU64,
    failures: AtomicU64,
}

impl Dial {
    /// Counts a close; returns how it behaves and the code it fails with.
    pub(crate) fn closing(&self) -> (Close, Option<i32>) {
        let close = *self.close.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.closes.fetch_add(1, Relaxed) + 1;
        let fails = close.fails_every > 0 && number.is_multiple_of(close.fails_every);
        self.failures.fetch_add(u64::from(fails), Relaxed);
        (close, fails.then_some(close.code))
    }
}

/// A mounted file system; unmounted when dropped.
pub struct SlowFs {
    path: PathBuf,
    dial: Arc<Dial>,
    session: Option<BackgroundSession>,
}

impl SlowFs {
    /// Mounts on the existing folder `path`, served by `threads` threads of this process.
    ///
    /// # Errors
    ///
    /// When `/dev/fuse` is missing or may not be used. The text says so.
    pub fn mount(path: impl Into<PathBuf>, close: Close, threads: usize) -> io::Result<Self> {
        let path = path.into();
        let dial = Arc::new(Dial {
            close: Mutex::new(close),
            closes: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        });
        let requests = Requests::new(Arc::clone(&dial), Delay::start()?);
        let session = fuser::spawn_mount(requests, &path, &config(threads)).map_err(|error| {
            let text = format!("cannot mount a FUSE file system (needs root, /dev/fuse): {error}");
            io::Error::new(error.kind(), text)
        })?;
        Ok(Self { path, dial, session: Some(session) })
    }

    /// The folder that it is mounted on.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes how closing behaves from now on.
    pub fn set(&self, close: Close) {
        *self.dial.close.lock().unwrap_or_else(PoisonError::into_inner) = close;
    }

    /// How many closes were asked for, and how many of them failed.
    pub fn closes(&self) -> (u64, u64) {
        (self.dial.closes.load(Relaxed), self.dial.failures.load(Relaxed))
    }
}

fn config(threads: usize) -> Config {
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("slowfs".into()), MountOption::DefaultPermissions];
    config.acl = SessionACL::Owner;
    config.n_threads = Some(threads);
    config.clone_fd = threads > 1;
    config
}

impl Drop for SlowFs {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            let _unmounted_elsewhere = session.umount_and_join();
        }
    }
}

impl fmt::Debug for SlowFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlowFs").field("path", &self.path).finish_non_exhaustive()
    }
}
