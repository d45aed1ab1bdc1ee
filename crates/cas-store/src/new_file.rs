//! Files that the store did not have: written by the caller, closed by anyone, published afterwards.
//!
//! Publishing comes strictly after the real close. Until then a buffered byte may be missing, a
//! network file system may still fail, and a program that is open for writing cannot be executed
//! (ETXTBSY), through any of its names.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};

use crate::contest::{Contest, Wanted};
use crate::copying::{self, Copied};
use crate::destination::Destination;
use crate::digest::{Digest, Executable};
use crate::error::Result;
use crate::layout::ObjectName;
use crate::placed::{Placed, Why};
use crate::plan::Means;
use crate::protocol::{self, Published};
use crate::store::Inner;
use crate::sys::gone_is_fine;

/// A new, empty file at the destination, for bytes whose digest is known.
///
/// Dropping it removes the file.
#[derive(Debug)]
pub struct NewFile {
    draft: Draft<'static>,
    wanted: Wanted,
}

impl NewFile {
    pub(crate) fn new(draft: Draft<'static>, wanted: Wanted) -> Self {
        Self { draft, wanted }
    }

    /// The open file, to be closed by the caller, and what to run after its real close.
    ///
    /// The bytes written must be those of the digest that was asked for.
    ///
    /// # Errors
    ///
    /// When the file's time or mode cannot be set.
    pub fn into_parts(self) -> Result<(File, Publish)> {
        self.draft.into_parts(self.wanted).map(Publish::of)
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A new, empty file at the destination, for bytes whose digest is known at the end.
///
/// Dropping it removes the file.
#[derive(Debug)]
pub struct StreamedFile {
    draft: Draft<'static>,
    executable: Executable,
}

impl StreamedFile {
    pub(crate) fn new(draft: Draft<'static>, executable: Executable) -> Self {
        Self { draft, executable }
    }

    /// The open file, to be closed by the caller, and what to run after its real close.
    ///
    /// `digest` must be that of all bytes written.
    ///
    /// # Errors
    ///
    /// When the file's time or mode cannot be set.
    pub fn finish(self, digest: Digest) -> Result<(File, Publish)> {
        let wanted = Wanted { digest, executable: self.executable, size: None };
        self.draft.into_parts(wanted).map(Publish::of)
    }
}

impl Write for StreamedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.draft.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An open file and the promise to remove it unless it is finished.
///
/// Borrowed while one call does everything, owned when the caller takes it elsewhere.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) file: File,
    written: u64,
    target: Target<'a>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        file: File,
        destination: Cow<'a, Destination>,
        path: Cow<'a, str>,
        written_as: Cow<'a, str>,
    ) -> Self {
        Self { file, written: 0, target: Target { destination, path, written_as, settled: false } }
    }

    pub(crate) fn into_parts(self, wanted: Wanted) -> Result<(File, Finished<'a>)> {
        let Self { file, written, target } = self;
        let size = wanted.size.unwrap_or(written);
        let wanted = Wanted { size: Some(size), ..wanted };
        let route = target.destination.route(&target.path, size);
        if route == Route::Share {
            let stamped = target.destination.shared.stamp_new(&file, wanted);
            stamped.map_err(|error| target.destination.fail("finish", &target.path, error))?;
        }
        Ok((file, Finished { target, wanted, route }))
    }
}

impl Write for Draft<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file's name, removed again when dropped before the file is settled.
#[derive(Debug)]
struct Target<'a> {
    destination: Cow<'a, Destination>,
    path: Cow<'a, str>,
    written_as: Cow<'a, str>,
    settled: bool,
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if !self.settled {
            // Nobody is left to be told; the folder's owner sees the file if this fails.
            self.destination.shared.dir.unlink(&self.written_as).unwrap_or(());
        }
    }
}

/// How a finished file reaches the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The destination's inode becomes the object.
    Share,
    /// The object gets an inode of its own.
    CopyIn(Means),
    /// It does not.
    Stay(Why),
}

/// What is left to do after a file's real close: make it the object, or a link of the object.
///
/// `Send` and `'static`, so that it can run on the thread that closed the file. Dropping it unrun
/// removes the file: what could not be closed is not to be trusted.
#[derive(Debug)]
#[must_use = "an unpublished file is removed"]
pub struct Publish {
    finished: Finished<'static>,
}

impl Publish {
    fn of((file, finished): (File, Finished<'static>)) -> (File, Self) {
        (file, Self { finished })
    }

    /// Publishes the file, which must be closed.
    ///
    /// # Errors
    ///
    /// When the destination fails. A store that cannot take the file is no error: the file stays
    /// private, [`Placed::WrotePrivate`].
    pub fn run(self) -> Result<Placed> {
        self.finished.run()
    }
}

/// A complete file under the name that it was written as.
#[derive(Debug)]
pub(crate) struct Finished<'a> {
    target: Target<'a>,
    wanted: Wanted,
    route: Route,
}

impl Finished<'_> {
    pub(crate) fn run(mut self) -> Result<Placed> {
        let placed = self.run_uncounted()?;
        Ok(self.target.destination.tally.count(placed))
    }

    pub(crate) fn run_uncounted(&mut self) -> Result<Placed> {
        let Target { destination, path, written_as, .. } = &self.target;
        destination.reveal(written_as, path)?;
        self.target.settled = true;
        self.publish()
            .map_err(|error| self.target.destination.fail("publish", &self.target.path, error))
    }

    fn publish(&self) -> io::Result<Placed> {
        match self.route {
            Route::Share => self.share(),
            Route::CopyIn(means) => Ok(self.copy_in(means).unwrap_or_else(|error| refused(&error))),
            Route::Stay(why) => Ok(Placed::WrotePrivate(why)),
        }
    }

    fn share(&self) -> io::Result<Placed> {
        let Target { destination, path, .. } = &self.target;
        let contest = destination.contest(path, self.wanted);
        Ok(match protocol::publish(&contest)? {
            Published::New => Placed::WroteAndPublished,
            Published::Joined => Placed::Linked,
            Published::RolledOver => {
                destination.tally.rolled_over();
                Placed::WroteAndPublished
            }
            Published::Private(error) => refused(&error),
        })
    }

    fn copy_in(&self, means: Means) -> io::Result<Placed> {
        let Destination { shared, tally, .. } = self.target.destination.as_ref();
        if self.is_known(&shared.store) {
            return Ok(Placed::WroteAndPublished);
        }
        let name = shared.store.temporary();
        let made = self.copy_to(&name, means).and_then(|()| {
            let contest = Contest::inside(&shared.store, tally, &name, self.wanted);
            protocol::publish(&contest)
        });
        gone_is_fine(shared.store.home.unlink(&name))?;
        Ok(match made? {
            Published::Private(error) => refused(&error),
            _ => Placed::WroteAndPublished,
        })
    }

    /// True when the object is there and looks like itself; publishing sets aside one that does not.
    fn is_known(&self, store: &Inner) -> bool {
        let Wanted { digest, executable, .. } = self.wanted;
        let object = ObjectName::new(&digest, executable);
        let checked = store.check_shard(&object, &digest);
        checked
            .and_then(|()| store.objects.stat(object.as_str()))
            .is_ok_and(|seen| store.looks_like(&seen, &digest, executable))
    }

    fn copy_to(&self, name: &str, means: Means) -> io::Result<()> {
        let Target { destination, path, .. } = &self.target;
        let store = &destination.shared.store;
        let mut from = destination.shared.dir.open_file(path)?;
        let mut to = store.home.create_new(name, store.config.mode(self.wanted.executable))?;
        match copying::copy(&mut from, &mut to, means)? {
            Copied::Hashed(found) if found != self.wanted.digest => {
                Err(io::ErrorKind::InvalidData.into())
            }
            _ => store.stamp(&to, &self.wanted.digest, self.wanted.executable),
        }
    }
}

fn refused(error: &io::Error) -> Placed {
    Placed::WrotePrivate(Why::Refused(error.raw_os_error().unwrap_or(0)))
}

const _: () = {
    const fn crosses_threads<T: Send + 'static>() {}
    crosses_threads::<Publish>();
};
