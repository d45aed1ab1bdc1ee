//! What both builds do: read every entry of an index file, some turns.
//!
//! The slowed build makes five turns where the honest one makes four. It is slowed here, in the
//! benchmark: the library under it is the same.

use std::error::Error;
use std::path::Path;

use index_cache::{Durability, IndexCache, Options, Put};

/// Turns of the honest build.
pub const TURNS: usize = 24;
/// Turns of the slowed build: a quarter more.
pub const TURNS_SLOWED: usize = TURNS * 5 / 4;
const ENTRIES: usize = 2_000;

/// Writes the index file that both builds read.
pub fn fill(file: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let cache = IndexCache::open(file, Options::new())?;
    let mut batch = cache.batch();
    for number in 0..ENTRIES {
        batch.put(&key(number), &Put::new().token(b"etag").body(&[b'x'; 8_000]))?;
    }
    match batch.commit(Durability::Fast)?.skipped() {
        None => Ok(()),
        Some(reason) => Err(reason.to_string().into()),
    }
}

/// The program of both builds: `BUILD FILE`.
pub fn read(turns: usize) -> Result<(), Box<dyn Error + Send + Sync>> {
    let file = std::env::args_os().nth(1).ok_or("no file is given")?;
    let cache = IndexCache::open(file, Options::new())?;
    for _ in 0..turns {
        for number in 0..ENTRIES {
            let entry = cache.get(&key(number))?.ok_or("an entry is missing")?;
            std::hint::black_box(entry.body()?);
        }
    }
    Ok(())
}

fn key(number: usize) -> String {
    format!("package-{number}")
}
