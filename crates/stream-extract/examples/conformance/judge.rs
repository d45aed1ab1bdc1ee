//! What the crate says to one archive.

use std::ffi::OsStr;
use std::io::Cursor;
use std::path::Path;

use stream_extract::{Extractor, Policy, Report, Result, Scratch, Sink, VerifySink};

pub(crate) type Verdict = Result<Report<()>>;

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

/// Reads an archive into `sink` as a stream, by the kind that its name tells.
pub(crate) fn stream<S: Sink>(
    extractor: Extractor<'_>,
    bytes: &[u8],
    path: &Path,
    scratch: &mut Scratch,
    sink: S,
) -> Result<Report<S::Committed>> {
    let name = name(path);
    if ends(&name, &GZIPPED_TARS) {
        extractor.tar_gz(bytes, scratch, sink)
    } else if ends(&name, &PLAIN_TARS) {
        extractor.tar(bytes, scratch, sink)
    } else {
        extractor.zip_stream(bytes, scratch, sink)
    }
}

/// The columns of one archive.
pub(crate) fn all(bytes: &[u8], path: &Path, scratch: &mut Scratch) -> Vec<Verdict> {
    let mut verdicts = vec![stream(Extractor::new(), bytes, path, scratch, VerifySink::new())];
    if ends(&name(path), &ZIPS) {
        let seek = Extractor::new().zip_seek(Cursor::new(bytes), scratch, VerifySink::new());
        let pypi = Extractor::new().policy(Policy::pypi());
        verdicts.push(seek);
        verdicts.push(pypi.zip_stream(bytes, scratch, VerifySink::new()));
    }
    verdicts
}

/// A stream and a file may disagree in one way only.
pub(crate) fn disagreement(verdicts: &[Verdict]) -> Option<String> {
    match verdicts {
        [Ok(_), Err(error), ..] => Some(format!("only the file is refused: {error}")),
        [Err(error), Ok(_), ..] if !error.is_needs_seek() => {
            Some(format!("only the stream is refused: {error}"))
        }
        _ => None,
    }
}

pub(crate) fn word(verdict: &Verdict) -> &'static str {
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
