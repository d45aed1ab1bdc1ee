//! Many real processes at once, killed at any moment.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use cas_store::{SweepOptions, VerifyOptions};

use crate::child::{self, Random};
use crate::ground::Ground;

const INSTALLERS: u64 = 4;
const KILLS: u64 = 60;

/// Hashes whatever object it meets, through the store's public layout alone.
fn watch(objects: &Path, stop: &AtomicBool) -> u64 {
    let mut looked = 0;
    while !stop.load(Ordering::Relaxed) {
        for shard in fs::read_dir(objects).unwrap() {
            let shard = shard.unwrap();
            for object in fs::read_dir(shard.path()).unwrap() {
                let name = object.unwrap().file_name().into_string().unwrap();
                let Ok(bytes) = fs::read(shard.path().join(&name)) else { continue };
                let stated =
                    format!("{}{}", shard.file_name().display(), name.trim_end_matches('x'));
                assert_eq!(cas_store::Digest::of(&bytes).to_string(), stated);
                looked += 1;
            }
        }
    }
    looked
}

#[test]
fn no_file_is_wrong_after_a_storm_of_processes_that_are_killed() {
    let ground = Ground::in_memory();
    let store = ground.store();
    let (root, stop) = (ground.path("store"), AtomicBool::new(false));
    let root = root.to_str().unwrap();
    let kills = AtomicU64::new(0);
    let looked = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&store.path().join("objects"), &stop));
        let installers: Vec<_> = (0..INSTALLERS)
            .map(|number| {
                let env = ground.path(&format!("env{number}"));
                let kills = &kills;
                scope.spawn(move || installer(root, &env, number, kills))
            })
            .collect();
        let sweeper = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let mut child = child::spawn(&["sweep", root, "1000000"]);
                thread::sleep(Duration::from_millis(150));
                child.kill().unwrap();
                child.wait().unwrap();
            }
        });
        for installer in installers {
            installer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        sweeper.join().unwrap();
        watcher.join().unwrap()
    });
    assert!(looked > 100, "the watcher hashed {looked} objects");

    let checked: u64 = (0..INSTALLERS)
        .map(|number| child::check_journal(&ground.path(&format!("env{number}"))))
        .sum();
    assert!(checked > 100, "{checked} finished files were checked");
    let report = store.verify(VerifyOptions::default()).unwrap();
    assert_eq!((report.damaged.len(), report.restamped), (0, 0));
    assert!(fs::read_dir(store.path().join("quarantine")).unwrap().next().is_none());

    for number in 0..INSTALLERS {
        fs::remove_dir_all(ground.path(&format!("env{number}"))).unwrap();
    }
    for key in store.trees().unwrap() {
        store.remove_tree(&key).unwrap();
    }
    let everything = SweepOptions::default().grace(Duration::ZERO).unfinished_for(Duration::ZERO);
    store.sweep(everything).unwrap();
    let left = store.stats().unwrap();
    assert_eq!((left.objects, left.trees), (0, 0), "everything can be swept in the end");
    assert!(fs::read_dir(store.path().join("tmp")).unwrap().next().is_none(), "also rubbish");
}

/// Starts installers on one environment, one after the other, and kills each at a random moment.
fn installer(root: &str, env: &Path, number: u64, kills: &AtomicU64) {
    let mut random = Random(number + 0x9e37_79b9);
    while kills.fetch_add(1, Ordering::Relaxed) < KILLS {
        let seed = random.below(1 << 40).to_string();
        let role = ["install", root, env.to_str().unwrap(), &seed, "1000000"];
        let mut child = child::spawn(&role);
        thread::sleep(Duration::from_millis(60 + random.below(240)));
        // A role that failed by itself is a failure of the test.
        assert!(child.try_wait().unwrap().is_none(), "an installer gave up");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// What racers and sweeps did.
#[derive(Debug, Default)]
struct Race {
    contested: u64,
    put_back: u64,
    made: u64,
    lost: u64,
}

/// Lets two racers of `role` and sweeps without any grace contest one store until `enough`. Each object
/// that the sweep takes is about to be, or was just, installed by a racer.
fn contest(role: &str, enough: impl Fn(&Race) -> bool) -> Race {
    let ground = Ground::in_memory();
    let store = ground.store();
    let (root, stop) = (ground.path("store"), ground.path("stop"));
    let envs = ["one", "two"].map(|name| ground.path(name));
    let mut racers = envs.each_ref().map(|env| {
        let paths = [&root, env, &stop].map(|path| path.to_str().unwrap());
        child::spawn(&[role, paths[0], paths[1], paths[2]])
    });
    let mut race = Race::default();
    while !enough(&race) {
        let report = match store.sweep(SweepOptions::default().grace(Duration::ZERO)) {
            // A child that another test just forked holds the lock until its exec.
            Err(error) if error.is_locked() => continue,
            other => other.unwrap(),
        };
        race.contested += report.objects_removed + report.objects_put_back;
        race.put_back += report.objects_put_back;
        race.lost = envs.iter().map(|env| count(env, "lost")).sum();
        for racer in &mut racers {
            assert!(racer.try_wait().unwrap().is_none(), "a racer gave up");
        }
    }
    fs::write(&stop, "").unwrap();
    for racer in &mut racers {
        assert!(racer.wait().unwrap().success(), "a racer gave up");
    }
    race.made = envs.iter().map(|env| count(env, "made")).sum();
    race.lost = envs.iter().map(|env| count(env, "lost")).sum();
    race
}

/// What a racer wrote, zero before it did.
fn count(env: &Path, what: &str) -> u64 {
    fs::read_to_string(env.join(what)).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn twenty_thousand_contested_races_lose_no_destination() {
    const CONTESTED: u64 = 20_000;
    let race = contest("race", |race| race.contested >= CONTESTED);
    println!("{race:?}");
    assert!(race.made >= race.contested, "{race:?}");
    assert_eq!(race.lost, 0, "{race:?}");
}

/// The control: in the same harness the order that drops the duplicate first loses destinations.
#[test]
fn dropping_the_duplicate_before_linking_back_loses_destinations() {
    const CONTESTED_AT_MOST: u64 = 200_000;
    let race = contest("drop first", |race| race.lost > 0 || race.contested >= CONTESTED_AT_MOST);
    println!("{race:?}");
    assert!(race.lost > 0, "the harness does not see what it is for: {race:?}");
}
