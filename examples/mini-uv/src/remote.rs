//! Reads parts of a file on a server, as a file: for the METADATA inside a wheel.
//!
//! A zip's directory is at its end and METADATA usually close to it, so one request for the last
//! 64 KiB often is all. A server that ignores ranges is noticed by its answer, and the caller then
//! fetches the whole file.

use std::io::{self, Read, Seek, SeekFrom};

use anyhow::{Context, bail};
use url::Url;

use crate::http::{self, Http};

const TAIL_BYTES: u64 = 64 << 10;
/// The least that is asked for at once: a request costs more than its bytes.
const PART_BYTES_MIN: u64 = 32 << 10;

/// A file on a server of which some parts are known.
pub(crate) struct RemoteFile<'a> {
    http: &'a Http,
    url: &'a Url,
    bytes: u64,
    position: u64,
    parts: Vec<(u64, Vec<u8>)>,
}

impl<'a> RemoteFile<'a> {
    /// Asks for the end of the file; none when the server does not serve parts.
    pub(crate) fn open(http: &'a Http, url: &'a Url) -> anyhow::Result<Option<Self>> {
        let range = format!("bytes=-{TAIL_BYTES}");
        let response = http.get(url, &[("Range", &range), ("Accept-Encoding", "identity")])?;
        if response.status() != 206 {
            // A whole file may be on its way: the connection is dropped with the response.
            http::body(url, response)?;
            return Ok(None);
        }
        let place = http::header(&response, "Content-Range").and_then(parse_place);
        let (start, bytes) = place.context("the server's `Content-Range` cannot be read")?;
        let tail = http::read_all(response.into_body(), TAIL_BYTES)?;
        if start + tail.len() as u64 != bytes {
            bail!("the server's `Content-Range` does not fit its answer");
        }
        Ok(Some(Self { http, url, bytes, position: 0, parts: vec![(start, tail)] }))
    }

    /// The known bytes from `position` on.
    fn known(&self, position: u64) -> Option<&[u8]> {
        self.parts.iter().find_map(|(start, part)| {
            let skip = usize::try_from(position.checked_sub(*start)?).ok()?;
            part.get(skip..).filter(|rest| !rest.is_empty())
        })
    }

    fn fetch(&mut self, position: u64, wanted: u64) -> anyhow::Result<()> {
        let end = (position + wanted.max(PART_BYTES_MIN)).min(self.bytes) - 1;
        let range = format!("bytes={position}-{end}");
        let response =
            self.http.get(self.url, &[("Range", &range), ("Accept-Encoding", "identity")])?;
        if response.status() != 206 {
            bail!("the server stopped serving parts of `{}`", http::public(self.url));
        }
        let part = http::read_all(response.into_body(), end + 1 - position)?;
        anyhow::ensure!(!part.is_empty(), "the server sent an empty part");
        self.parts.push((position, part));
        Ok(())
    }
}

/// First byte and length of the whole, from `bytes 5-9/10`.
fn parse_place(text: &str) -> Option<(u64, u64)> {
    let (range, bytes) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.parse().ok()?, bytes.parse().ok()?))
}

impl Read for RemoteFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.bytes || buffer.is_empty() {
            return Ok(0);
        }
        if self.known(self.position).is_none() {
            self.fetch(self.position, buffer.len() as u64)
                .map_err(|error| io::Error::other(format!("{error:#}")))?;
        }
        let known = self.known(self.position).unwrap_or_default();
        let read = known.len().min(buffer.len());
        buffer[..read].copy_from_slice(&known[..read]);
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for RemoteFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => self.bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
