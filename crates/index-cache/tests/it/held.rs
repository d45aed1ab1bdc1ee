//! Snapshots and entries that are held, with most of their index pages still unread, while the file
//! below them grows, is compacted, replaced and removed.

use crate::basics::{folder, open};
use index_cache::{Durability, Entry, FILE_NAME, IndexCache, Options, Put, ReadMode, Snapshot};
use std::path::Path;
use tempfile::TempDir;

const KEYS: u32 = 1500;

#[derive(Clone, Copy)]
enum Step {
    Put(u32, Durability),
    Touch(u32),
    Compact,
    /// By a file that was made elsewhere.
    Replace(u32),
}

/// None: a negative entry.
fn document(key: u32, generation: u32) -> Option<Vec<u8>> {
    let body = format!("{key}/{generation}/").repeat(key as usize % 50 + 1);
    (key % 7 != 3).then(|| body.into_bytes())
}

fn fill(cache: &IndexCache, generation: u32, durability: Durability) {
    let mut batch = cache.batch();
    let token = generation.to_string();
    for key in 0..KEYS {
        let name = key.to_string();
        let Some(body) = document(key, generation) else {
            batch.put_negative(&name, token.as_bytes()).unwrap();
            continue;
        };
        let put = Put::new().token(token.as_bytes()).body(&body).slice("apart", 1, name.as_bytes());
        let half = body.len() / 2;
        batch.put(&name, &put.slice_in_body("half", 2, half..body.len())).unwrap();
    }
    assert!(batch.commit(durability).unwrap().skipped().is_none());
}

fn touch(cache: &IndexCache, token: u32) {
    let mut batch = cache.batch();
    for key in 0..KEYS {
        batch.touch(&key.to_string(), token.to_string().as_bytes()).unwrap();
    }
    assert!(batch.commit(Durability::Fast).unwrap().skipped().is_none());
}

fn run(folder: &TempDir, step: Step) {
    let cache = open(folder);
    match step {
        Step::Put(generation, durability) => fill(&cache, generation, durability),
        Step::Touch(token) => touch(&cache, token),
        Step::Compact => drop(cache.compact().unwrap()),
        Step::Replace(generation) => {
            let other = IndexCache::open(folder.path().join("other"), Options::new()).unwrap();
            fill(&other, generation, Durability::Fast);
            std::fs::rename(other.path(), cache.path()).unwrap();
        }
    }
}

fn is_as_stored(entry: &Entry<'_>, key: u32, token: u32, generation: u32) {
    assert_eq!(entry.token(), token.to_string().as_bytes(), "{key}");
    let Some(body) = document(key, generation) else {
        return assert!(entry.is_negative(), "{key}");
    };
    assert_eq!(entry.slice("half").unwrap().unwrap(), &body[body.len() / 2..], "{key}");
    assert_eq!(entry.slice("apart").unwrap().unwrap(), key.to_string().as_bytes());
    assert_eq!(entry.body().unwrap(), body, "{key}");
}

/// What was held at one moment: the token's and the content's generation are those of that moment.
struct Held {
    snapshot: Snapshot,
    entry: Entry<'static>,
    token: u32,
    generation: u32,
}

impl Held {
    fn new(cache: &IndexCache, token: u32, generation: u32) -> Self {
        Self {
            snapshot: cache.snapshot(),
            entry: cache.get("5").unwrap().unwrap(),
            token,
            generation,
        }
    }

    fn check(&self) {
        is_as_stored(&self.entry, 5, self.token, self.generation);
        let mut keys: Vec<String> = (0..KEYS).map(|key| key.to_string()).collect();
        assert!(
            self.snapshot.prefetch(&keys, index_cache::Extent::Front).unwrap().found >= KEYS.into()
        );
        self.snapshot.sort_as_stored(&mut keys).unwrap();
        for key in keys {
            let entry = self.snapshot.get(&key).unwrap().unwrap();
            is_as_stored(&entry, key.parse().unwrap(), self.token, self.generation);
        }
        assert_eq!(self.snapshot.entries().map(Result::unwrap).count(), KEYS as usize);
    }
}

#[expect(unsafe_code, reason = "the contract of a map: only this crate writes to these files")]
fn reader(path: &Path, mode: ReadMode) -> IndexCache {
    // SAFETY: the folder is this test's own.
    IndexCache::open(path, unsafe { Options::new().mapped(mode) }).unwrap()
}

#[test]
fn what_is_held_stays_through_appends_compactions_replacement_and_removal() {
    const FAST: Durability = Durability::Fast;
    // A step, and the generations of tokens and contents behind it.
    let steps = [
        (Step::Put(1, FAST), 1, 1),
        (Step::Touch(2), 2, 1),
        (Step::Touch(9), 9, 1),
        (Step::Put(3, Durability::Durable), 3, 3),
        (Step::Touch(4), 4, 3),
        (Step::Compact, 4, 3),
        (Step::Touch(5), 5, 3),
        (Step::Put(6, FAST), 6, 6),
        (Step::Compact, 6, 6),
        (Step::Replace(7), 7, 7),
        (Step::Touch(8), 8, 7),
    ];
    for mode in [ReadMode::Pread, ReadMode::Auto, ReadMode::Mapped] {
        let folder = folder();
        let cache = reader(&folder.path().join(FILE_NAME), mode);
        let mut held = Vec::new();
        for (step, token, generation) in steps {
            run(&folder, step);
            assert!(cache.refresh().unwrap());
            held.push(Held::new(&cache, token, generation));
        }
        std::fs::remove_file(cache.path()).unwrap();
        assert!(cache.refresh().unwrap() && cache.get("5").unwrap().is_none());
        held.iter().for_each(Held::check);
    }
}
