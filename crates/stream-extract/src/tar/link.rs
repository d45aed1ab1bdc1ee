//! Links: judged when they are read, made when all files are there.

use crate::entry::{Entry, EntryId, Link};
use crate::error::{Class, Error, Result};
use crate::sink::Sink;

/// A link that waits for the end of the archive.
pub(crate) struct Pending {
    pub(crate) id: EntryId,
    pub(crate) path: String,
    pub(crate) target: String,
    pub(crate) hard: bool,
}

/// Text that waiting links may have together: they are the only names that are kept.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// All links of an archive.
#[derive(Default)]
pub(crate) struct Links {
    pending: Vec<Pending>,
    text_bytes: usize,
}

impl Links {
    pub(crate) fn push(&mut self, link: Pending) -> Result<()> {
        self.text_bytes += size_of::<Pending>() + link.path.len() + link.target.len();
        if self.text_bytes > TEXT_BYTES_MAX {
            let at_most = format!("at most {TEXT_BYTES_MAX}");
            return Err(Error::mismatch(Class::Limit, "bytes of all links", at_most, "more"));
        }
        self.pending.push(link);
        Ok(())
    }

    pub(crate) fn make<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.pending.iter().try_for_each(|link| link.make(sink))
    }
}

impl Pending {
    fn make<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let entry =
            Entry { id: self.id, path: &self.path, size_hint: None, executable: Some(false) };
        let link = if self.hard { Link::Hard(&self.target) } else { Link::Symbolic(&self.target) };
        sink.link(&entry, link)
            .map_err(Error::sink)
            .map_err(|error| error.in_entry(self.id.index(), self.path.as_bytes()))
    }
}

/// The target of a link may not be longer than a name.
pub(crate) fn check_length(target: &[u8], max: usize) -> Result<()> {
    if target.len() <= max {
        return Ok(());
    }
    let at_most = format!("at most {max} bytes");
    Err(Error::mismatch(Class::Limit, "length of a link's target", at_most, target.len()))
}

/// Checks the text of a symbolic link at `path`: some `..` that stay inside, then only names.
///
/// A `..` behind a name could follow another link first, so what it means cannot be judged from the
/// text (CVE-2025-4517). Leading ones start at a folder that this archive made, which is no link,
/// because nothing may be below the path of a link. What the names lead through are links that were
/// judged by the same rule, so by induction all of them stay inside.
pub(crate) fn check_symbolic<'t>(path: &str, target: &'t [u8]) -> Result<&'t str> {
    let text = std::str::from_utf8(target).map_err(|_| unsafe_target("is not UTF-8"))?;
    if text.is_empty() || text.chars().any(|c| c.is_control() || c == '\\' || c == ':') {
        return Err(unsafe_target("has characters that mean different things on other systems"));
    }
    if text.starts_with('/') {
        return Err(unsafe_target("is absolute"));
    }
    let up = text.split('/').take_while(|&part| part == "..").count();
    if up > path.matches('/').count() {
        return Err(unsafe_target("leaves the target folder"));
    }
    if text.split('/').skip(up).any(|part| part == "..") {
        return Err(unsafe_target("has `..` behind a name"));
    }
    Ok(text)
}

fn unsafe_target(what: &str) -> Error {
    Error::new(Class::UnsafePath, format!("the target of the link {what}"))
}
