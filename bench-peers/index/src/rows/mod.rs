//! The rows of the table: each a comparison of all stores on one piece of work.

mod cold;
mod opening;
mod reading;
mod size;
mod steady;
mod writing;

use crate::data::Dataset;
use crate::stores::Outcome;
use bench_util::{Report, Settings};
use std::hint::black_box;

type Row = fn(&Settings, &Dataset, &mut Report) -> Outcome<()>;

const ROWS: [(&str, Row); 10] = [
    ("whole", reading::whole),
    ("version", reading::one_version),
    ("process", reading::fresh_process),
    ("cold", cold::lockfile),
    ("cold-many", cold::few_of_many),
    ("fill", writing::fill),
    ("update", writing::update),
    ("size", size::size),
    ("steady", steady::steady),
    ("open", opening::open),
];

/// Runs the rows that the command line names, or all.
pub fn run(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    if let Some(odd) = settings.rest.iter().find(|name| !ROWS.iter().any(|row| row.0 == **name)) {
        return Err(format!("no row is called `{odd}`").into());
    }
    for (name, row) in ROWS {
        if settings.rest.is_empty() || settings.rest.iter().any(|wanted| wanted == name) {
            eprintln!("measuring: {name}");
            row(settings, data, report)?;
        }
    }
    Ok(())
}

/// Reads every byte, eight at a time: what a store hands out must be there.
pub fn touch(bytes: &[u8]) {
    let words = bytes.chunks_exact(8);
    let tail: u64 = words.remainder().iter().map(|byte| u64::from(*byte)).sum();
    let sum = words.fold(tail, |sum, word| {
        let word: [u8; 8] = word.try_into().expect("eight bytes");
        sum.wrapping_add(u64::from_le_bytes(word))
    });
    black_box(sum);
}
