//! Whole installs, inflating included: from wheels into a cache and an environment, then from the
//! cache into a second one.

use std::cell::OnceCell;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use bench_util::CaseError;
use cas_store::{Destination, Digest, Executable, Hasher, Options, Store, TreeBuilder};

use crate::corpus::{Entry, Wheel};
use crate::floor::Floor;
use crate::folder::{Folder, link_tree};

/// How a wheel gets into a cache and from there into environments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pipeline {
    /// An archive folder per wheel, linked into environments; no deduplication. The reference.
    Archive,
    /// The same, hashed, and each file of the archive linked to a store (uv's files-v0).
    UvShape,
    /// cas-store, hash first, one manifest per wheel, no archive folder.
    Manifest,
    /// cas-store, hash first, an archive folder of hard links per wheel.
    ArchiveOfLinks,
    /// The calls of hash first and nothing else.
    Floor,
}

impl Pipeline {
    /// All, the reference first.
    pub const ALL: [Self; 5] =
        [Self::Archive, Self::UvShape, Self::Manifest, Self::ArchiveOfLinks, Self::Floor];

    /// For the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Archive => "archive folder, no dedupe",
            Self::UvShape => "uv's shape with files-v0",
            Self::Manifest => "cas-store, manifest",
            Self::ArchiveOfLinks => "cas-store, archive of links",
            Self::Floor => "floor: hash first by hand, no checks",
        }
    }

    /// Fills the cache from wheels and makes an environment.
    pub fn install(self, wheels: &[Wheel], site: &Site, env: &str) -> Result<(), CaseError> {
        for wheel in wheels {
            match self {
                Self::Archive => archive(wheel, site, env, false)?,
                Self::UvShape => archive(wheel, site, env, true)?,
                Self::Manifest => manifest(wheel, site, env)?,
                Self::ArchiveOfLinks => archive_of_links(wheel, site, env)?,
                Self::Floor => site.floor.install(wheel, &site.objects(), &site.env(env))?,
            }
        }
        Ok(())
    }

    /// Makes another environment from the cache.
    pub fn install_again(self, wheels: &[Wheel], site: &Site, env: &str) -> Result<(), CaseError> {
        let env = Folder::make(&site.env(env))?;
        for wheel in wheels {
            match self {
                Self::Archive | Self::UvShape => {
                    link_tree(&Folder::make(&site.archive(&wheel.name))?, &env)?;
                }
                Self::Manifest => {
                    let store = site.store()?;
                    let tree = store.tree(&wheel.name)?.ok_or("the tree is not there")?;
                    tree.place(&store.destination(env.path())?)?;
                }
                Self::ArchiveOfLinks => {
                    let store = site.store()?;
                    let archive = store.archive(&wheel.name)?.ok_or("the archive is not there")?;
                    archive.place(&store.destination(env.path())?)?;
                }
                Self::Floor => site.floor.install_again(wheel, &site.objects(), env.path())?,
            }
        }
        Ok(())
    }
}

/// Where one run works: a cache and environments on one file system.
pub struct Site {
    root: PathBuf,
    store: OnceCell<Store>,
    floor: Floor,
}

impl Site {
    /// In an empty folder.
    pub fn new(root: PathBuf) -> Self {
        Self { root, store: OnceCell::new(), floor: Floor::default() }
    }

    /// The folder of an environment.
    pub fn env(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn archive(&self, name: &str) -> PathBuf {
        self.root.join("cache/archive").join(name)
    }

    fn objects(&self) -> PathBuf {
        self.root.join("cache/objects")
    }

    /// Opened once per run, inside the measured time.
    fn store(&self) -> Result<&Store, CaseError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let store = Store::open(self.root.join("cache/store"), Options::default())?;
        Ok(self.store.get_or_init(|| store))
    }
}

/// One buffer, as the extractors have: what fits is hashed before it is written.
pub(crate) const BUFFER: usize = 64 * 1024;

fn archive(wheel: &Wheel, site: &Site, env: &str, dedupe: bool) -> Result<(), CaseError> {
    let archives = Folder::make(&site.root.join("cache/archive"))?;
    let stage = Folder::make(&site.root.join("cache/stage"))?;
    let mut objects = Vec::new();
    let mut buffer = vec![0; BUFFER];
    wheel.each(|entry, reader| {
        stage.make_parents(entry.path)?;
        let mut file = stage.create(entry.path, entry.executable)?;
        if dedupe {
            let digest = copy_hashing(reader, &mut file, &mut buffer)?;
            objects.push((digest.to_string(), entry.executable, entry.path.to_owned()));
        } else {
            copy(reader, &mut file, &mut buffer)?;
        }
        Ok(())
    })?;
    if dedupe {
        share_all(&stage, &site.root.join("cache/files"), objects)?;
    }
    let parent = Folder::make(&site.root.join("cache"))?;
    parent.rename("stage", &archives, &wheel.name)?;
    link_tree(&Folder::make(&site.archive(&wheel.name))?, &Folder::make(&site.env(env))?)?;
    Ok(())
}

/// By shard, as uv does: make the shard, link, and on a duplicate drop it and link back.
fn share_all(
    stage: &Folder,
    files: &Path,
    mut objects: Vec<(String, bool, String)>,
) -> io::Result<()> {
    let store = Folder::make(files)?;
    objects.sort_unstable();
    for (hex, executable, path) in objects {
        let name = format!("{}/{hex}{}", &hex[..2], if executable { "x" } else { "" });
        store.make_parents(&name)?;
        match stage.link(&path, &store, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                stage.unlink(&path)?;
                store.link(&name, stage, &path)?;
            }
            other => other?,
        }
    }
    Ok(())
}

/// Into a private stage beside the environment, renamed into place at the end.
fn manifest(wheel: &Wheel, site: &Site, env: &str) -> Result<(), CaseError> {
    let store = site.store()?;
    let stage = site.env(&format!("{env}-stage"));
    fs::create_dir_all(&stage)?;
    let mut tree = TreeBuilder::new();
    unpack(wheel, &store.destination(&stage)?, &mut tree)?;
    let env = site.env(env);
    fs::create_dir_all(&env)?;
    for entry in fs::read_dir(&stage)? {
        let entry = entry?;
        fs::rename(entry.path(), env.join(entry.file_name()))?;
    }
    fs::remove_dir(&stage)?;
    store.write_tree(&wheel.name, &tree.build()?)?;
    Ok(())
}

fn archive_of_links(wheel: &Wheel, site: &Site, env: &str) -> Result<(), CaseError> {
    let store = site.store()?;
    let archive = store.begin_archive(&wheel.name)?;
    let mut tree = TreeBuilder::new();
    unpack(wheel, archive.destination(), &mut tree)?;
    archive.commit(&tree.build()?)?;
    let env = site.env(env);
    fs::create_dir_all(&env)?;
    let archive = store.archive(&wheel.name)?.ok_or("the archive is not there")?;
    archive.place(&store.destination(env)?)?;
    Ok(())
}

fn unpack(wheel: &Wheel, to: &Destination, tree: &mut TreeBuilder) -> Result<(), CaseError> {
    let mut buffer = vec![0; BUFFER];
    wheel.each(|entry, reader| {
        let executable = Executable::from(entry.executable);
        let digest = if entry.size <= BUFFER as u64 {
            put_whole(entry, reader, to, &mut buffer, executable)?
        } else {
            put_streamed(entry, reader, to, &mut buffer, executable)?
        };
        tree.file(entry.path, digest, executable, entry.size)?;
        Ok(())
    })
}

fn put_whole(
    entry: &Entry<'_>,
    reader: &mut dyn Read,
    to: &Destination,
    buffer: &mut [u8],
    executable: Executable,
) -> Result<Digest, CaseError> {
    // Room behind the last byte lets the inflater keep its fast path to the end, as in the reference.
    let read = fill(reader, buffer)?;
    if read as u64 != entry.size || (read == buffer.len() && reader.read(&mut [0])? != 0) {
        return Err("an entry is not as long as stated".into());
    }
    let bytes = &buffer[..read];
    let digest = Digest::of(bytes);
    to.put(entry.path, bytes, digest, executable)?;
    Ok(digest)
}

fn put_streamed(
    entry: &Entry<'_>,
    reader: &mut dyn Read,
    to: &Destination,
    buffer: &mut [u8],
    executable: Executable,
) -> Result<Digest, CaseError> {
    let mut new = to.create(entry.path, executable)?;
    let digest = copy_hashing(reader, &mut new, buffer)?;
    let (file, publish) = new.finish(digest)?;
    drop(file);
    publish.run()?;
    Ok(digest)
}

fn copy(reader: &mut dyn Read, to: &mut dyn Write, buffer: &mut [u8]) -> io::Result<()> {
    loop {
        let read = fill(reader, buffer)?;
        to.write_all(&buffer[..read])?;
        if read < buffer.len() {
            return Ok(());
        }
    }
}

fn copy_hashing(
    reader: &mut dyn Read,
    to: &mut dyn Write,
    buffer: &mut [u8],
) -> io::Result<Digest> {
    let mut hasher = Hasher::new();
    loop {
        let read = fill(reader, buffer)?;
        hasher.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        if read < buffer.len() {
            return Ok(hasher.finish());
        }
    }
}

/// Reads until the buffer is full or the entry ends.
pub(crate) fn fill(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
