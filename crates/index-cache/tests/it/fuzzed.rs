//! What the fuzz target runs on any bytes; `fuzz/` includes this file, and `corpus.rs` replays it.

use index_cache::{Durability, Entry, IndexCache, Options, Put, Snapshot, WriteSkipped};
use std::fs;

/// A file of any bytes is read or refused, and heals by being written: no panic, and afterwards it
/// answers with what was put.
pub(crate) fn index_file(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("any.ixc");
    fs::write(&path, data).expect("a file");
    if let Ok(cache) = IndexCache::open(&path, Options::new()) {
        read_all(&cache);
        drop(cache.verify());
        // What cannot be written says so, by an error or a skipped write: a file may be marked as
        // another format's. What was written is there.
        if let Ok(None) = write(&cache) {
            assert!(read_back(&cache).unwrap_or(true), "written and not found");
        }
        drop(cache.compact());
        read_all(&cache);
    }
}

fn read_all(cache: &IndexCache) {
    let snapshot: Snapshot = cache.snapshot();
    for entry in snapshot.entries().take(1_000).flatten() {
        read(&entry);
    }
    if let Ok(Some(entry)) = snapshot.get("serde") {
        read(&entry);
    }
}

fn read(entry: &Entry) {
    drop(entry.body().map(<[u8]>::len));
    let Ok(slices) = entry.slices() else { return };
    let names: Vec<_> = slices.take(100).map(|slice| slice.name.to_owned()).collect();
    for name in names {
        drop(entry.slice(&name));
    }
}

fn write(cache: &IndexCache) -> index_cache::Result<Option<WriteSkipped>> {
    let mut batch = cache.batch();
    batch.put("put", &Put::new().token(b"token").body(b"body").slice("one", 1, b"slice"))?;
    Ok(batch.commit(Durability::Fast)?.skipped())
}

fn read_back(cache: &IndexCache) -> index_cache::Result<bool> {
    let Some(entry) = cache.get("put")? else { return Ok(false) };
    Ok(entry.token() == b"token" && entry.body()? == b"body")
}
