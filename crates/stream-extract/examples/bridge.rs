//! For async programs: bytes arrive somewhere else, and extraction runs on a thread of its own.
//!
//! ```text
//! cargo run -p stream-extract --example bridge
//! ```
//!
//! The downloading side sends pieces into a bounded channel, so that it waits when the disk is slow. A
//! failed download is sent as an `Err`: then the extraction fails with that error, and not with the
//! truncation that it causes. Dropping the sender too early is a truncation. With tokio, call the
//! function `extract` inside `spawn_blocking`, and send with `blocking_send`'s async counterpart.
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use stream_extract::{DirectorySink, Extractor, Report, Scratch};

type Piece = io::Result<Vec<u8>>;

/// Pieces that may wait: 16 of 16 KiB are as much as uv's pipe holds.
const PIECES: usize = 16;

/// Reads the pieces in order.
struct Pieces {
    incoming: Receiver<Piece>,
    current: io::Cursor<Vec<u8>>,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.current.read(out)?;
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            match self.incoming.recv() {
                Ok(piece) => self.current = io::Cursor::new(piece?),
                Err(_) => return Ok(0), // The sender is gone: the end, or a truncation.
            }
        }
    }
}

fn extract(
    incoming: Receiver<Piece>,
    sink: DirectorySink<'_>,
) -> stream_extract::Result<Report<std::path::PathBuf>> {
    let reader = Pieces { incoming, current: io::Cursor::default() };
    Extractor::new().zip_stream(
        BufReader::with_capacity(64 << 10, reader),
        &mut Scratch::new(),
        sink,
    )
}

/// Stands for an async download.
fn download(archive: &[u8], outgoing: &SyncSender<Piece>, breaks_at: Option<usize>) {
    let end = breaks_at.unwrap_or(archive.len());
    for piece in archive[..end].chunks(1000) {
        if outgoing.send(Ok(piece.to_vec())).is_err() {
            return; // The extraction failed and says why.
        }
    }
    if breaks_at.is_some() {
        outgoing.send(Err(io::ErrorKind::ConnectionReset.into())).ok();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let archive = archive()?;
    let folder = tempfile::tempdir()?;
    for (name, breaks_at) in [("broken", Some(700)), ("whole", None)] {
        let sink = DirectorySink::create(folder.path().join(name))?;
        let (outgoing, incoming) = sync_channel(PIECES);
        let result = thread::scope(|scope| {
            let extraction = scope.spawn(|| extract(incoming, sink));
            download(&archive, &outgoing, breaks_at);
            drop(outgoing);
            extraction.join()
        });
        match result {
            Ok(Ok(report)) => println!("{name}: {} files", report.summary.files),
            Ok(Err(error)) => println!("{name}: {error}"),
            Err(_) => println!("{name}: the extraction panicked"),
        }
    }
    Ok(())
}

fn archive() -> Result<Vec<u8>, Box<dyn Error>> {
    use std::io::Write as _;
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for number in 0..20 {
        writer.start_file(format!("file-{number}"), zip::write::SimpleFileOptions::default())?;
        writer.write_all(format!("content of {number}\n").repeat(30).as_bytes())?;
    }
    Ok(writer.finish()?.into_inner())
}
