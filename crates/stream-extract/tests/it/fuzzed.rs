//! What the fuzz targets run on any bytes; `fuzz/` includes this file, and `corpus.rs` replays it.
//!
//! Each returns whether something was accepted, so that seeds that exercise nothing are noticed.

use std::io::{Cursor, Read as _};

use stream_extract::{Extractor, Limits, Policy, Result, Scratch, VerifySink};

use crate::recorder::{Log, Recorder, Tree};

/// Small enough for many runs in a second.
fn extractor() -> Extractor<'static> {
    let limits = Limits::default().total_bytes(1 << 20).entries(1000).decoder_bytes(1 << 20);
    Extractor::new().limits(limits).policy(Policy::portable().links(true))
}

fn streamed(data: &[u8]) -> Result<Tree> {
    let log = Log::default();
    let recorder = Recorder { log: &log };
    Ok(extractor().zip_stream(data, &mut Scratch::new(), recorder)?.committed)
}

/// A stream is read or refused, as a zip and as a conda package.
pub(crate) fn zip_stream(data: &[u8]) -> bool {
    let conda = extractor().conda(data, &mut Scratch::new(), VerifySink::new());
    streamed(data).is_ok() | conda.is_ok()
}

/// A file gives what a stream gives, or both fail; and the parallel mode reads what the seekable one does.
pub(crate) fn zip_seek(data: &[u8]) -> bool {
    let log = Log::default();
    let recorder = Recorder { log: &log };
    let sought = extractor().zip_seek(Cursor::new(data), &mut Scratch::new(), recorder);
    let parallel = extractor().zip_parallel(data, &mut [Scratch::new()], VerifySink::new());
    match (&sought, &parallel) {
        (Ok(seek), Ok(parallel)) => assert_eq!(seek.summary, parallel.summary),
        (Err(_), Err(_)) => {}
        differ => panic!("one mode reads what the other refuses: {differ:?}"),
    }
    let accepted = sought.is_ok();
    match (streamed(data), sought) {
        (Ok(stream), Ok(seek)) => assert_eq!(stream, seek.committed),
        (Err(stream), Ok(_)) => assert!(stream.is_needs_seek(), "{stream}"),
        (Ok(_), Err(seek)) => panic!("only the seekable mode fails: {seek}"),
        (Err(_), Err(_)) => {}
    }
    accepted
}

/// A tar is read or refused, in every container.
pub(crate) fn tar(data: &[u8]) -> bool {
    let mut scratch = Scratch::new();
    extractor().tar(data, &mut scratch, VerifySink::new()).is_ok()
        | extractor().tar_gz(data, &mut scratch, VerifySink::new()).is_ok()
        | extractor().tar_zst(data, &mut scratch, VerifySink::new()).is_ok()
        | extractor().tar_xz(data, &mut scratch, VerifySink::new()).is_ok()
}

/// What we accept, the `zip` crate reads with the same content.
pub(crate) fn zip_differential(data: &[u8]) -> bool {
    let Ok(tree) = streamed(data) else { return false };
    let mut theirs = zip::ZipArchive::new(Cursor::new(data)).expect("the zip crate opens it");
    for (path, (content, _)) in tree {
        let Some(content) = content else { continue };
        let index = (0..theirs.len()).find(|&index| normal_name(&mut theirs, index) == path);
        let mut file = theirs.by_index(index.expect("the zip crate lists it")).expect("it opens");
        let mut found = Vec::new();
        file.read_to_end(&mut found).expect("the zip crate reads it");
        assert_eq!(found, content, "{path}");
    }
    true
}

/// The name without `.` and empty components, as our sinks see it.
fn normal_name(archive: &mut zip::ZipArchive<Cursor<&[u8]>>, index: usize) -> String {
    let file = archive.by_index_raw(index).expect("it is listed");
    let name = String::from_utf8_lossy(file.name_raw()).into_owned();
    let parts = name.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}
