//! What is fetched or built once and kept: below the repository's `target`, which git ignores.

use std::path::{Path, PathBuf};

use bench_util::Error;

/// The folder `name` below `target/bench-data`, made if it is missing.
pub fn folder(name: &str) -> Result<PathBuf, Error> {
    let folder = repository().join("target").join("bench-data").join(name);
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::canonicalize(&folder)).map_err(
        |error| Error::unavailable(format!("a folder for downloads ({error})"), "make room"),
    )
}

/// The root of the repository that this program was built from.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join("..")
}
