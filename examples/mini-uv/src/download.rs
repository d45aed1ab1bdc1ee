//! A wheel on a server as a reader that survives a lost connection.
//!
//! The archive is unpacked while it arrives, so a second attempt must not start over: what is missing
//! is asked for from where the stream broke, and only if the file is still the same one (`If-Range`).
//! The bytes are digested on the way when a digest is expected that the extractor cannot check alone.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use url::Url;

use crate::http::{self, Http};

/// How often a transfer is taken up again.
const RESUMES_MAX: u32 = 5;

/// The bytes of one file.
pub(crate) struct Download<'a> {
    http: &'a Http,
    url: &'a Url,
    body: Option<Box<dyn Read + Send>>,
    /// How many bytes came so far.
    position: u64,
    /// How many bytes there are, if the server said.
    bytes: Option<u64>,
    /// What the server calls this version of the file.
    mark: Option<String>,
    resumes: u32,
    digest: Option<SharedDigest>,
}

/// A digest that grows as bytes arrive, for whoever checks it at the end.
#[derive(Clone, Default)]
pub(crate) struct SharedDigest(Arc<Mutex<Sha256>>);

impl SharedDigest {
    fn update(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).update(bytes);
    }

    /// The digest of everything that arrived.
    pub(crate) fn finish(&self) -> [u8; 32] {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().finalize().into()
    }
}

impl<'a> Download<'a> {
    /// Starts a transfer.
    pub(crate) fn start(http: &'a Http, url: &'a Url) -> anyhow::Result<Self> {
        let response = http.get(url, &[("Accept-Encoding", "identity")])?;
        let mark =
            http::header(&response, "ETag").or_else(|| http::header(&response, "Last-Modified"));
        let mark = mark.map(str::to_owned);
        let body = http::body(url, response)?;
        Ok(Self {
            http,
            url,
            position: 0,
            bytes: body.content_length(),
            body: Some(reader(body)),
            mark,
            resumes: 0,
            digest: None,
        })
    }

    /// Digests what arrives from here on.
    pub(crate) fn digested(&mut self) -> SharedDigest {
        self.digest.get_or_insert_default().clone()
    }

    /// What the server calls this version of the file.
    pub(crate) fn mark(&self) -> &[u8] {
        self.mark.as_deref().unwrap_or_default().as_bytes()
    }

    /// Asks for the rest of the file.
    fn resume(&mut self) -> io::Result<()> {
        self.resumes += 1;
        tracing::debug!("`{}` broke at byte {}", http::public(self.url), self.position);
        let range = format!("bytes={}-", self.position);
        let mut headers = vec![("Range", range.as_str()), ("Accept-Encoding", "identity")];
        headers.extend(self.mark.as_deref().map(|mark| ("If-Range", mark)));
        let response = self
            .http
            .get(self.url, &headers)
            .map_err(|error| io::Error::other(format!("{error:#}")))?;
        if response.status() != 206 {
            return Err(io::Error::other(format!(
                "the connection was lost at byte {} and cannot be resumed",
                self.position
            )));
        }
        self.body = Some(reader(response.into_body()));
        Ok(())
    }

    fn is_short(&self) -> bool {
        self.bytes.is_some_and(|bytes| self.position < bytes)
    }
}

fn reader(body: ureq::Body) -> Box<dyn Read + Send> {
    Box::new(body.into_with_config().limit(u64::MAX).reader())
}

impl Read for Download<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(body) = &mut self.body else {
                self.resume()?;
                continue;
            };
            let lost = match body.read(buffer) {
                Ok(0) if self.is_short() => io::Error::from(io::ErrorKind::UnexpectedEof),
                Ok(read) => {
                    self.digest.iter().for_each(|digest| digest.update(&buffer[..read]));
                    self.position += read as u64;
                    return Ok(read);
                }
                Err(error) => error,
            };
            if self.resumes >= RESUMES_MAX {
                return Err(lost);
            }
            self.body = None;
        }
    }
}
