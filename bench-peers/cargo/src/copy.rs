//! Copies a tree, leaving out what a build made.

use std::fs;
use std::io;
use std::path::Path;

/// Copies `from` to `to`, which need not exist.
pub(crate) fn tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if !["target", ".git"].iter().any(|name| entry.file_name() == **name) {
                tree(&entry.path(), &target)?;
            }
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
