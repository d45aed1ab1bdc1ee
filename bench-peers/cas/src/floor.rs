//! The least that hash first and links can cost: the same calls by hand, with perfect knowledge of
//! what was added, and nothing else.
//!
//! No stamp and no check of an object, no manifest, no counting, no second process: what is above this
//! row is the library's, what is above the goal here cannot be had on this machine.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Write};
use std::path::Path;

use bench_util::CaseError;
use cas_store::{Digest, Hasher};

use crate::corpus::{Entry, Wheel};
use crate::folder::Folder;
use crate::pipelines::{BUFFER, fill};

/// Objects, and what each wheel consists of.
#[derive(Default)]
pub struct Floor {
    known: RefCell<HashSet<String>>,
    trees: RefCell<HashMap<String, Vec<(String, String)>>>,
}

impl Floor {
    /// Unpacks a wheel into `env`, by link what is in `store` and by writing the rest.
    pub fn install(&self, wheel: &Wheel, store: &Path, env: &Path) -> Result<(), CaseError> {
        let (objects, env) = (Folder::make(store)?, Folder::make(env)?);
        let (mut buffer, mut tree) = (vec![0; BUFFER], Vec::with_capacity(wheel.files));
        wheel.each(|entry, reader| {
            env.make_parents(entry.path)?;
            let name = self.unpack(entry, reader, &mut buffer, &objects, &env)?;
            tree.push((name, entry.path.to_owned()));
            Ok(())
        })?;
        self.trees.borrow_mut().insert(wheel.name.clone(), tree);
        Ok(())
    }

    /// Links every file of a wheel into `env`.
    pub fn install_again(&self, wheel: &Wheel, store: &Path, env: &Path) -> Result<(), CaseError> {
        let (objects, env) = (Folder::make(store)?, Folder::make(env)?);
        let trees = self.trees.borrow();
        for (name, path) in trees.get(&wheel.name).ok_or("the wheel was not installed")? {
            env.make_parents(path)?;
            if name.is_empty() {
                env.create(path, false)?;
            } else {
                objects.link(name, &env, path)?;
            }
        }
        Ok(())
    }

    /// The object's name, empty for an empty file.
    fn unpack(
        &self,
        entry: &Entry<'_>,
        reader: &mut dyn Read,
        buffer: &mut [u8],
        objects: &Folder,
        env: &Folder,
    ) -> Result<String, CaseError> {
        let read = fill(reader, buffer)?;
        if read == 0 {
            env.create(entry.path, entry.executable)?;
            return Ok(String::new());
        }
        if read < buffer.len() {
            let name = object_name(&Digest::of(&buffer[..read]), entry.executable);
            if self.known.borrow().contains(&name) {
                objects.link(&name, env, entry.path)?;
                return Ok(name);
            }
            env.create(entry.path, entry.executable)?.write_all(&buffer[..read])?;
            return self.share(name, entry.path, objects, env).map_err(Into::into);
        }
        let digest = stream(entry, reader, buffer, env)?;
        let name = object_name(&digest, entry.executable);
        self.share(name, entry.path, objects, env).map_err(Into::into)
    }

    /// Links a file that was written to its object; one that is there stays.
    fn share(
        &self,
        name: String,
        path: &str,
        objects: &Folder,
        env: &Folder,
    ) -> io::Result<String> {
        if self.known.borrow_mut().insert(name.clone()) {
            objects.make_parents(&name)?;
            env.link(path, objects, &name)?;
        }
        Ok(name)
    }
}

/// An entry whose first buffer is full.
fn stream(
    entry: &Entry<'_>,
    reader: &mut dyn Read,
    buffer: &mut [u8],
    env: &Folder,
) -> io::Result<Digest> {
    let (mut file, mut hasher) = (env.create(entry.path, entry.executable)?, Hasher::new());
    let mut read = buffer.len();
    loop {
        hasher.update(&buffer[..read]);
        file.write_all(&buffer[..read])?;
        if read < buffer.len() {
            return Ok(hasher.finish());
        }
        read = fill(reader, buffer)?;
    }
}

fn object_name(digest: &Digest, executable: bool) -> String {
    let hex = digest.to_string();
    format!("{}/{}{}", &hex[..2], &hex[2..], if executable { "x" } else { "" })
}
