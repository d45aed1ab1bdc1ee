//! A small command line for a store: what each call of the library looks like in use.
//!
//! ```text
//! store ROOT add KEY FOLDER        put a folder's files into the store, as the tree KEY
//! store ROOT place KEY FOLDER      make FOLDER with the files of the tree KEY
//! store ROOT verify [FOLDER...]    check every object; heal from, and name sharers in, FOLDERs
//! store ROOT sweep [--dry-run]     remove what nothing needs, without grace
//! store ROOT adopt FOLDER          share the files of FOLDER in place
//! store ROOT savings               what sharing saves, by which files are shared
//! ```
//!
//! `cargo run --example store -- /tmp/store add docs docs`
#![expect(clippy::print_stdout, reason = "a command line talks")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cas_store::{
    AdoptOptions, Destination, Digest, Executable, Options, Store, SweepOptions, TreeBuilder,
    VerifyOptions,
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [root, rest @ ..] = arguments.as_slice() else { return Err(USAGE.into()) };
    let store = Store::open(root, Options::default())?;
    match rest {
        ["add", key, folder] => add(&store, key, Path::new(folder)),
        ["place", key, folder] => place(&store, key, Path::new(folder)),
        ["verify", folders @ ..] => verify(&store, folders),
        ["sweep"] => sweep(&store, false),
        ["sweep", "--dry-run"] => sweep(&store, true),
        ["adopt", folder] => adopt(&store, Path::new(folder)),
        ["savings"] => savings(&store),
        _ => Err(USAGE.into()),
    }
}

const USAGE: &str = "usage: store ROOT (add KEY FOLDER | place KEY FOLDER | verify [FOLDER...] | sweep [--dry-run] \
     | adopt FOLDER | savings)";

/// Places the folder's files in a stage beside it, then keeps only the manifest and the objects.
fn add(store: &Store, key: &str, folder: &Path) -> Result {
    let stage = folder.with_extension("cas-stage");
    fs::create_dir(&stage)?;
    let added = add_through(store, key, folder, &stage);
    fs::remove_dir_all(&stage)?;
    added
}

fn add_through(store: &Store, key: &str, folder: &Path, stage: &Path) -> Result {
    let destination = store.destination(stage)?;
    let mut tree = TreeBuilder::new();
    add_folder(&destination, &mut tree, folder, "")?;
    store.write_tree(key, &tree.build()?)?;
    let report = destination.report();
    println!("{} files: {} new, {} known", report.files(), report.published, report.linked);
    Ok(())
}

fn add_folder(to: &Destination, tree: &mut TreeBuilder, folder: &Path, prefix: &str) -> Result {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| "a name is not text")?;
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            add_folder(to, tree, &entry.path(), &format!("{path}/"))?;
        } else if entry.file_type()?.is_file() {
            let bytes = fs::read(entry.path())?;
            let executable = Executable::from(is_executable(&entry.metadata()?));
            let digest = Digest::of(&bytes);
            to.put(&path, &bytes, digest, executable)?;
            tree.file(&path, digest, executable, bytes.len() as u64)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

fn place(store: &Store, key: &str, folder: &Path) -> Result {
    let tree = store.tree(key)?.ok_or("there is no such tree")?;
    fs::create_dir(folder)?;
    let destination = store.destination(folder)?;
    let report = tree.place(&destination)?;
    println!("{} files by {:?}, {} private", report.files(), destination.means(), report.private);
    Ok(())
}

fn verify(store: &Store, folders: &[&str]) -> Result {
    let options = folders.iter().fold(VerifyOptions::default(), VerifyOptions::environment);
    let report = store.verify(options)?;
    println!("{} objects, {} bytes read", report.objects, report.bytes_read);
    for damage in &report.damaged {
        println!("{}: healed from {:?}", damage.digest, damage.healed);
        for path in &damage.shared_with {
            println!("  the same bad file: {}", path.display());
        }
    }
    Ok(())
}

fn sweep(store: &Store, dry_run: bool) -> Result {
    let options = SweepOptions::default().grace(Duration::ZERO).dry_run(dry_run);
    let report = store.sweep(options)?;
    let verb = if dry_run { "would remove" } else { "removed" };
    println!(
        "{verb} {} objects ({} bytes), {} kept",
        report.objects_removed, report.bytes_removed, report.objects_kept
    );
    Ok(())
}

fn adopt(store: &Store, folder: &Path) -> Result {
    let folder: PathBuf = folder.canonicalize()?;
    let report = store.adopt(folder, AdoptOptions::default().settled_for(Duration::ZERO))?;
    println!(
        "{} files: {} linked, {} added, {} bytes freed",
        report.files, report.linked, report.added, report.bytes_freed
    );
    Ok(())
}

fn savings(store: &Store) -> Result {
    let savings = store.savings()?;
    println!("{} files, {} bytes", savings.files(), savings.bytes());
    println!(
        "{:24} {:>14} {:>8} {:>8} {:>6}",
        "selection", "saved bytes", "files", "objects", "links"
    );
    for row in savings.table() {
        println!(
            "{:24} {:>14} {:>8} {:>8} {:>6}",
            format!("{:?}", row.selection),
            row.saved_bytes,
            row.files,
            row.objects,
            row.most_links
        );
    }
    Ok(())
}
