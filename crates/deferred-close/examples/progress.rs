//! Writes a thousand files, with a line that shows what is still open; on a terminal only.
//!
//! `cargo run --release -p deferred-close --example progress -- FOLDER`, where FOLDER is on a file
//! system whose close is slow (NFS, SMB, FUSE); on a quick one there is nothing to see.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example for a terminal")]

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deferred_close::{Closer, Progress, Throttled};

const FILES: usize = 1000;
const TICK: Duration = Duration::from_millis(100);

fn main() -> Result<(), Box<dyn Error>> {
    let parent = env::args_os().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    let folder = parent.join(format!("deferred-close-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let mut builder = Closer::builder();
    if io::stderr().is_terminal() {
        builder = builder.observer(Arc::new(Throttled::new(TICK, show)));
    }
    let closer = builder.build();
    let written = closer.scope(|scope| {
        let group = scope.group("demo");
        write_files(&group, &folder)?;
        group.wait()?;
        Ok::<_, io::Error>(())
    });
    if io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    fs::remove_dir_all(&folder)?;
    written??;
    println!("{:?}", closer.stats());
    assert_eq!(closer.stats().inline + closer.stats().deferred, FILES as u64);
    Ok(())
}

fn show(now: &Progress, per_second: u64) {
    eprint!("\rclosing: {} open, {per_second}/s, {} threads \x1b[K", now.pending, now.threads);
}

fn write_files(group: &deferred_close::Group<'_>, folder: &std::path::Path) -> io::Result<()> {
    for number in 0..FILES {
        let path = folder.join(number.to_string());
        let mut file = File::create(&path)?;
        file.write_all(&[b'x'; 4096])?;
        group.close(file, path).fail_fast()?;
    }
    Ok(())
}
