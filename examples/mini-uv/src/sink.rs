//! Where an archive's files go: into the store and, as hard links, into a private stage folder.
//!
//! This is the seam between three crates. `stream-extract` hands over files; a file that fits its
//! buffer is looked up in `cas-store` by digest before anything is written; what has to be written is
//! closed by `deferred-close`, and becomes an object of the store only after the real close. `commit`
//! waits for all of that, so that a tree that is remembered is a tree that is whole.
//!
//! One thread's part of that is in `sink/share.rs`; here the parts become one verified wheel.

mod guess;
mod place;
mod share;

use std::sync::{Arc, Mutex, PoisonError};

use cas_store::{Digest, TreeBuilder};
use deferred_close::Group;
use stream_extract::{Done, Entry, ParallelSink, Sink, SinkError, Summary};

pub(crate) use self::place::{Folder, Place};
use self::share::{Open, Share, Taken};
use crate::cache::Unpacked;
use crate::fault::Carried;
use crate::wheel::{self, Seen};
use crate::wheel_name::WheelName;

/// The sink of one wheel.
pub(crate) struct WheelSink<'a, 'scope> {
    wheel: &'a WheelName,
    group: &'a Group<'scope>,
    /// What this thread stores.
    own: Share<'a, 'scope>,
    /// What other threads have stored.
    others: Arc<Mutex<Taken>>,
    /// What else must hold before anything is committed.
    check: Check<'a>,
}

/// Starts the last part of the key of a wheel whose files are in a folder of their own.
const SEPARATE: &str = "separate-";

/// True for the key of a wheel whose files are in a folder of their own.
pub(crate) fn is_separate(key: &str) -> bool {
    key.rsplit('/').next().is_some_and(|last| last.starts_with(SEPARATE))
}

/// A last check, made when the archive was read to its end.
pub(crate) type Check<'a> = Box<dyn FnOnce() -> anyhow::Result<()> + 'a>;

/// What a verified wheel became.
pub(crate) struct Committed {
    pub(crate) unpacked: Unpacked,
    pub(crate) warning: Option<String>,
}

impl<'a, 'scope> WheelSink<'a, 'scope> {
    /// A sink for `wheel` that writes files to `place` and closes them through `group`.
    pub(crate) fn new(
        wheel: &'a WheelName,
        place: Place,
        group: &'a Group<'scope>,
        check: Check<'a>,
    ) -> Self {
        let others = Arc::default();
        let own = Share::new(place, group, Arc::clone(&others));
        Self { wheel, group, own, others, check }
    }
}

impl Sink for WheelSink<'_, '_> {
    type File = Open;
    type Committed = Committed;

    fn directory(&mut self, entry: &Entry<'_>) -> Result<(), SinkError> {
        self.own.directory(entry)
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<Open, SinkError> {
        self.own.begin(entry)
    }

    fn chunk(&mut self, open: &mut Open, bytes: &[u8]) -> Result<(), SinkError> {
        self.own.chunk(open, bytes)
    }

    fn end(&mut self, open: Open, done: &Done) -> Result<(), SinkError> {
        self.own.end(open, done)
    }

    fn whole(&mut self, entry: &Entry<'_>, bytes: &[u8], done: &Done) -> Result<(), SinkError> {
        self.own.whole(entry, bytes, done)
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        self.own.late_exec(entry, executable)
    }

    fn commit(self, summary: &Summary) -> Result<Committed, SinkError> {
        let Self { wheel, group, own, others, check } = self;
        own.commit(summary)?;
        group.wait()?;
        check().map_err(Carried)?;
        let mut taken = std::mem::take(&mut *others.lock().unwrap_or_else(PoisonError::into_inner));
        taken.sort();
        Ok(commit(wheel, taken).map_err(Carried)?)
    }
}

impl<'a, 'scope> ParallelSink for WheelSink<'a, 'scope> {
    type Worker = Share<'a, 'scope>;

    fn worker(&self) -> Result<Share<'a, 'scope>, SinkError> {
        Ok(self.own.another())
    }
}

/// Checks that the files are the wheel that its name promises, and describes it.
fn commit(wheel: &WheelName, mut taken: Taken) -> anyhow::Result<Committed> {
    let warning = verify(wheel, &mut taken)?;
    let mut tree = TreeBuilder::new();
    for file in taken.files.iter().filter(|file| file.shared) {
        if let Some(digest) = file.digest {
            tree.file(&file.path, digest, share::bit(file.executable), file.size)?;
        }
    }
    let tree = tree.build()?;
    let files = if tree.files().is_empty() {
        format!("{SEPARATE}{}", Digest::of(taken.texts.record.as_bytes()))
    } else {
        tree.digest().to_string()
    };
    let key = format!("{}/{}/{files}", wheel.name, wheel.version);
    Ok(Committed { unpacked: Unpacked { key, tree, texts: taken.texts }, warning })
}

fn verify(wheel: &WheelName, taken: &mut Taken) -> anyhow::Result<Option<String>> {
    let paths: Vec<&str> = taken.files.iter().map(|file| &*file.path).collect();
    let dist_info = wheel::dist_info(&paths, wheel)?;
    let files: Vec<Seen<'_>> = taken
        .files
        .iter()
        .map(|file| Seen { path: &file.path, size: file.size, sha256: file.sha256 })
        .collect();
    for name in ["METADATA", "WHEEL", "RECORD"] {
        let path = format!("{dist_info}/{name}");
        anyhow::ensure!(files.iter().any(|file| file.path == path), "it has no `{path}`");
    }
    wheel::check(wheel, &dist_info, &mut taken.texts, &files)
}
