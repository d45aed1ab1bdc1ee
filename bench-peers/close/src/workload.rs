//! What is written: many small files, some per folder, as a package has them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::contenders::Contender;

/// rust-docs, the package that made rustup defer closes, has some 16,000 files.
pub const FILES: usize = 16_000;
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

fn compute(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}
