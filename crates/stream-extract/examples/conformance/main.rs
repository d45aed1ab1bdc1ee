//! Prints what this crate says to every archive in the given folders, and checks what it extracts.
//!
//! ```text
//! cargo run --release -p stream-extract --all-features --example conformance -- [--verbose] [--corpora] [FOLDER...]
//! ```
//!
//! Columns: read as a stream and as a seekable file under the portable policy, and as a stream under
//! that of the Python package index. What the first column accepts is also extracted into a folder of
//! its own, where nothing may appear beside the target, and inside it only files and folders without
//! set-id bits. `--corpora` adds the archives that published crates carry for their tests.
//! The status is 1 when a stream and a file disagree or an extraction left something it must not.
#![expect(clippy::print_stdout, reason = "a program for people")]

mod corpora;
mod inspect;
mod judge;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::Verdict;
use stream_extract::Scratch;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (flags, folders): (Vec<_>, Vec<_>) = std::env::args_os()
        .skip(1)
        .partition(|argument| argument == "--verbose" || argument == "--corpora");
    let mut files = Vec::new();
    for folder in folders {
        collect(Path::new(&folder), &mut files)?;
    }
    if flags.iter().any(|flag| flag == "--corpora") {
        for folder in corpora::fetch()? {
            collect(&folder, &mut files)?;
        }
    }
    files.sort();
    let verbose = flags.iter().any(|flag| flag == "--verbose");
    let faults = judge_all(&files, verbose)?;
    Ok(if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Adds the archives below `path`.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if judge::is_archive(path) {
        files.push(path.to_path_buf());
    }
    Ok(())
}

fn judge_all(files: &[PathBuf], verbose: bool) -> Result<usize, Box<dyn Error>> {
    println!("{:<10} {:<10} {:<10} archive", "stream", "seek", "pypi");
    let mut scratch = Scratch::new();
    let (mut accepted, mut faults) = ([0; 3], 0);
    for file in files {
        let bytes = fs::read(file)?;
        let verdicts = judge::all(&bytes, file, &mut scratch);
        print_row(file, &verdicts, verbose);
        for (count, verdict) in accepted.iter_mut().zip(&verdicts) {
            *count += usize::from(verdict.is_ok());
        }
        let problems = [judge::disagreement(&verdicts), inspect::extract(&bytes, file)?];
        for problem in problems.into_iter().flatten() {
            println!("    FAULT: {problem}");
            faults += 1;
        }
    }
    let [stream, seek, pypi] = accepted;
    println!("{stream:<10} {seek:<10} {pypi:<10} accepted of {}", files.len());
    println!("{faults} faults; peak memory {}", inspect::peak_memory());
    Ok(faults)
}

fn print_row(file: &Path, verdicts: &[Verdict], verbose: bool) {
    for column in 0..3 {
        print!("{:<10} ", verdicts.get(column).map_or("-", judge::word));
    }
    println!("{}", file.display());
    for error in verdicts.iter().filter_map(|verdict| verdict.as_ref().err()) {
        if verbose {
            println!("    {error}");
        }
    }
}
