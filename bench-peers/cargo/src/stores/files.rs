//! A file per crate, in cargo's folders.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Bytes, Source};

pub(crate) struct Files(PathBuf);

fn path(root: &Path, key: &str) -> PathBuf {
    let folder = match key.len() {
        1 | 2 => key.len().to_string(),
        3 => format!("3/{}", &key[..1]),
        _ => format!("{}/{}", &key[..2], &key[2..4]),
    };
    root.join(folder).join(key)
}

pub(crate) fn fill(to: &Path, source: &Source<'_>) -> Result<()> {
    source(&mut |key, bytes| {
        let path = path(to, key);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, bytes)?)
    })
}

impl Files {
    pub(crate) fn open(folder: &Path) -> Self {
        Self(folder.to_owned())
    }
}

impl Bytes for Files {
    fn get(&self, key: &str) -> Result<Option<Cow<'_, [u8]>>> {
        match fs::read(path(&self.0, key)) {
            Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
