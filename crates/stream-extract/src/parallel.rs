//! Threads of one extraction: started here, joined here, on every way out.
//!
//! As many as the caller gave scratches, less the calling one. The only other thread is that of `beside`.

use std::sync::atomic::AtomicBool;
use std::thread;

use crate::entry::Summary;
use crate::error::{Class, Error, Result};
use crate::input::Input;
use crate::job::Job;
use crate::read_at::{Cursor, ReadAt};
use crate::scratch::Scratch;
use crate::sink::{ParallelSink, Sink};
use crate::zip::{self, Shared};

/// Extracts all entries; `first` runs on the calling thread before it helps the workers.
pub(crate) fn run<R: ReadAt + ?Sized, S: ParallelSink, T>(
    source: &R,
    scratches: &mut [Scratch],
    sink: &S,
    job: &Job<'_>,
    cancel: Option<&AtomicBool>,
    first: impl FnOnce() -> Result<T>,
    report: impl FnMut(u64),
) -> Result<(Summary, T)> {
    let (main, others) = scratches.split_first_mut().expect("there is at least one scratch");
    let mut cursor = Cursor::new(source).map_err(Error::read)?;
    let mut load = again(job);
    let start = zip::load(&mut cursor, &mut load, main)?;
    drop(cursor);
    zip::check_start(main, start)?;
    let table = std::mem::take(&mut main.table);
    for other in others.iter_mut() {
        other.names.share_key(&main.names);
    }
    let shared = Shared::new(source, start, &table, others.len() + 1, cancel);
    let done = thread::scope(|scope| {
        let workers: Vec<_> = others
            .iter_mut()
            .zip(1..)
            .map(|(scratch, thread)| {
                let worker = sink.worker().map_err(Error::sink);
                let job = again(job);
                let shared = &shared;
                scope.spawn(move || work(shared, thread, job, scratch, worker, |_| {}))
            })
            .collect();
        let value = first().map_err(|error| shared.fail(error)).ok();
        let worker = sink.worker().map_err(Error::sink);
        let mut summary = work(&shared, 0, again(job), main, worker, report);
        for worker in workers {
            summary = add(summary, worker.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        }
        value.map(|value| (summary, value))
    });
    let failure = shared.into_failure();
    main.table = table;
    match (failure, done) {
        (None, Some((summary, value))) => {
            let trailing_zeros = load.summary.trailing_zeros;
            Ok((Summary { trailing_zeros, ..summary }, value))
        }
        (failure, _) => Err(failure.unwrap_or_else(stopped)),
    }
}

/// The same rules, with counters of its own.
fn again<'j>(job: &Job<'j>) -> Job<'j> {
    Job { summary: Summary::default(), ..*job }
}

/// One thread's share; a failure is kept in `shared` and stops the others.
fn work<R: ReadAt + ?Sized, S: Sink<Committed = ()>>(
    shared: &Shared<'_, R>,
    thread: usize,
    mut job: Job<'_>,
    scratch: &mut Scratch,
    sink: Result<S>,
    between: impl FnMut(u64),
) -> Summary {
    let worked = sink.and_then(|mut sink| {
        let summary = zip::read_parallel(shared, thread, &mut job, scratch, &mut sink, between)?;
        sink.commit(&summary).map_err(Error::sink)?;
        Ok(summary)
    });
    worked.unwrap_or_else(|error| {
        shared.fail(error);
        Summary::default()
    })
}

fn add(a: Summary, b: Summary) -> Summary {
    Summary {
        entries: a.entries + b.entries,
        files: a.files + b.files,
        files_hashed_beside: a.files_hashed_beside + b.files_hashed_beside,
        directories: a.directories + b.directories,
        bytes: a.bytes + b.bytes,
        ..a
    }
}

#[cold]
fn stopped() -> Error {
    Error::new(Class::Cancelled, "the extraction was stopped")
}

/// The SHA-256 of all bytes.
pub(crate) fn digest<R: ReadAt + ?Sized>(
    source: &R,
    cancel: Option<&AtomicBool>,
) -> Result<[u8; 32]> {
    let mut cursor = Cursor::new(source).map_err(Error::read)?;
    let mut input = Input::new(&mut cursor);
    input.watch(true, cancel, None);
    input.drain()?;
    Ok(input.take_sha256().unwrap_or_default())
}
