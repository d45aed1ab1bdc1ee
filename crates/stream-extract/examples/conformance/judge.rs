//! What the crate says to one archive; runs inside the jail.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::Path;

use stream_extract::{
    DirectorySink, Error, Extractor, Policy, Report, Result, Scratch, Sink, VerifySink,
};

use crate::inspect;
use crate::verdict::{ACCEPT, Verdict};

/// Of one entry, when the oracle reads it.
const ORACLE_BYTES: u64 = 1 << 30;

const ZIPS: [&str; 3] = [".zip", ".whl", ".jar"];
const PLAIN_TARS: [&str; 1] = [".tar"];
const GZIPPED_TARS: [&str; 3] = [".tgz", ".crate", ".tar.gz"];

pub(crate) fn is_archive(path: &Path) -> bool {
    let name = name(path);
    ends(&name, &ZIPS) || ends(&name, &GZIPPED_TARS) || ends(&name, &PLAIN_TARS)
}

fn name(path: &Path) -> String {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_lowercase()
}

fn ends(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|end| name.ends_with(end))
}

/// Judges an archive, extracts it into the current folder, and prints the verdict.
#[expect(clippy::print_stdout, reason = "the jailer reads it")]
pub(crate) fn run(archive: &Path) -> io::Result<()> {
    let results = all(archive, &mut Scratch::new())?;
    let faults = [disagreement(&results), extract(archive)?];
    let memory_kib = inspect::peak_memory_kib(); // Ours; the oracle comes after it.
    let mut words: Vec<_> = results.iter().map(|result| word(result).to_owned()).collect();
    if ends(&name(archive), &ZIPS) {
        words.push(oracle(archive).to_owned());
    }
    let verdict = Verdict {
        words,
        errors: results.iter().filter_map(|r| Some(r.as_ref().err()?.to_string())).collect(),
        faults: faults.into_iter().flatten().collect(),
        memory_kib,
    };
    print!("{}", verdict.to_lines());
    Ok(())
}

fn open(archive: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(64 << 10, File::open(archive)?))
}

/// Reads an archive into `sink` as a stream, by the kind that its name tells.
fn stream<S: Sink>(
    extractor: Extractor<'_>,
    archive: &Path,
    scratch: &mut Scratch,
    sink: S,
) -> io::Result<Result<Report<S::Committed>>> {
    let (name, reader) = (name(archive), open(archive)?);
    Ok(if ends(&name, &GZIPPED_TARS) {
        extractor.tar_gz(reader, scratch, sink)
    } else if ends(&name, &PLAIN_TARS) {
        extractor.tar(reader, scratch, sink)
    } else {
        extractor.zip_stream(reader, scratch, sink)
    })
}

/// The columns of one archive.
fn all(archive: &Path, scratch: &mut Scratch) -> io::Result<Vec<Result<Report<()>>>> {
    let mut results = vec![stream(Extractor::new(), archive, scratch, VerifySink::new())?];
    if ends(&name(archive), &ZIPS) {
        results.push(Extractor::new().zip_seek(open(archive)?, scratch, VerifySink::new()));
        let pypi = Extractor::new().policy(Policy::pypi());
        results.push(stream(pypi, archive, scratch, VerifySink::new())?);
    }
    Ok(results)
}

/// What the `zip` crate says when every entry is read; a panic of its own is not ours.
fn oracle(archive: &Path) -> &'static str {
    let read = || -> io::Result<()> {
        let mut archive = zip::ZipArchive::new(open(archive)?).map_err(io::Error::other)?;
        for index in 0..archive.len() {
            let file = archive.by_index(index).map_err(io::Error::other)?;
            io::copy(&mut file.take(ORACLE_BYTES), &mut io::sink())?;
        }
        Ok(())
    };
    match std::panic::catch_unwind(read) {
        Ok(Ok(())) => ACCEPT,
        Ok(Err(_)) => "error",
        Err(_) => "panic",
    }
}

/// A stream and a file may disagree in one way only.
fn disagreement(results: &[Result<Report<()>>]) -> Option<String> {
    match results {
        [Ok(_), Err(error), ..] => Some(format!("only the file is refused: {error}")),
        [Err(error), Ok(_), ..] if !error.is_needs_seek() => {
            Some(format!("only the stream is refused: {error}"))
        }
        _ => None,
    }
}

/// Extracts into the current folder, looks for what must not be there, and removes it again.
fn extract(archive: &Path) -> io::Result<Option<String>> {
    let target = Path::new("target");
    let sink = DirectorySink::create(target)?;
    let accepted = stream(Extractor::new(), archive, &mut Scratch::new(), sink)?.is_ok();
    let fault = inspect::forbidden_beside(target, accepted)?;
    if accepted {
        std::fs::remove_dir_all(target)?;
    }
    Ok(fault)
}

fn word<T>(result: &Result<T, Error>) -> &'static str {
    let Err(error) = result else { return ACCEPT };
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
