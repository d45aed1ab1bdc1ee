#![doc = include_str!("../README.md")]

mod beside;
mod digest;
mod entry;
mod error;
mod extractor;
mod input;
mod job;
mod limits;
mod names;
mod parallel;
mod partial;
mod path;
mod policy;
mod read_at;
mod scratch;
mod sink;
mod slots;
mod tar;
mod zip;

pub use entry::{Done, Entry, EntryId, Link, Progress, Report, Summary};
pub use error::{Error, Result};
pub use extractor::Extractor;
pub use limits::Limits;
pub use partial::{Partial, Tee};
pub use policy::Policy;
pub use read_at::ReadAt;
pub use scratch::Scratch;
pub use sink::{
    Closer, DirectoryFile, DirectorySink, DirectoryWorker, ParallelSink, Sink, SinkError,
    VerifySink,
};
