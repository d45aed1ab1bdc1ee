//! A package index on the loopback interface: JSON pages, files, range requests.
//!
//! Serves some wheels from memory, with one thread per connection and without delays, so that only
//! the two installers differ. It knows no more of HTTP than they use.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

/// Wheels by file name.
type Files = BTreeMap<String, Vec<u8>>;

/// Listens until the process ends.
pub(crate) struct Server {
    address: SocketAddr,
}

impl Server {
    pub(crate) fn start(wheels: &[PathBuf]) -> io::Result<Self> {
        let files = wheels.iter().map(|path| Ok((name(path), std::fs::read(path)?)));
        let files: Arc<Files> = Arc::new(files.collect::<io::Result<_>>()?);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = Arc::clone(&files);
                // A client that goes away ends its thread, and nothing else.
                thread::spawn(move || drop(serve(&stream, &files)));
            }
        });
        Ok(Self { address })
    }

    /// The address of a wheel.
    pub(crate) fn file(&self, wheel: &Path) -> String {
        format!("http://{}/files/{}", self.address, name(wheel))
    }

    /// The address of the index.
    pub(crate) fn index(&self) -> String {
        format!("http://{}/simple/", self.address)
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// What of a request matters here.
struct Request {
    is_head: bool,
    path: String,
    range: Option<String>,
}

fn serve(stream: &TcpStream, files: &Files) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(&mut reader)? {
        answer(stream, &request, files)?;
    }
    Ok(())
}

fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let is_head = words.next() == Some("HEAD");
    let path = words.next().unwrap_or_default().to_owned();
    let mut range = None;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("range") => {
                range = Some(value.to_owned());
            }
            Some(_) => {}
            None => return Ok(Some(Request { is_head, path, range })),
        }
    }
}

fn answer(stream: &TcpStream, request: &Request, files: &Files) -> io::Result<()> {
    if let Some(file) = request.path.strip_prefix("/files/").and_then(|name| files.get(name)) {
        return send_file(stream, request, file);
    }
    let package = request.path.strip_prefix("/simple/").map(|path| path.trim_end_matches('/'));
    let page = package.and_then(|package| page(package, files));
    let (status, body) = page.map_or(("404 Not Found", String::new()), |page| ("200 OK", page));
    let kind = "Content-Type: application/vnd.pypi.simple.v1+json\r\n";
    send(stream, request, status, kind, body.as_bytes())
}

fn send_file(stream: &TcpStream, request: &Request, file: &[u8]) -> io::Result<()> {
    let kind = "Content-Type: application/octet-stream\r\nAccept-Ranges: bytes\r\n";
    let Some(range) = request.range.as_deref() else {
        return send(stream, request, "200 OK", kind, file);
    };
    let Some((from, to)) = parse_range(range, file.len()) else {
        let total = format!("Content-Range: bytes */{}\r\n", file.len());
        return send(stream, request, "416 Range Not Satisfiable", &total, &[]);
    };
    let headers = format!("{kind}Content-Range: bytes {from}-{}/{}\r\n", to - 1, file.len());
    send(stream, request, "206 Partial Content", &headers, &file[from..to])
}

/// `bytes=5-9`, `bytes=5-` or `bytes=-5`, as a half-open range inside the file.
fn parse_range(text: &str, length: usize) -> Option<(usize, usize)> {
    let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = match (from, to) {
        ("", last) => (length.saturating_sub(last.parse().ok()?), length),
        (from, "") => (from.parse().ok()?, length),
        (from, to) => (from.parse().ok()?, to.parse::<usize>().ok()?.saturating_add(1).min(length)),
    };
    (from < to).then_some((from, to))
}

fn send(
    mut stream: &TcpStream,
    request: &Request,
    status: &str,
    headers: &str,
    body: &[u8],
) -> io::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    if request.is_head { Ok(()) } else { stream.write_all(body) }
}

/// The page of a package in the JSON form of the simple API, `None` for an unknown one.
fn page(package: &str, files: &Files) -> Option<String> {
    let own = |name: &&String| normalized(name.split('-').next().unwrap_or_default()) == package;
    let names: Vec<&String> = files.keys().filter(own).collect();
    let first = names.first()?;
    let version = first.split('-').nth(1)?;
    let entries: Vec<String> = names
        .iter()
        .map(|name| {
            let size = files[*name].len();
            format!(
                r#"{{"filename":"{name}","url":"../../files/{name}","hashes":{{}},"size":{size},"upload-time":"2025-06-01T00:00:00Z"}}"#
            )
        })
        .collect();
    Some(format!(
        r#"{{"meta":{{"api-version":"1.1"}},"name":"{package}","versions":["{version}"],"files":[{}]}}"#,
        entries.join(",")
    ))
}

fn normalized(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_file() {
        let ranges = ["bytes=2-3", "bytes=7-", "bytes=-4", "bytes=8-99", "bytes=10-", "lines=1-2"];
        let parsed = ranges.map(|range| parse_range(range, 10));
        assert_eq!(parsed, [Some((2, 4)), Some((7, 10)), Some((6, 10)), Some((8, 10)), None, None]);
    }

    #[test]
    fn a_page_lists_the_wheels_of_its_package() {
        let files =
            Files::from([("typing_extensions-1.0-py3-none-any.whl".to_owned(), vec![0; 9])]);
        let page = page("typing-extensions", &files).unwrap();
        assert!(page.contains(r#""url":"../../files/typing_extensions-1.0"#), "{page}");
        assert!(page.contains(r#""size":9"#));
    }
}
