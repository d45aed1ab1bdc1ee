#![doc = include_str!("../README.md")]

mod digest;
mod entry;
mod error;
mod extractor;
mod input;
mod job;
mod limits;
mod names;
mod path;
mod policy;
mod scratch;
mod sink;
mod tar;
mod zip;

pub use entry::{Done, Entry, EntryId, Progress, Report, Summary};
pub use error::{Error, Result};
pub use extractor::Extractor;
pub use limits::Limits;
pub use policy::Policy;
pub use scratch::Scratch;
pub use sink::{DirectorySink, Sink, SinkError, VerifySink};
