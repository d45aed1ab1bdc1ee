//! Tests that need a disk which can fail: crashes, I/O errors, damage, and random operations.

mod crash;
mod damage;
mod disk;
mod faults;
mod format;
mod hints;
mod hostile;
mod locking;
mod model;
mod reads;

use crate::batch::{Batch, Durability};
use crate::cache::IndexCache;
use crate::error::Result;
use crate::options::Options;
use crate::put::Put;
use disk::FakeDisk;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const PATH: &str = "/cache/index-v1.ixc";

/// What a cache should hold: key to value.
type Model = BTreeMap<String, Value>;

/// Everything that can be read of one entry.
#[derive(Clone, PartialEq, Eq)]
struct Value {
    token: Vec<u8>,
    /// None: a negative entry.
    body: Option<Vec<u8>>,
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let start = self.body.as_ref().map(|body| &body[..body.len().min(12)]);
        let start = start.map(String::from_utf8_lossy);
        write!(f, "{} {start:?}", String::from_utf8_lossy(&self.token))
    }
}

impl Value {
    /// A body whose bytes depend on all arguments, so that no two stored bodies are equal.
    fn new(key: &str, generation: u32, len: usize) -> Self {
        let seed = format!("{key}/{generation}/");
        let body = seed.bytes().cycle().take(len).collect();
        Self { token: format!("token {generation}").into_bytes(), body: Some(body) }
    }

    fn put(&self, key: &str, batch: &mut Batch<'_>) {
        match &self.body {
            Some(body) => batch.put(key, &put(&self.token, body)).unwrap(),
            None => batch.put_negative(key, &self.token).unwrap(),
        }
    }
}

/// Two slices of the body and one apart, so that every part of a record is in use.
fn put<'a>(token: &'a [u8], body: &'a [u8]) -> Put<'a> {
    let half = body.len() / 2;
    Put::new()
        .token(token)
        .body(body)
        .slice_in_body("first", 1, 0..half)
        .slice_in_body("second", 2, half..body.len())
        .slice("apart", 3, token)
}

fn open(disk: &FakeDisk) -> Result<IndexCache> {
    IndexCache::on(Arc::new(disk.clone()), Path::new(PATH), Options::new())
}

/// Reads everything of an entry and checks that its parts agree with each other. A miss for a
/// damaged part.
fn read(cache: &IndexCache, key: &str) -> Result<Option<Value>> {
    let Some(entry) = cache.get(key)? else { return Ok(None) };
    assert_eq!(entry.key(), key);
    let token = entry.token().to_vec();
    if entry.is_negative() {
        return Ok(Some(Value { token, body: None }));
    }
    let parts = || -> Result<Value> {
        let slice = |name: &str| -> Result<Vec<u8>> {
            Ok(entry.slice(name)?.expect("every entry has it").into_owned())
        };
        let joined = [slice("first")?, slice("second")?].concat();
        let apart = slice("apart")?;
        let body = entry.body()?.to_vec();
        assert_eq!(joined, body, "slices agree with the body");
        assert!(apart.starts_with(b"token "), "the slice apart is one that was stored");
        Ok(Value { token, body: Some(body) })
    };
    match parts() {
        Err(error) if error.is_corrupt() => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn read_all(cache: &IndexCache, keys: impl IntoIterator<Item = String>) -> Result<Model> {
    let mut model = Model::new();
    for key in keys {
        if let Some(value) = read(cache, &key)? {
            model.insert(key, value);
        }
    }
    Ok(model)
}

fn commit(cache: &IndexCache, changes: &Model, durability: Durability) -> Result<()> {
    let mut batch = cache.batch();
    for (key, value) in changes {
        value.put(key, &mut batch);
    }
    assert_eq!(batch.commit(durability)?.skipped(), None);
    Ok(())
}
