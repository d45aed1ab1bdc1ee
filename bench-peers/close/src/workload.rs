//! What is written: many small files, some per folder, as a package has them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::contenders::{Contender, create};

/// rust-docs, the package that made rustup defer closes, has some 16,000 files.
pub const FILES: usize = 16_000;
/// Files that are open at once where the closes are not to count.
pub const OPEN_AT_ONCE: usize = 100;
const PER_FOLDER: usize = 160;
pub const CONTENT: &[u8] = &[b'x'; 4096];

/// Makes the folders, which is not measured, and names the files.
pub fn prepare(top: &Path, files: usize) -> io::Result<Vec<PathBuf>> {
    for folder in 0..files.div_ceil(PER_FOLDER) {
        fs::create_dir(top.join(folder.to_string()))?;
    }
    let name = |file: usize| top.join((file / PER_FOLDER).to_string()).join(file.to_string());
    Ok((0..files).map(name).collect())
}

/// Writes and closes all of `paths`; `work` is computed before each, as inflating would be.
pub fn write_all(
    paths: &[PathBuf],
    work: Duration,
    mut contender: Box<dyn Contender + '_>,
) -> io::Result<usize> {
    for path in paths {
        compute(work);
        contender.write(path)?;
    }
    Ok(contender.end())
}

/// Creates and fills all of `paths`, and closes none.
pub fn create_all(paths: &[PathBuf], work: Duration) -> io::Result<Vec<File>> {
    let create = |path: &PathBuf| {
        compute(work);
        create(path)
    };
    paths.iter().map(create).collect()
}

fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
