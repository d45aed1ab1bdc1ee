//! Prints what this crate says to every archive in the given folders, and checks what it extracts.
//!
//! ```text
//! cargo run --release -p stream-extract --all-features --example conformance -- [--verbose] [--corpora] [FOLDER...]
//! ```
//!
//! Columns: read as a stream and as a seekable file under the portable policy, as a stream under that
//! of the Python package index, and, as an oracle, by the `zip` crate. `--corpora` adds the archives that published crates and Debian
//! packages carry for their tests.
//!
//! Each archive is judged by a process of its own in a jail: an empty folder, without privileges (as
//! root it becomes `nobody`), with a time limit. What the first column accepts is also extracted there.
//! A fault is: a panic or a hang; more memory than [`jail::MEMORY_KIB_MAX`]; a stream and a file that
//! disagree; anything beside the target; anything inside it but files and folders without set-id bits;
//! and, for archives in a folder called `accept` or `reject`, another verdict than the package index's.
//! The status is 1 when there is a fault.
#![expect(clippy::print_stdout, reason = "a program for people")]

mod corpora;
mod inspect;
mod jail;
mod judge;
mod verdict;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jail::Jail;
use verdict::Verdict;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [one, archive] = &arguments[..]
        && one == jail::ONE
    {
        judge::run(Path::new(archive))?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_flag = |argument: &_| argument == "--verbose" || argument == "--corpora";
    let (flags, folders): (Vec<_>, Vec<_>) = arguments.into_iter().partition(is_flag);
    let mut files = Vec::new();
    for folder in folders {
        collect(Path::new(&folder), &mut files)?;
    }
    if flags.iter().any(|flag| flag == "--corpora") {
        let kept = corpora::fetch(|folder| Ok(collect(folder, &mut files)?))?;
        let faults = judge_all(files, flags.iter().any(|flag| flag == "--verbose"))?;
        drop(kept);
        return Ok(exit(faults));
    }
    Ok(exit(judge_all(files, flags.iter().any(|flag| flag == "--verbose"))?))
}

fn exit(faults: usize) -> ExitCode {
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Adds the archives below `path`.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.is_file() && judge::is_archive(path) {
        files.push(path.to_path_buf());
    }
    Ok(())
}

fn judge_all(mut files: Vec<PathBuf>, verbose: bool) -> Result<usize, Box<dyn Error>> {
    files.sort();
    let jail = Jail::make()?;
    println!("{:<10} {:<10} {:<10} {:<10} archive", "stream", "seek", "pypi", "zip crate");
    let (mut accepted, mut faults, mut peak) = ([0; 4], 0, 0);
    for file in &files {
        let verdict = jail.judge(file)?;
        print_row(file, &verdict, verbose);
        for (count, word) in accepted.iter_mut().zip(&verdict.words) {
            *count += usize::from(word == verdict::ACCEPT);
        }
        let faulty = verdict.faults.iter().cloned().chain(verdict.against_the_index(file));
        for fault in faulty {
            println!("    FAULT: {fault}");
            faults += 1;
        }
        peak = peak.max(verdict.memory_kib);
    }
    for path in jail.escaped()? {
        println!("    FAULT: {} was left by nobody", path.display());
        faults += 1;
    }
    let [stream, seek, pypi, oracle] = accepted;
    println!("{stream:<10} {seek:<10} {pypi:<10} {oracle:<10} accepted of {}", files.len());
    println!("{faults} faults; {}; peak memory of one archive {peak} KiB", jail.whose());
    Ok(faults)
}

fn print_row(file: &Path, verdict: &Verdict, verbose: bool) {
    for column in 0..4 {
        print!("{:<10} ", verdict.words.get(column).map_or("-", String::as_str));
    }
    println!("{}", file.display());
    for error in verdict.errors.iter().filter(|_| verbose) {
        println!("    {error}");
    }
}
