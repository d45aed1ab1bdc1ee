//! Paired benchmarks whose numbers can be believed and repeated.
//!
//! ```
//! use bench_util::{Paired, Report};
//!
//! let words: Vec<String> = (0..5_000).map(|n| format!("word {n}")).collect();
//! let comparison = Paired::new("join 5,000 words")
//!     .rounds(8)
//!     .reference("push one by one", || words.iter().fold(String::new(), |all, word| all + word))
//!     .case("concat", || words.concat())
//!     .goal(3.0) // at most 3 times the reference
//!     .run()?;
//!
//! let mut report = Report::new("join", "Is `concat` worth it?");
//! report.add(comparison);
//! let table = report.to_markdown();
//! assert!(table.contains("| concat | push one by one"));
//! assert!(table.contains("8 rounds of all cases in shuffled order"));
//! // For the program's end: 0 if the goal is met beyond doubt, 1 if it is missed, else 2.
//! assert!(report.status() <= 2);
//! # Ok::<(), bench_util::Error>(())
//! ```
//!
//! # When to use, when not
//!
//! For work that touches files, processes or threads and takes from some microseconds to minutes,
//! on machines that are not quiet. For nanoseconds of pure computation take criterion or divan; for
//! load-proof counts of instructions take callgrind.
//!
//! # What is guaranteed
//!
//! * Every case runs once per round, in a seeded random order; only ratios within a round count.
//! * A verdict rests on the bounds of a 95 % interval; "no difference shown" is a result.
//! * What prepares and removes is outside the time, and folders are deleted at the very end
//!   ([`Workdir`]), in every kind of death of the process.
//! * A seed means the same orders, data and bootstrap in every later release ([`Rng`]).
//! * A report holds each raw round, and no host name or absolute path.
//!
//! Page cache, loop mounts, `strace` and the load average are Linux only; elsewhere they are
//! missing with a reason, and wall time still works.
//!
//! # Features
//!
//! * `corpus` (default): seeded wheels, crates, indexes and trees; needs archive writers.

mod alloc;
mod comparison;
#[cfg(feature = "corpus")]
pub mod corpus;
mod disk_usage;
mod error;
mod goal;
mod meter;
pub mod page_cache;
mod paired;
mod program;
mod redact;
mod report;
mod rng;
mod settings;
mod stamp;
mod stats;
mod syscalls;
mod usage;
mod workdir;

pub use alloc::{AllocStats, CountingAlloc};
pub use comparison::{Comparison, Round, Row, Stopped};
pub use disk_usage::{DiskUsage, disk_usage};
pub use error::{Error, Result};
pub use goal::{Finding, Goal, Verdict};
pub use meter::{Meter, Metric, Sample};
pub use paired::{CaseError, Paired};
pub use program::{conclude, output_of};
pub use redact::redact;
pub use report::{Curve, Missing, Report, Table};
pub use rng::Rng;
pub use settings::Settings;
pub use stamp::Stamp;
pub use stats::{MIN_ROUNDS, Ratio};
pub use syscalls::{Syscalls, count_syscalls};
pub use usage::Usage;
pub use workdir::{Filesystem, Place, Workdir};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
