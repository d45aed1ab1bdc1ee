//! A long-lived process: everything is open and warm, and only lookups are counted. Against LMDB, the
//! fastest of the peers here.

use super::{Bench, Filled, touch};
use crate::stores::{LMDB, MAPPED, Ours, Outcome, PREAD, Reader, open_ours};
use bench_util::{Comparison, Goal, Metric, Paired};
use index_cache::Snapshot;

/// Lookups of one measurement, so that a clock reading does not matter.
const REPEATS: usize = 40;

pub fn steady(bench: &mut Bench<'_>) -> Outcome<()> {
    let filled: Vec<&Filled> =
        bench.warm()?.filled.iter().filter(|one| one.store.is_fast_to_find()).collect();
    let found = [locating(bench, &filled)?, first_value(bench, &filled)?];
    found.into_iter().for_each(|comparison| bench.report.add(comparison));
    Ok(())
}

fn locating(bench: &Bench<'_>, filled: &[&Filled]) -> Outcome<Comparison> {
    let names: Vec<&str> = bench.data.wanted().iter().map(|one| one.name.as_str()).collect();
    let name = format!("steady: locate {} names, {REPEATS} times", names.len());
    let mut paired = Paired::new(name).settings(bench.settings);
    for one in filled {
        let mut reader = one.store.open(&one.folder)?;
        let names = &names;
        if one.store.name() == MAPPED {
            let snapshot = open_ours(&one.folder, Ours::Mapped)?.snapshot();
            let case = move |meter: &mut bench_util::Meter<'_, '_>| {
                meter.measure(|| contains(&snapshot, names))
            };
            paired = paired.case_metered("index-cache, mapped, only whether it is there", case);
        }
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            meter.measure(|| locate(&mut *reader, names))
        };
        paired = match one.store.name() {
            LMDB => paired.reference_metered(LMDB, case),
            MAPPED => paired.case_metered(MAPPED, case).goal_on(Metric::Wall, Goal::AtMost(0.6)),
            // By system calls a lookup costs a system call.
            name => paired.case_metered(name, case),
        };
    }
    let note = "Ours proves head, key and token of the record in each lookup and hands out an entry \
                that borrows from the snapshot, as LMDB's value does from its transaction; \"only \
                whether it is there\" proves as much without an entry.";
    Ok(paired.run()?.note(note))
}

fn locate(reader: &mut dyn Reader, names: &[&str]) -> Outcome<()> {
    for _ in 0..REPEATS {
        for name in names {
            std::hint::black_box(reader.locate(name)?);
        }
    }
    Ok(())
}

fn contains(snapshot: &Snapshot, names: &[&str]) -> Outcome<()> {
    for _ in 0..REPEATS {
        for name in names {
            std::hint::black_box(snapshot.contains(name)?);
        }
    }
    Ok(())
}

/// Open and the first value of about 26 kB, a hundred times.
fn first_value(bench: &Bench<'_>, filled: &[&Filled]) -> Outcome<Comparison> {
    let sizes = bench.data.crates.iter();
    let one = sizes.min_by_key(|one| one.blob.len().abs_diff(26_000)).ok_or("no crates")?;
    let mut paired =
        Paired::new("open, first value of 26 kB, close; 100 times").settings(bench.settings);
    // sled takes a hundred times as long to open as all others together.
    for store in filled.iter().filter(|one| one.store.name() != "sled") {
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            meter.measure(|| -> Outcome<()> {
                for _ in 0..100 {
                    store.store.open(&store.folder)?.whole(&one.name, &mut touch)?;
                }
                Ok(())
            })
        };
        paired = match store.store.name() {
            LMDB => paired.reference_metered(LMDB, case),
            name @ (PREAD | MAPPED) => paired.case_metered(name, case).goal(0.6),
            name => paired.case_metered(name, case),
        };
    }
    Ok(paired.run()?)
}
