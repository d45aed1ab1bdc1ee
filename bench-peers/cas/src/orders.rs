//! Every order of system calls in which a file can be written and become known by its content.
//!
//! The bytes are in memory already, so that only hashing and the file system are measured.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use bench_util::CaseError;
use cas_store::{Digest, Executable, Options, Store};

use crate::corpus::Wheel;
use crate::folder::Folder;

/// A file, inflated.
pub struct File {
    /// Relative to the destination.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// By the central directory.
    pub executable: bool,
}

/// Inflates all files.
pub fn inflate(wheels: &[Wheel]) -> Result<Vec<File>, CaseError> {
    let mut files = Vec::new();
    for wheel in wheels {
        wheel.each(|entry, reader| {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            let path = format!("{}/{}", wheel.name, entry.path);
            files.push(File { path, bytes, executable: entry.executable });
            Ok(())
        })?;
    }
    Ok(files)
}

/// One order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Create, write, close: no store at all.
    Plain,
    /// The same, and BLAKE3.
    Hashed,
    /// This library: link if known, else write, close, link back; with its check of every hit.
    Ours,
    /// The same calls by hand, without any check.
    HashFirst,
    /// Ask by `stat` before linking.
    StatFirst,
    /// Write, then link to the store; when it is known, unlink and link back (uv's order).
    WriteFirst,
    /// The same in two passes, sorted by shard (uv's loop).
    WriteFirstSorted,
    /// Create under the object's own name, then link out (pnpm's order; shows partial objects).
    InStore,
    /// Write a temporary file in the store, rename it, then link out.
    Renamed,
    /// Write a file without a name, give it both names.
    Unnamed,
}

impl Order {
    /// All, the reference first.
    pub const ALL: [Self; 10] = [
        Self::Plain,
        Self::Hashed,
        Self::Ours,
        Self::HashFirst,
        Self::StatFirst,
        Self::WriteFirst,
        Self::WriteFirstSorted,
        Self::InStore,
        Self::Renamed,
        Self::Unnamed,
    ];

    /// For the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain write, no store",
            Self::Hashed => "plain write + BLAKE3",
            Self::Ours => "cas-store (hash first, every hit checked)",
            Self::HashFirst => "hash first, raw calls, no check",
            Self::StatFirst => "stat, then link or write",
            Self::WriteFirst => "write, link; known: unlink, link back (uv's order)",
            Self::WriteFirstSorted => "the same, second pass by shard",
            Self::InStore => "create in the store, link out (pnpm's order)",
            Self::Renamed => "temporary + rename in the store, link out",
            Self::Unnamed => "O_TMPFILE, two linkat",
        }
    }
}

/// Writes `files` into `to` by `order`, with the store at `store`, made if need be.
pub fn write(order: Order, files: &[File], store: &Path, to: &Path) -> Result<(), CaseError> {
    if order == Order::Ours {
        return ours(files, store, to);
    }
    if !matches!(order, Order::Plain | Order::Hashed) && !store.exists() {
        make_shards(store)?;
    }
    let (objects, dest) = (Folder::make(store)?, Folder::make(to)?);
    let mut later = Vec::new();
    for file in files {
        dest.make_parents(&file.path)?;
        if order == Order::Plain {
            write_file(&dest, &file.path, file)?;
            continue;
        }
        let name = object_name(&Digest::of(&file.bytes), file.executable);
        match order {
            Order::WriteFirstSorted => {
                write_file(&dest, &file.path, file)?;
                later.push((name, &file.path));
            }
            _ => write_one(order, file, &name, &objects, &dest)?,
        }
    }
    later.sort_unstable();
    later.iter().try_for_each(|(name, path)| share(&dest, path, &objects, name))?;
    Ok(())
}

/// Makes the 256 folders.
fn make_shards(store: &Path) -> io::Result<()> {
    fs::create_dir_all(store)?;
    (0..256).try_for_each(|shard| fs::create_dir(store.join(format!("{shard:02x}"))))
}

fn object_name(digest: &Digest, executable: bool) -> String {
    let hex = digest.to_string();
    format!("{}/{}{}", &hex[..2], &hex[2..], if executable { "x" } else { "" })
}

fn write_file(to: &Folder, name: &str, file: &File) -> io::Result<()> {
    to.create(name, file.executable)?.write_all(&file.bytes)
}

fn share(dest: &Folder, path: &str, objects: &Folder, name: &str) -> io::Result<()> {
    match dest.link(path, objects, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            dest.unlink(path)?;
            objects.link(name, dest, path)
        }
        other => other,
    }
}

fn write_one(
    order: Order,
    file: &File,
    name: &str,
    objects: &Folder,
    dest: &Folder,
) -> io::Result<()> {
    let path = &file.path;
    match order {
        Order::Plain | Order::Hashed | Order::Ours | Order::WriteFirstSorted => {
            write_file(dest, path, file)
        }
        Order::WriteFirst => {
            write_file(dest, path, file)?;
            share(dest, path, objects, name)
        }
        Order::StatFirst if objects.has(name) => objects.link(name, dest, path),
        Order::StatFirst => {
            write_file(dest, path, file)?;
            dest.link(path, objects, name)
        }
        Order::HashFirst => known_or(objects.link(name, dest, path), || {
            write_file(dest, path, file)?;
            dest.link(path, objects, name)
        }),
        Order::InStore => known_or(objects.link(name, dest, path), || {
            write_file(objects, name, file)?;
            objects.link(name, dest, path)
        }),
        Order::Renamed => known_or(objects.link(name, dest, path), || {
            write_file(objects, "tmp", file)?;
            objects.rename("tmp", objects, name)?;
            objects.link(name, dest, path)
        }),
        Order::Unnamed => known_or(objects.link(name, dest, path), || {
            let mut unnamed = dest.create_unnamed(file.executable)?;
            unnamed.write_all(&file.bytes)?;
            dest.name(&unnamed, path)?;
            dest.link(path, objects, name)
        }),
    }
}

fn known_or(linked: io::Result<()>, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match linked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => write(),
        other => other,
    }
}

fn ours(files: &[File], store: &Path, to: &Path) -> Result<(), CaseError> {
    fs::create_dir_all(to)?;
    let dest = Store::open(store, Options::default())?.destination(to)?;
    for file in files {
        let executable = Executable::from(file.executable);
        dest.put(&file.path, &file.bytes, Digest::of(&file.bytes), executable)?;
    }
    Ok(())
}
