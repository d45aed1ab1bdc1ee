//! One process at a time per environment, and per wheel that is being unpacked.
//!
//! An advisory lock on a file that stays: removing a lock file races with its next taker. The kernel
//! drops the lock when its holder dies, so a crash leaves nothing to clean up.

use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::Context;

use crate::ui::Ui;

/// Held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock at `path`, saying so when someone else has it.
    pub(crate) fn acquire(path: &Path, ui: Ui, what: &str) -> anyhow::Result<Self> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                ui.status(format!("Waiting for another process that uses {what}"));
                file.lock().with_context(|| format!("failed to lock `{}`", path.display()))?;
            }
            // Without locks (some network file systems), installing alone is still right.
            Err(TryLockError::Error(error)) => {
                ui.warn(format!("cannot lock `{}`: {error}", path.display()));
            }
        }
        Ok(Self { _file: file })
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    let file = fs_err::OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    Ok(file.into_parts().0)
}
