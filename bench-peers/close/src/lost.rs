//! Who can tell that a close failed? One in a hundred fails here.

use std::error::Error;
use std::time::Duration;

use bench_util::{Comparison, Goal, Place, Report, Settings, Table, Workdir};
use deferred_close::{Closer, Policy};

use crate::contenders::{Contender, Dropped, Inline, Ours, RustupShaped, Threadpool};
use crate::server::{Profile, Server};
use crate::workload::{prepare, write_all};

type Make = fn() -> Box<dyn Contender>;

const FILES: usize = 2_000;
const EVERY: u64 = 100;

/// Adds the table, and the goal: ours loses none.
pub fn count(_settings: &Settings, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let work = Workdir::on(&Place::Memory)?;
    let peers: [(&str, Make); 4] = [
        ("inline, checked", || Box::new(Inline::default())),
        ("drop(file)", || Box::new(Dropped)),
        ("rustup's shape", || Box::new(RustupShaped::new())),
        ("threadpool", || Box::new(Threadpool::new())),
    ];
    let mut table = Table::new("Close errors told, of 20 that happened", &["who", "told"]);
    for (name, make) in peers {
        let told = told(&work, |paths| Ok(write_all(paths, Duration::ZERO, make())?))?;
        table.push([name.to_owned(), told.to_string()]);
    }
    let ours = told(&work, |paths| {
        Closer::builder().policy(Policy::Always).build().scope(|scope| {
            let ours = Ours { group: scope.group("bench") };
            Ok(write_all(paths, Duration::ZERO, Box::new(ours))?)
        })?
    })?;
    table.push(["ours".to_owned(), ours.to_string()]);
    report.tables.push(table);
    let happened = FILES as u64 / EVERY;
    let lost = Comparison::exact(
        "close errors that nobody is told of, plus one",
        "errors",
        ("none", 1),
        ("ours", 1 + happened - ours as u64),
    );
    report.add(lost.goal(Goal::AtMost(1.0)));
    Ok(())
}

fn told(
    work: &Workdir,
    write: impl FnOnce(&[std::path::PathBuf]) -> Result<usize, Box<dyn Error>>,
) -> Result<usize, Box<dyn Error>> {
    let profile = Profile { fails_every: EVERY, ..Profile::waits(200) };
    let server = Server::start(work, profile).map_err(|error| error.to_string())?;
    write(&prepare(server.folder(), FILES)?)
}
