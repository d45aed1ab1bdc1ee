//! Prints what this crate says to every archive in the given folders.
//!
//! ```text
//! cargo run --release -p stream-extract --example conformance -- [--verbose] FOLDER...
//! ```
//!
//! Columns: read as a stream and as a seekable file under the portable policy, and as a stream under
//! that of the Python package index. Nothing is written.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use stream_extract::{Extractor, Policy, Report, Result, Scratch, VerifySink};

type Verdict = Result<Report<()>>;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let (flags, folders): (Vec<_>, Vec<_>) =
        std::env::args_os().skip(1).partition(|argument| argument == "--verbose");
    let mut files = Vec::new();
    for folder in folders {
        collect(Path::new(&folder), &mut files)?;
    }
    files.sort();
    println!("{:<10} {:<10} {:<10} archive", "stream", "seek", "pypi");
    let mut scratch = Scratch::new();
    for file in &files {
        print_row(file, &judge(&fs::read(file)?, file, &mut scratch), !flags.is_empty());
    }
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_path_buf());
    }
    Ok(())
}

/// The columns of one archive.
fn judge(bytes: &[u8], path: &Path, scratch: &mut Scratch) -> Vec<Verdict> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if [".tgz", ".crate", ".tar.gz"].iter().any(|end| name.ends_with(end)) {
        return vec![Extractor::new().tar_gz(bytes, scratch, VerifySink::new())];
    }
    if path.extension() == Some(OsStr::new("tar")) {
        return vec![Extractor::new().tar(bytes, scratch, VerifySink::new())];
    }
    let pypi = Extractor::new().policy(Policy::pypi());
    vec![
        Extractor::new().zip_stream(bytes, scratch, VerifySink::new()),
        Extractor::new().zip_seek(Cursor::new(bytes), scratch, VerifySink::new()),
        pypi.zip_stream(bytes, scratch, VerifySink::new()),
    ]
}

fn print_row(file: &Path, verdicts: &[Verdict], verbose: bool) {
    for column in 0..3 {
        print!("{:<10} ", verdicts.get(column).map_or("-", word));
    }
    println!("{}", file.display());
    if verbose {
        verdicts
            .iter()
            .filter_map(|verdict| verdict.as_ref().err())
            .for_each(|e| println!("    {e}"));
    }
}

fn word(verdict: &Verdict) -> &'static str {
    let Err(error) = verdict else { return "accept" };
    let classes = [
        (error.is_truncated(), "truncated"),
        (error.is_corrupt(), "corrupt"),
        (error.is_unsafe_path(), "unsafe"),
        (error.is_conflict(), "conflict"),
        (error.is_unsupported(), "unsupp."),
        (error.is_refused(), "refused"),
        (error.is_limit(), "limit"),
        (error.is_needs_seek(), "needs-seek"),
    ];
    classes.iter().find(|(is, _)| *is).map_or("error", |(_, word)| word)
}
