//! One thread's part of a wheel: writes files, closes them, and remembers what it stored.
//!
//! RECORD is read and not stored: every environment gets its own. Whether the files are a wheel is
//! not known here.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use cas_store::{Digest, Executable};
use deferred_close::Group;
use stream_extract::{Done, Entry, EntryId, Sink, SinkError, Summary};

use super::guess;
use super::place::{Place, Writing, Written};
use crate::wheel::Texts;

/// The largest metadata file that is kept in memory, in bytes. The largest RECORD of a published
/// wheel is about 3 MB.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Files of `.dist-info` that an installer writes itself.
const OWN: [&str; 4] = ["RECORD", "INSTALLER", "REQUESTED", "direct_url.json"];

/// What one thread stores.
pub(crate) struct Share<'a, 'scope> {
    place: Place,
    group: &'a Group<'scope>,
    taken: Taken,
    /// True once every file so far is closed and published.
    settled: bool,
    /// Where all threads put what they have stored, when they are done.
    all: Arc<Mutex<Taken>>,
}

/// The files and texts of a wheel, or of a part of it.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) files: Vec<Stored>,
    pub(super) texts: Texts,
}

/// A file that was stored.
pub(super) struct Stored {
    id: EntryId,
    pub(super) path: String,
    /// None in a folder that is not shared.
    pub(super) digest: Option<Digest>,
    pub(super) sha256: [u8; 32],
    pub(super) size: u64,
    pub(super) executable: bool,
    /// False for files that every environment gets anew.
    pub(super) shared: bool,
}

/// A file that is being written because it does not fit the extractor's buffer.
pub(crate) struct Open {
    path: String,
    executable: bool,
    /// None for files that every environment gets anew.
    file: Option<Writing>,
    text: Option<Vec<u8>>,
}

impl Taken {
    /// Adds what another thread has.
    fn absorb(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        let Texts { metadata, wheel, record, entry_points } = other.texts;
        for (mine, theirs) in [
            (&mut self.texts.metadata, metadata),
            (&mut self.texts.wheel, wheel),
            (&mut self.texts.record, record),
            (&mut self.texts.entry_points, entry_points),
        ] {
            if !theirs.is_empty() {
                *mine = theirs;
            }
        }
    }

    /// Puts the files into the archive's order.
    pub(super) fn sort(&mut self) {
        self.files.sort_unstable_by_key(|file| file.id);
    }
}

impl<'a, 'scope> Share<'a, 'scope> {
    pub(super) fn new(place: Place, group: &'a Group<'scope>, all: Arc<Mutex<Taken>>) -> Self {
        Self { place, group, taken: Taken::default(), settled: true, all }
    }

    /// An empty share of the same wheel, for another thread.
    pub(super) fn another(&self) -> Self {
        Self::new(self.place.clone(), self.group, Arc::clone(&self.all))
    }

    fn remember(
        &mut self,
        path: String,
        executable: bool,
        shared: bool,
        done: &Done,
    ) -> Result<(), SinkError> {
        let digest = done.blake3.map(Digest::from);
        let sha256 = done.sha256.ok_or("the extractor computed no SHA-256")?;
        let (id, size) = (done.id, done.size);
        self.taken.files.push(Stored { id, path, digest, sha256, size, executable, shared });
        Ok(())
    }

    fn close(&mut self, path: &str, written: Written) {
        self.settled = false;
        let Written { file, publish } = written;
        let path = self.place.path().join(path);
        // Errors are kept by the group and come out of `commit`.
        let _handed = self.group.close_then(file, path, move |closed| {
            closed?;
            publish.map_or(Ok(()), |publish| publish.run().map(drop).map_err(io::Error::other))
        });
    }

    /// Waits until every file is closed and published.
    fn settle(&mut self) -> Result<(), SinkError> {
        if !self.settled {
            self.group.wait()?;
            self.settled = true;
        }
        Ok(())
    }

    fn keep_text(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), SinkError> {
        let Some(slot) = slot(&mut self.taken.texts, path) else { return Ok(()) };
        *slot = String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8"))?;
        Ok(())
    }
}

impl Sink for Share<'_, '_> {
    type File = Open;
    type Committed = ();

    fn directory(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        // Folders come with their files; an empty one would be in no RECORD.
        Ok(())
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<Open, SinkError> {
        let path = entry.path().to_owned();
        let executable = is_executable(entry);
        let file = if is_own(&path) { None } else { Some(self.place.create(&path, executable)?) };
        let text = slot(&mut self.taken.texts, &path).map(|_| Vec::new());
        Ok(Open { path, executable, file, text })
    }

    fn chunk(&mut self, open: &mut Open, bytes: &[u8]) -> Result<(), SinkError> {
        if let Some(file) = &mut open.file {
            file.write_all(bytes)?;
        }
        if let Some(text) = &mut open.text {
            if text.len() + bytes.len() > TEXT_BYTES_MAX {
                return Err(format!("`{}` has more than {TEXT_BYTES_MAX} bytes", open.path).into());
            }
            text.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn end(&mut self, open: Open, done: &Done) -> Result<(), SinkError> {
        let Open { path, executable, file, text } = open;
        let shared = file.is_some();
        if let Some(file) = file {
            let written = file.finish(done)?;
            self.close(&path, written);
        }
        if let Some(text) = text {
            self.keep_text(&path, text)?;
        }
        self.remember(path, executable, shared, done)
    }

    fn whole(&mut self, entry: &Entry<'_>, bytes: &[u8], done: &Done) -> Result<(), SinkError> {
        let path = entry.path();
        let executable = is_executable(entry);
        let shared = !is_own(path);
        if shared && let Some(written) = self.place.put(path, bytes, executable, done)? {
            self.close(path, written);
        }
        if slot(&mut self.taken.texts, path).is_some() {
            self.keep_text(path, bytes.to_vec())?;
        }
        self.remember(path.to_owned(), executable, shared, done)
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        let found = self.taken.files.binary_search_by_key(&entry.id(), |file| file.id);
        let at = found.map_err(|_| "an entry that was never stored")?;
        if self.taken.files[at].executable == executable {
            return Ok(());
        }
        // A file that is still being closed would be published under the other variant's name.
        self.settle()?;
        let file = &mut self.taken.files[at];
        file.executable = executable;
        if file.shared {
            self.place.set_executable(&file.path, file.digest, executable)?;
        }
        Ok(())
    }

    fn commit(self, _: &Summary) -> Result<(), SinkError> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).absorb(self.taken);
        Ok(())
    }
}

pub(super) fn bit(executable: bool) -> Executable {
    if executable { Executable::Yes } else { Executable::No }
}

/// What the archive says, or what is likely when it says so only at its end.
fn is_executable(entry: &Entry<'_>) -> bool {
    entry.executable().unwrap_or_else(|| guess::is_executable(entry.path()))
}

/// The name within a top-level `.dist-info` folder.
fn in_dist_info(path: &str) -> Option<&str> {
    path.split_once('/').filter(|(top, _)| top.ends_with(".dist-info")).map(|(_, name)| name)
}

fn is_own(path: &str) -> bool {
    in_dist_info(path).is_some_and(|name| OWN.contains(&name))
}

/// Where the text of a metadata file is kept.
fn slot<'t>(texts: &'t mut Texts, path: &str) -> Option<&'t mut String> {
    match in_dist_info(path)? {
        "METADATA" => Some(&mut texts.metadata),
        "WHEEL" => Some(&mut texts.wheel),
        "RECORD" => Some(&mut texts.record),
        "entry_points.txt" => Some(&mut texts.entry_points),
        _ => None,
    }
}
