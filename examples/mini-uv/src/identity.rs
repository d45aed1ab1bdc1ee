//! Bytes that change when a file changes: device, inode, size and modification time.
//!
//! A cache key that costs one `stat`. It is a promise of the file system, not of the content; where
//! the content matters it is hashed.

use std::fs::Metadata;
use std::path::Path;

/// The identity of the file that `path` leads to.
pub(crate) fn of(path: &Path) -> std::io::Result<Vec<u8>> {
    Ok(bytes(&fs_err::metadata(path)?))
}

fn bytes(metadata: &Metadata) -> Vec<u8> {
    let modified = metadata.modified().ok();
    let since_epoch = modified.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let nanoseconds = since_epoch.map_or(0, |elapsed| elapsed.as_nanos());
    let mut bytes = nanoseconds.to_le_bytes().to_vec();
    bytes.extend(metadata.len().to_le_bytes());
    bytes.extend(place(metadata));
    bytes
}

#[cfg(unix)]
fn place(metadata: &Metadata) -> Vec<u8> {
    use std::os::unix::fs::MetadataExt;
    [metadata.dev(), metadata.ino()].iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[cfg(not(unix))]
fn place(_: &Metadata) -> Vec<u8> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_another_identity() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "one").unwrap();
        let before = of(&path).unwrap();
        assert_eq!(before, of(&path).unwrap());
        std::fs::write(dir.path().join("b"), "longer").unwrap();
        std::fs::rename(dir.path().join("b"), &path).unwrap();
        assert_ne!(before, of(&path).unwrap());
    }
}
