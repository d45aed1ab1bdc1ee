//! What the feature `rayon` adds does what the same call without it does.

use std::fs;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cas_store::{
    Digest, Executable, Store, SweepOptions, SweepReport, Tree, TreeBuilder, VerifyOptions,
    VerifyReport,
};

use crate::ground::{Ground, put};

const FILES: u64 = 400;

fn content(number: u64) -> Vec<u8> {
    format!("file {number}\n").into_bytes()
}

/// Fills a store through an environment.
fn fill(ground: &Ground, store: &Store) -> Tree {
    let env = ground.env(store, "env");
    let mut tree = TreeBuilder::new();
    for number in 0..FILES {
        let (path, bytes) = (format!("{}/{number}", number % 7), content(number));
        put(&env, &path, &bytes);
        tree.file(&path, Digest::of(&bytes), Executable::No, bytes.len() as u64).unwrap();
    }
    tree.build().unwrap()
}

#[test]
fn a_tree_placed_in_parallel_is_the_tree() {
    let ground = Ground::new();
    let store = ground.store();
    let tree = fill(&ground, &store);
    let report = tree.place_parallel(&ground.env(&store, "two")).unwrap();
    assert_eq!(report.linked, FILES);
    for number in 0..FILES {
        let path = ground.path("two").join(format!("{}/{number}", number % 7));
        assert_eq!(fs::read(path).unwrap(), content(number));
    }
}

/// A store in which every tenth object was edited, verified.
fn verified(verify: impl Fn(&Store, VerifyOptions) -> VerifyReport) -> VerifyReport {
    let ground = Ground::new();
    let store = ground.store();
    fill(&ground, &store);
    for number in (0..FILES).step_by(10) {
        let path = ground.path("env").join(format!("{}/{number}", number % 7));
        fs::write(path, b"edited").unwrap();
    }
    let mut report = verify(&store, VerifyOptions::default());
    // What differs between two stores.
    report.damaged.iter_mut().for_each(|damage| {
        assert_eq!(damage.quarantined.take().unwrap().digest, damage.digest);
    });
    report.damaged.sort_by_key(|damage| damage.digest);
    report
}

#[test]
fn a_store_verified_in_parallel_shows_the_same_damage() {
    let one = verified(|store, options| store.verify(options).unwrap());
    let many = verified(|store, options| store.verify_parallel(options).unwrap());
    assert_eq!((one.objects, one.damaged.len()), (FILES, 40));
    assert_eq!(one, many);
}

/// A store of which a tree needs a part, swept after its environment was removed.
fn swept(sweep: impl Fn(&Store, SweepOptions) -> SweepReport) -> SweepReport {
    let ground = Ground::new();
    let store = ground.store();
    fill(&ground, &store);
    let mut needed = TreeBuilder::new();
    for number in 0..FILES / 4 {
        let bytes = content(number);
        let (digest, size) = (Digest::of(&bytes), bytes.len() as u64);
        needed.file(&number.to_string(), digest, Executable::No, size).unwrap();
    }
    let needed = needed.build().unwrap();
    store.write_tree("needed", &needed).unwrap();
    fs::remove_dir_all(ground.path("env")).unwrap();
    let report = sweep(&store, SweepOptions::default().grace(Duration::ZERO));
    assert_eq!(needed.place(&ground.env(&store, "two")).unwrap().linked, FILES / 4);
    report
}

#[test]
fn a_store_swept_in_parallel_keeps_the_same_objects() {
    let one = swept(|store, options| store.sweep(options).unwrap());
    let many = swept(|store, options| store.sweep_parallel(options).unwrap());
    assert_eq!((one.objects_removed, one.objects_kept), (FILES - FILES / 4, FILES / 4));
    assert_eq!(one, many);
}

#[test]
fn progress_of_many_threads_is_one_count() {
    let ground = Ground::new();
    let store = ground.store();
    fill(&ground, &store);
    let most = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&most);
    let options = VerifyOptions::default().watch(move |progress| {
        seen.fetch_max(progress.files, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    store.verify_parallel(options).unwrap();
    assert_eq!(most.load(Ordering::Relaxed), FILES);
    let stop = VerifyOptions::default().watch(|_| ControlFlow::Break(()));
    assert!(store.verify_parallel(stop).unwrap_err().is_cancelled());
}
