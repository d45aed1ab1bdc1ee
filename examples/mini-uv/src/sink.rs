//! Where an archive's files go: into the store and, as hard links, into a private stage folder.
//!
//! This is the seam between three crates. `stream-extract` hands over files in archive order; a file
//! that fits its buffer is looked up in `cas-store` by digest before anything is written; what has to
//! be written is closed by `deferred-close`, and becomes an object of the store only after the real
//! close. `commit` waits for all of that, so that a tree that is remembered is a tree that is whole.
//!
//! RECORD is read and not stored: every environment gets its own.

use std::fs::File;
use std::io::{self, Write};

use cas_store::{Destination, Digest, Executable, Lookup, Publish, StreamedFile, TreeBuilder};
use deferred_close::Group;
use stream_extract::{Done, Entry, EntryId, Sink, SinkError, Summary};

use crate::cache::Unpacked;
use crate::fault::Carried;
use crate::wheel::{self, Seen, Texts};
use crate::wheel_name::WheelName;

/// The largest metadata file that is kept in memory, in bytes. The largest RECORD of a published
/// wheel is about 3 MB.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// Files of `.dist-info` that an installer writes itself.
const OWN: [&str; 4] = ["RECORD", "INSTALLER", "REQUESTED", "direct_url.json"];

/// The sink of one wheel.
pub(crate) struct WheelSink<'a, 'scope> {
    wheel: &'a WheelName,
    destination: Destination,
    group: &'a Group<'scope>,
    files: Vec<Stored>,
    texts: Texts,
    /// True once every file so far is closed and published.
    settled: bool,
    /// What else must hold before anything is committed.
    check: Check<'a>,
}

/// A last check, made when the archive was read to its end.
pub(crate) type Check<'a> = Box<dyn FnOnce() -> anyhow::Result<()> + 'a>;

/// A file that was stored.
struct Stored {
    id: EntryId,
    path: String,
    digest: Digest,
    sha256: [u8; 32],
    size: u64,
    executable: bool,
    /// False for files that every environment gets anew.
    shared: bool,
}

/// A file that is being written because it does not fit the extractor's buffer.
pub(crate) struct Open {
    path: String,
    executable: bool,
    /// None for files that every environment gets anew.
    file: Option<StreamedFile>,
    text: Option<Vec<u8>>,
}

/// What a verified wheel became.
pub(crate) struct Committed {
    pub(crate) unpacked: Unpacked,
    pub(crate) warning: Option<String>,
}

impl<'a, 'scope> WheelSink<'a, 'scope> {
    /// A sink for `wheel` that places files in `destination` and closes them through `group`.
    pub(crate) fn new(
        wheel: &'a WheelName,
        destination: Destination,
        group: &'a Group<'scope>,
        check: Check<'a>,
    ) -> Self {
        Self {
            wheel,
            destination,
            group,
            files: Vec::new(),
            texts: Texts::default(),
            settled: true,
            check,
        }
    }

    fn remember(
        &mut self,
        path: String,
        executable: bool,
        shared: bool,
        done: &Done,
    ) -> Result<(), SinkError> {
        let digest = done.blake3.ok_or("the extractor computed no BLAKE3")?;
        let sha256 = done.sha256.ok_or("the extractor computed no SHA-256")?;
        let digest = Digest::from(digest);
        self.files.push(Stored {
            id: done.id,
            path,
            digest,
            sha256,
            size: done.size,
            executable,
            shared,
        });
        Ok(())
    }

    fn close(&mut self, path: &str, file: File, publish: Publish) {
        self.settled = false;
        let path = self.destination.path().join(path);
        // Errors are kept by the group and come out of `commit`.
        let _handed = self.group.close_then(file, path, move |closed| {
            closed?;
            publish.run().map(drop).map_err(io::Error::other)
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

    fn put(
        &mut self,
        path: &str,
        bytes: &[u8],
        executable: bool,
        done: &Done,
    ) -> Result<(), SinkError> {
        let digest = Digest::from(done.blake3.ok_or("the extractor computed no BLAKE3")?);
        if let Lookup::Missing(mut new) =
            self.destination.place_or_create(path, digest, bit(executable))?
        {
            new.write_all(bytes)?;
            let (file, publish) = new.into_parts()?;
            self.close(path, file, publish);
        }
        Ok(())
    }

    fn keep_text(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), SinkError> {
        let Some(slot) = slot(&mut self.texts, path) else { return Ok(()) };
        *slot = String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8"))?;
        Ok(())
    }

    fn tree(&self) -> cas_store::Result<cas_store::Tree> {
        let mut tree = TreeBuilder::new();
        for file in self.files.iter().filter(|file| file.shared) {
            tree.file(&file.path, file.digest, bit(file.executable), file.size)?;
        }
        tree.build()
    }

    /// Checks that the archive is the wheel that its name promises.
    fn verify(&mut self) -> anyhow::Result<Option<String>> {
        let paths: Vec<&str> = self.files.iter().map(|file| &*file.path).collect();
        let dist_info = wheel::dist_info(&paths, self.wheel)?;
        let files: Vec<Seen<'_>> = self
            .files
            .iter()
            .map(|file| Seen { path: &file.path, size: file.size, sha256: file.sha256 })
            .collect();
        for name in ["METADATA", "WHEEL", "RECORD"] {
            let path = format!("{dist_info}/{name}");
            anyhow::ensure!(files.iter().any(|file| file.path == path), "it has no `{path}`");
        }
        wheel::check(self.wheel, &dist_info, &mut self.texts, &files)
    }
}

impl Sink for WheelSink<'_, '_> {
    type File = Open;
    type Committed = Committed;

    fn directory(&mut self, _: &Entry<'_>) -> Result<(), SinkError> {
        // Folders come with their files; an empty one would be in no RECORD.
        Ok(())
    }

    fn begin(&mut self, entry: &Entry<'_>) -> Result<Open, SinkError> {
        let path = entry.path().to_owned();
        let executable = entry.executable().unwrap_or(false);
        let file = if is_own(&path) {
            None
        } else {
            Some(self.destination.create(&path, bit(executable))?)
        };
        let text = slot(&mut self.texts, &path).map(|_| Vec::new());
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
            let digest = Digest::from(done.blake3.ok_or("the extractor computed no BLAKE3")?);
            let (file, publish) = file.finish(digest)?;
            self.close(&path, file, publish);
        }
        if let Some(text) = text {
            self.keep_text(&path, text)?;
        }
        self.remember(path, executable, shared, done)
    }

    fn whole(&mut self, entry: &Entry<'_>, bytes: &[u8], done: &Done) -> Result<(), SinkError> {
        let path = entry.path();
        let executable = entry.executable().unwrap_or(false);
        let shared = !is_own(path);
        if shared {
            self.put(path, bytes, executable, done)?;
        }
        if slot(&mut self.texts, path).is_some() {
            self.keep_text(path, bytes.to_vec())?;
        }
        self.remember(path.to_owned(), executable, shared, done)
    }

    fn late_exec(&mut self, entry: &Entry<'_>, executable: bool) -> Result<(), SinkError> {
        if !executable {
            return Ok(());
        }
        // A file that is still being closed would be published under the other variant's name.
        self.settle()?;
        let at = self.files.binary_search_by_key(&entry.id(), |file| file.id);
        let file = &mut self.files[at.map_err(|_| "an entry that was never stored")?];
        file.executable = true;
        if file.shared {
            self.destination.set_executable(&file.path, file.digest, Executable::Yes)?;
        }
        Ok(())
    }

    fn commit(mut self, _: &Summary) -> Result<Committed, SinkError> {
        self.settle()?;
        std::mem::replace(&mut self.check, Box::new(|| Ok(())))().map_err(Carried)?;
        let warning = self.verify().map_err(Carried)?;
        let tree = self.tree()?;
        let WheelName { name, version, .. } = self.wheel;
        let key = format!("{name}/{version}/{}", tree.digest());
        Ok(Committed { unpacked: Unpacked { key, tree, texts: self.texts }, warning })
    }
}

fn bit(executable: bool) -> Executable {
    if executable { Executable::Yes } else { Executable::No }
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
