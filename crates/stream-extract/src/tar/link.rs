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

impl Pending {
    pub(crate) fn make<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let entry =
            Entry { id: self.id, path: &self.path, size_hint: None, executable: Some(false) };
        let link = if self.hard { Link::Hard(&self.target) } else { Link::Symbolic(&self.target) };
        sink.link(&entry, link)
            .map_err(Error::sink)
            .map_err(|error| error.in_entry(self.id.index(), self.path.as_bytes()))
    }
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
