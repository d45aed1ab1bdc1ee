//! Platforms without a shell: the folder is deleted when its owner is dropped, so a kill leaves it.

use std::path::{Path, PathBuf};

use fs_err as fs;

use crate::error::Result;

#[derive(Debug)]
pub(super) struct Guard {
    root: PathBuf,
}

impl Guard {
    #[expect(clippy::unnecessary_wraps, reason = "same signature as on Unix")]
    pub(super) fn start(root: &Path) -> Result<Self> {
        Ok(Self { root: root.to_path_buf() })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.root));
    }
}
