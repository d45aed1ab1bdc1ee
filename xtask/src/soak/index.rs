//! Users of one index cache: every entry says which version it is, and follows from that.
//!
//! Keys come in pairs that are always written in one batch, so a snapshot that shows two versions
//! of a pair has seen half a batch.

use std::path::{Path, PathBuf};

use index_cache::{Durability, Entry, Error, FILE_NAME, IndexCache, Options, Put, Snapshot};

use super::content;
use super::dice::Dice;
use crate::Result;

const PAIRS: u64 = 60;

/// Writes some pairs, or compacts.
pub(super) fn write(folder: &Path, dice: &mut Dice) -> Result<()> {
    tolerate(try_write(folder, dice))?;
    read(folder, dice)
}

fn try_write(folder: &Path, dice: &mut Dice) -> index_cache::Result<()> {
    let cache = IndexCache::open(path(folder), Options::new())?;
    if dice.one_in(6) {
        return cache.compact().map(drop);
    }
    let version = dice.below(1_000);
    let mut batch = cache.batch();
    for _ in 0..=dice.below(8) {
        let pair = dice.below(PAIRS);
        for half in 0..2 {
            put(&mut batch, pair, half, version)?;
        }
    }
    let durability = if dice.one_in(8) { Durability::Durable } else { Durability::Fast };
    batch.commit(durability).map(drop)
}

fn put(
    batch: &mut index_cache::Batch<'_>,
    pair: u64,
    half: u64,
    version: u64,
) -> index_cache::Result<()> {
    let body = content::of(name(pair, half, version));
    let slice = 0..body.len() / 2;
    let token = version.to_string();
    let put = Put::new().token(token.as_bytes()).body(&body).slice_in_body("half", 7, slice);
    batch.put(&key(pair, half), &put)
}

/// Looks at some pairs.
pub(super) fn read(folder: &Path, dice: &mut Dice) -> Result<()> {
    let cache = match IndexCache::open(path(folder), Options::new()) {
        Ok(cache) => cache,
        Err(error) => return tolerate(Err(error)),
    };
    let snapshot = cache.snapshot();
    for _ in 0..20 {
        check_pair(&snapshot, dice.below(PAIRS))?;
    }
    Ok(())
}

fn check_pair(snapshot: &Snapshot, pair: u64) -> Result<()> {
    let (one, two) = match (snapshot.get(&key(pair, 0)), snapshot.get(&key(pair, 1))) {
        (Ok(one), Ok(two)) => (one, two),
        (Err(error), _) | (_, Err(error)) => return tolerate(Err(error)),
    };
    let versions = [version_of(one.as_ref())?, version_of(two.as_ref())?];
    if versions[0] != versions[1] {
        return Err(format!("WRONG DATA: pair {pair} is half written: {versions:?}").into());
    }
    for (half, entry) in (0..).zip([one, two]) {
        check_entry(pair, half, versions[0].zip(entry))?;
    }
    Ok(())
}

fn check_entry(pair: u64, half: u64, found: Option<(u64, Entry)>) -> Result<()> {
    let Some((version, entry)) = found else { return Ok(()) };
    let name = name(pair, half, version);
    match entry.body() {
        Ok(body) => content::compare(&key(pair, half), body, name)?,
        Err(error) => tolerate(Err(error))?,
    }
    match entry.slice("half") {
        Ok(Some(slice)) if *slice == content::of(name)[..slice.len()] => Ok(()),
        Ok(_) => Err(format!("WRONG DATA: a slice of {}", key(pair, half)).into()),
        Err(error) => tolerate(Err(error)),
    }
}

fn version_of(entry: Option<&Entry>) -> Result<Option<u64>> {
    entry.map(|entry| Ok(std::str::from_utf8(entry.token())?.parse()?)).transpose()
}

/// A full disk and missing descriptors are no findings; damage is: nobody damages this file.
fn tolerate(outcome: std::result::Result<(), Error>) -> Result<()> {
    match outcome {
        Err(error) if error.is_corrupt() || error.is_truncated() => {
            Err(format!("WRONG DATA: {error}").into())
        }
        _ => Ok(()),
    }
}

/// After the storm: sound, complete answers, and it can be written.
pub(super) fn check(folder: &Path) -> Result<()> {
    let cache = IndexCache::open(path(folder), Options::new())?;
    let verified = cache.verify()?;
    if !verified.is_sound() || verified.entries == 0 {
        return Err(format!("the index cache is not sound: {verified:?}").into());
    }
    let snapshot = cache.snapshot();
    (0..PAIRS).try_for_each(|pair| check_pair(&snapshot, pair))?;
    Ok(try_write(folder, &mut Dice::new(0))?)
}

fn path(folder: &Path) -> PathBuf {
    folder.join(FILE_NAME)
}

fn key(pair: u64, half: u64) -> String {
    format!("pair-{pair}-{half}")
}

fn name(pair: u64, half: u64, version: u64) -> u64 {
    (version << 20) | (pair << 1) | half
}
