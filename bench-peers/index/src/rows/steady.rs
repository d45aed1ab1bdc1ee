//! A long-lived process: everything is open and warm, and only lookups are counted. Against LMDB, the
//! fastest of the peers here.

use super::reading::{fill_all, warm_place};
use super::touch;
use crate::data::Dataset;
use crate::stores::{Outcome, Reader};
use bench_util::{Goal, Metric, Paired, Report, Settings};

const LMDB: &str = "LMDB, blob per crate";
const MAPPED: &str = "index-cache, mapped";
/// Lookups of one measurement, so that a clock reading does not matter.
const REPEATS: usize = 40;

pub fn steady(settings: &Settings, data: &Dataset, report: &mut Report) -> Outcome<()> {
    let work = warm_place()?;
    let filled: Vec<_> = fill_all(&work, &data.crates)?
        .into_iter()
        .filter(|one| {
            !one.store.name().contains("version") && !one.store.name().starts_with("file")
        })
        .filter(|one| !one.store.name().starts_with("SQLite"))
        .collect();
    let names: Vec<&str> = data.wanted().iter().map(|one| one.name.as_str()).collect();
    let mut paired = Paired::new(format!("steady: locate {} names, {REPEATS} times", names.len()))
        .settings(settings);
    for one in &filled {
        let mut reader = one.store.open(&one.folder)?;
        let names = &names;
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
    report.add(paired.run()?.note("Ours proves head, key and token of the record in each lookup."));
    first_value(settings, data, &filled, report)
}

fn locate(reader: &mut dyn Reader, names: &[&str]) -> Outcome<()> {
    for _ in 0..REPEATS {
        for name in names {
            std::hint::black_box(reader.locate(name)?);
        }
    }
    Ok(())
}

/// Open and the first value of about 26 kB, a hundred times.
fn first_value(
    settings: &Settings,
    data: &Dataset,
    filled: &[super::reading::Filled],
    report: &mut Report,
) -> Outcome<()> {
    let name =
        data.crates.iter().min_by_key(|one| one.blob.len().abs_diff(26_000)).map(|one| &one.name);
    let name = name.ok_or("no crates")?;
    let mut paired = Paired::new("open, first value of 26 kB, close; 100 times").settings(settings);
    for one in filled.iter().filter(|one| one.store.name() != "sled") {
        let case = move |meter: &mut bench_util::Meter<'_, '_>| {
            meter.measure(|| -> Outcome<()> {
                for _ in 0..100 {
                    one.store.open(&one.folder)?.whole(name, &mut touch)?;
                }
                Ok(())
            })
        };
        paired = match one.store.name() {
            LMDB => paired.reference_metered(LMDB, case),
            "index-cache" => paired.case_metered("index-cache", case).goal(0.6),
            name => paired.case_metered(name, case),
        };
    }
    report.add(paired.run()?);
    Ok(())
}
