//! The rows of the table: each a comparison of all stores on one piece of work.

mod cold;
mod floor;
mod opening;
mod reading;
mod size;
mod steady;
mod writing;

use crate::data::{Crate, Dataset};
use crate::stores::{self, FILES, Outcome, PREAD, Store};
use bench_util::{Meter, Paired, Place, Report, Settings, Workdir};
use std::cell::OnceCell;
use std::hint::black_box;
use std::path::PathBuf;

type Row = fn(&mut Bench<'_>) -> Outcome<()>;

const ROWS: [(&str, Row); 11] = [
    ("whole", reading::whole),
    ("version", reading::one_version),
    ("process", reading::fresh_process),
    ("steady", steady::steady),
    ("cold", cold::lockfile),
    ("cold-many", cold::few_of_many),
    ("fill", writing::fill),
    ("durable", writing::durable),
    ("update", writing::update),
    ("size", size::size),
    ("open", opening::open),
];

/// What the rows share.
pub struct Bench<'a> {
    pub settings: &'a Settings,
    pub data: &'a Dataset,
    pub report: &'a mut Report,
    warm: OnceCell<Warm>,
}

/// Filled stores that are only read. Filling takes longer than reading, so rows share them.
pub struct Warm {
    pub work: Workdir,
    pub filled: Vec<Filled>,
}

impl Bench<'_> {
    /// On a journaled file system in memory; where that cannot be had, in plain memory, whose pages
    /// are smaller and dearer to map.
    fn warm(&self) -> Outcome<&Warm> {
        if self.warm.get().is_none() {
            let journaled = Place::JournaledExt4 { size_bytes: 4 << 30 };
            let work = Workdir::on(&journaled).or_else(|_| Workdir::on(&Place::Memory))?;
            let filled = fill_all(&work, &self.data.crates)?;
            drop(self.warm.set(Warm { work, filled }));
        }
        Ok(self.warm.get().ok_or("filled just now")?)
    }
}

/// A store with a filled folder.
pub struct Filled {
    pub store: Box<dyn Store>,
    pub folder: PathBuf,
}

/// Fills every store below `work`.
pub fn fill_all(work: &Workdir, crates: &[Crate]) -> Outcome<Vec<Filled>> {
    stores::all().into_iter().map(|store| fill_one(store, work, crates)).collect()
}

pub fn fill_one(store: Box<dyn Store>, work: &Workdir, crates: &[Crate]) -> Outcome<Filled> {
    let folder = work.fresh(store.name())?;
    store.import(&folder, crates)?;
    Ok(Filled { store, folder })
}

/// Runs the rows that the command line names, or all.
pub fn run(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    if let Some(odd) = settings.rest.iter().find(|name| !ROWS.iter().any(|row| row.0 == **name)) {
        return Err(format!("no row is called `{odd}`").into());
    }
    let mut bench = Bench { settings, data, report, warm: OnceCell::new() };
    for (name, row) in ROWS {
        if settings.rest.is_empty() || settings.rest.iter().any(|wanted| wanted == name) {
            eprintln!("measuring: {name}");
            row(&mut bench)?;
        }
    }
    Ok(())
}

/// The reference first; ours has the goal in the default mode and, where it reads, through a map.
pub fn add<'a>(
    paired: Paired<'a>,
    name: &str,
    case: impl FnMut(&mut Meter<'_, '_>) -> Outcome<()> + 'a,
    goal: f64,
) -> Paired<'a> {
    match name {
        FILES => paired.reference_metered(name, case),
        PREAD => paired.case_metered(name, case).goal(goal),
        _ => paired.case_metered(name, case),
    }
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
