//! What cargo does today: a file per crate, read whole, written without a temporary file or a sync.

use super::{FILES, Outcome, Reader, Store};
use crate::data::Crate;
use index_cache::cargo_layout::relative_path;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

pub struct Files;

struct Open(PathBuf);

impl Store for Files {
    fn name(&self) -> &'static str {
        FILES
    }

    fn fill(&self, folder: &Path, crates: &[Crate]) -> Outcome<()> {
        self.update(folder, crates, false)
    }

    fn open(&self, folder: &Path) -> Outcome<Box<dyn Reader>> {
        Ok(Box::new(Open(folder.to_path_buf())))
    }

    fn update(&self, folder: &Path, crates: &[Crate], durable: bool) -> Outcome<()> {
        for one in crates {
            let path = folder.join(relative_path(&one.name).ok_or("odd name")?);
            let parent = path.parent().ok_or("no parent")?;
            fs::create_dir_all(parent)?;
            if durable {
                replace(&path, parent, &one.blob)?;
            } else {
                fs::write(&path, &one.blob)?;
            }
        }
        Ok(())
    }

    fn note(&self) -> Option<&'static str> {
        Some(
            "Durable for a file per crate is a temporary file, sync, rename, sync of the folder: two syncs a document. Ours syncs twice a batch.",
        )
    }
}

fn replace(path: &Path, parent: &Path, bytes: &[u8]) -> Outcome<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&temporary, path)?;
    File::open(parent)?.sync_all()?;
    Ok(())
}

impl Reader for Open {
    fn whole(&mut self, name: &str, use_bytes: &mut dyn FnMut(&[u8])) -> Outcome<()> {
        use_bytes(&fs::read(self.0.join(relative_path(name).ok_or("odd name")?))?);
        Ok(())
    }
}
