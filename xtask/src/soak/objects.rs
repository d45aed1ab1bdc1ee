//! Users of one content store: packages whose files overlap, installed, compared and deleted.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cas_store::{
    Destination, Digest, Error, Executable, Options, Store, SweepOptions, Tree, TreeBuilder,
    VerifyOptions,
};

use super::content;
use super::dice::Dice;
use crate::Result;

const PACKAGES: u64 = 40;

/// Installs one package from the store or, when the store has it not, from its source; compares
/// every file; deletes it. Now and then sweeps or forgets a package first.
pub(super) fn install(folder: &Path, dice: &mut Dice) -> Result<()> {
    if dice.one_in(10) {
        remove_what_the_killed_left(folder)?;
    }
    let environment = folder.join(format!("env-{}", std::process::id()));
    let package = dice.below(PACKAGES);
    let outcome = try_install(folder, &environment, package, dice);
    let compared = match &outcome {
        Ok(()) => compare_all(&environment, package, true),
        Err(_) => compare_all(&environment, package, false),
    };
    drop(fs::remove_dir_all(&environment));
    tolerate(outcome).and(compared)
}

fn try_install(
    folder: &Path,
    environment: &Path,
    package: u64,
    dice: &mut Dice,
) -> cas_store::Result<()> {
    let store = Store::open(folder.join("store"), Options::default())?;
    if dice.one_in(20) {
        store.sweep(SweepOptions::default().grace(Duration::from_millis(500)))?;
    }
    if dice.one_in(10) {
        store.remove_tree(&key(package))?;
    }
    drop(fs::create_dir(environment));
    let destination = store.destination(environment)?;
    let Some(tree) = store.tree(&key(package))? else {
        return from_source(&store, &destination, package);
    };
    match tree.place(&destination) {
        Err(error) if error.is_missing() => from_source(&store, &destination.replacing(), package),
        placed => placed.map(drop),
    }
}

fn from_source(store: &Store, destination: &Destination, package: u64) -> cas_store::Result<()> {
    let mut tree = TreeBuilder::new();
    for (path, name) in files(package) {
        let bytes = content::of(name);
        let digest = Digest::of(&bytes);
        let executable = executable(name);
        destination.put(&path, &bytes, digest, executable)?;
        tree.file(&path, digest, executable, bytes.len() as u64)?;
    }
    store.write_tree(&key(package), &tree.build()?)
}

/// The files of a package: some are its own, some are in other packages too.
fn files(package: u64) -> Vec<(String, u64)> {
    let mut dice = Dice::new(package ^ 0xf11e);
    let count = 2 + dice.below(14);
    (0..count).map(|n| (format!("part-{}/file-{n}", n % 3), dice.below(150))).collect()
}

fn executable(name: u64) -> Executable {
    if name.is_multiple_of(5) { Executable::Yes } else { Executable::No }
}

/// Compares what is there; all must be there when `complete`.
///
/// Where an installation failed, a file may be missing or be a stump that the caller throws away.
fn compare_all(environment: &Path, package: u64, complete: bool) -> Result<()> {
    for (path, name) in files(package).into_iter().filter(|_| complete) {
        let full = environment.join(&path);
        match fs::read(&full) {
            Ok(bytes) => content::compare(&full.display().to_string(), &bytes, name)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(format!("WRONG DATA: {} is not there", full.display()).into());
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Environments of processes that are gone.
fn remove_what_the_killed_left(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("env-");
        if owner.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    Ok(())
}

/// A full disk, missing descriptors and a sweep in between are no findings; damage is.
fn tolerate(outcome: std::result::Result<(), Error>) -> Result<()> {
    match outcome {
        Err(error) if error.is_corrupt() => Err(format!("WRONG DATA: {error}").into()),
        _ => Ok(()),
    }
}

/// After the storm: no object is damaged, and each package can be installed twice.
pub(super) fn check(folder: &Path) -> Result<()> {
    let store = Store::open(folder.join("store"), Options::default())?;
    let verified = store.verify(VerifyOptions::default())?;
    if !verified.damaged.is_empty() || verified.objects == 0 {
        return Err(format!("the store is not sound: {verified:?}").into());
    }
    for package in 0..PACKAGES {
        let environment = folder.join(format!("last-{package}"));
        try_install(folder, &environment, package, &mut Dice::new(package))?;
        compare_all(&environment, package, true)?;
        let tree = store.tree(&key(package))?.ok_or("a manifest that was just written is gone")?;
        place_again(&store, &tree, &folder.join(format!("again-{package}")), package)?;
    }
    Ok(())
}

fn place_again(store: &Store, tree: &Tree, environment: &PathBuf, package: u64) -> Result<()> {
    fs::create_dir(environment)?;
    tree.place(&store.destination(environment)?)?;
    compare_all(environment, package, true)
}

fn key(package: u64) -> String {
    format!("package-{package}")
}
