//! Making files durable: one by one, on the workers, or the whole file system at once.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use bench_util::{CaseError, Meter, Paired, Place, Report, Settings, Workdir};
use deferred_close::{Closer, FileSystem, Synced, Threads, close_inline};

use crate::contenders::create;
use crate::workload::prepare;

const FILES: usize = 400;
const SIZE: u64 = 2 << 30;

/// Adds one comparison on the file system under `--data`'s default, and one in memory.
pub fn compare(settings: &Settings, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let places = [
        ("ext4, journaled, in memory", Place::JournaledExt4 { size_bytes: SIZE }),
        ("the disk of the current folder", Place::Folder(std::env::current_dir()?)),
    ];
    for (name, place) in places {
        eprintln!("durable on {name}, {FILES} files");
        let comparison = Workdir::on(&place).and_then(|work| comparison(settings, name, &work));
        report.add_or_failed(name, comparison);
    }
    report.note(
        "Durable rows: `syncfs` also writes what other programs left unsaved, and its error names no \
         file. Each row ends with a sync of the folders, so that the names are durable as well.",
    );
    Ok(())
}

fn comparison(
    settings: &Settings,
    name: &str,
    work: &Workdir,
) -> bench_util::Result<bench_util::Comparison> {
    let case = |meter: &mut Meter<'_, '_>, write: fn(&[PathBuf]) -> Result<(), CaseError>| {
        let top = work.fresh("durable")?;
        let paths = prepare(&top, FILES)?;
        meter.measure(|| write(&paths).and_then(|()| Ok(sync_folders(&paths, &top)?)))
    };
    Paired::new(format!("durable on {name}, {FILES} files"))
        .settings(settings)
        .rounds(12)
        .reference_metered("fsync inline", |meter| case(meter, inline))
        .case_metered("not durable", |meter| case(meter, unsynced))
        .case_metered("ours, fsync on 4 threads", |meter| case(meter, |paths| synced(paths, 4)))
        .case_metered("ours, fsync on 16 threads", |meter| case(meter, |paths| synced(paths, 16)))
        .case_metered("ours, one syncfs", |meter| case(meter, file_system))
        .run()
}

fn inline(paths: &[PathBuf]) -> Result<(), CaseError> {
    for path in paths {
        close_inline(Synced(create(path)?))?;
    }
    Ok(())
}

fn unsynced(paths: &[PathBuf]) -> Result<(), CaseError> {
    for path in paths {
        close_inline(create(path)?)?;
    }
    Ok(())
}

fn synced(paths: &[PathBuf], threads: usize) -> Result<(), CaseError> {
    let closer = Closer::builder().threads(Threads::Fixed(threads)).build();
    closer.scope(|scope| {
        let group = scope.group("bench");
        for path in paths {
            group.close(Synced(create(path)?), path);
        }
        Ok(group.wait()?)
    })?
}

fn file_system(paths: &[PathBuf]) -> Result<(), CaseError> {
    let disk = FileSystem::of(paths[0].parent().ok_or("no folder")?)?;
    Closer::default().scope(|scope| {
        let group = scope.group("bench");
        for path in paths {
            group.close(create(path)?, path);
        }
        group.wait()?;
        Ok(disk.sync()?)
    })?
}

fn sync_folders(paths: &[PathBuf], top: &Path) -> io::Result<()> {
    let mut folders: Vec<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
    folders.dedup();
    folders.push(top);
    folders.into_iter().try_for_each(|folder| std::fs::File::open(folder)?.sync_all())
}
