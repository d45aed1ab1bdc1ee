//! Opening does not depend on the number of entries.

use super::Bench;
use crate::stores::{Ours, Outcome, open_ours};
use bench_util::{Goal, Metric, Paired, Place, Workdir};
use index_cache::Put;
use std::path::PathBuf;

const REPEATS: usize = 200;
const MANY: usize = 1_000_000;

pub fn open(bench: &mut Bench<'_>) -> Outcome<()> {
    let work = Workdir::on(&Place::Memory)?;
    let (few, lots) = (filled(&work, 1_000)?, filled(&work, MANY)?);
    for mode in [Ours::Pread, Ours::Mapped] {
        let how = if matches!(mode, Ours::Pread) { "pread" } else { "mapped" };
        let case = |folder: PathBuf, is_read: bool| {
            move |meter: &mut bench_util::Meter<'_, '_>| {
                meter.measure(|| -> Outcome<()> {
                    for _ in 0..REPEATS {
                        let cache = open_ours(&folder, mode)?;
                        if is_read && cache.get("package-77")?.is_none() {
                            return Err("it is there".into());
                        }
                    }
                    Ok(())
                })
            }
        };
        for (what, is_read) in [("open", false), ("open and find one key", true)] {
            let name = format!("{what}, {how}: 1,000 keys against {MANY}, {REPEATS} times");
            let paired = Paired::new(name)
                .settings(bench.settings)
                .reference_metered("1,000 keys", case(few.clone(), is_read))
                .case_metered("many keys", case(lots.clone(), is_read))
                .goal_on(Metric::Wall, Goal::WhollyUnder(if is_read { 1.5 } else { 1.15 }));
            bench.report.add(paired.run()?);
        }
    }
    Ok(())
}

fn filled(work: &Workdir, count: usize) -> Outcome<PathBuf> {
    let folder = work.fresh("keys")?;
    let cache = open_ours(&folder, Ours::Pread)?;
    let mut batch = cache.batch();
    for number in 0..count {
        batch.put(&format!("package-{number}"), &Put::new().token(b"etag").body(b"small"))?;
    }
    let _ = batch.commit(index_cache::Durability::Fast)?;
    Ok(folder)
}
