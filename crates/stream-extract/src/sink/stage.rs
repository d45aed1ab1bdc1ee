//! The private folder in which a tree grows before anybody else may see it.
//!
//! ```text
//! parent/target                      appears by one rename
//! parent/.target.<random>.partial/   mode 0700: nobody else gets in
//!     tree/                          ordinary modes; becomes the target
//! ```
//!
//! Every file is made anew (`O_EXCL`), and no link exists below `tree` that this crate did not make.
//! The platform files agree on the signatures of `Tree`.

#[cfg_attr(unix, path = "stage/unix.rs")]
#[cfg_attr(not(unix), path = "stage/other.rs")]
mod tree;

use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use tree::Tree;

/// Names tried before giving up.
const ATTEMPTS: u32 = 16;

#[derive(Debug)]
pub(crate) struct Stage {
    tree: Tree,
    holder: Holder,
}

/// Removes the private folder when dropped.
#[derive(Debug)]
struct Holder {
    path: PathBuf,
}

impl Drop for Holder {
    fn drop(&mut self) {
        // There is nobody to tell; a leftover is private and named so that it can be swept.
        fs::remove_dir_all(&self.path).ok();
    }
}

impl Stage {
    pub(crate) fn beside(target: &Path) -> io::Result<Self> {
        let holder = Holder { path: make_holder(target)? };
        let tree = Tree::create(&holder.path.join("tree"))?;
        Ok(Self { tree, holder })
    }

    /// A handle of the same tree for another thread.
    pub(crate) fn share(&self) -> io::Result<Tree> {
        self.tree.share()
    }

    pub(crate) fn tree(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Renames the tree to `target`, which must not exist.
    pub(crate) fn publish(self, target: &Path) -> io::Result<()> {
        let Self { tree, holder } = self;
        drop(tree); // Windows cannot rename a folder with an open handle inside.
        tree::rename_new(&holder.path.join("tree"), target)
    }
}

fn make_holder(target: &Path) -> io::Result<PathBuf> {
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let name = target.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the target has no name of its own")
    })?;
    let mut last = None;
    for attempt in 0..ATTEMPTS {
        let path = parent.unwrap_or(Path::new(".")).join(holder_name(name, attempt));
        match tree::make_private(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

fn holder_name(name: &std::ffi::OsStr, attempt: u32) -> OsString {
    let random = RandomState::new().hash_one((std::process::id(), attempt));
    let mut holder = OsString::from(".");
    holder.push(name);
    holder.push(format!(".{random:016x}.partial"));
    holder
}
