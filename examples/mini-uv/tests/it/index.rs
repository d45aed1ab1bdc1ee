//! A package index on the loopback interface, good and bad on demand.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::wheel::{Wheel, hex};

/// A file of the index.
struct File {
    name: String,
    bytes: Vec<u8>,
    metadata: Option<String>,
    requires_python: Option<String>,
    yanked: bool,
}

/// How the server behaves.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a way to misbehave, of its own")]
pub(crate) struct Manners {
    /// Serve METADATA beside wheels and say so.
    pub(crate) metadata_files: bool,
    /// Ignore `Range`.
    pub(crate) no_ranges: bool,
    /// Leave out digests.
    pub(crate) no_digests: bool,
    /// Send only so many bytes of a file at a time, then close the connection.
    pub(crate) break_after_bytes: Option<usize>,
    /// Instead of closing it then, send nothing more.
    pub(crate) stall: bool,
    /// Send files in small parts with a pause after each, in microseconds.
    pub(crate) pause_us: u64,
    /// Serve the older HTML pages.
    pub(crate) html: bool,
    /// Seconds that a page is fresh.
    pub(crate) max_age_s: Option<u64>,
    /// Serve only who sends this Authorization.
    pub(crate) authorization: Option<&'static str>,
    /// Flip a bit in each wheel that is served.
    pub(crate) corrupt: bool,
}

#[derive(Default)]
struct State {
    files: HashMap<String, Vec<File>>,
    manners: Manners,
    log: Vec<String>,
}

/// A running server; stops when dropped.
pub(crate) struct Index {
    address: String,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Index {
    pub(crate) fn start(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State { manners, ..State::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stopping) = (Arc::clone(&state), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopping.load(Ordering::SeqCst) {
                    return;
                }
                let state = Arc::clone(&shared);
                // A thread per connection ends with it: the tool closes its connections when it ends.
                std::thread::spawn(move || serve(&stream.unwrap(), &state));
            }
        });
        Self { address, state, stop, thread: Some(thread) }
    }

    /// The address to pass as `--index-url`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/simple/", self.address)
    }

    pub(crate) fn file_url(&self, name: &str) -> String {
        format!("http://{}/files/{name}", self.address)
    }

    pub(crate) fn add(&self, wheel: &Wheel) {
        self.add_with(wheel, None, false);
    }

    pub(crate) fn add_with(&self, wheel: &Wheel, requires_python: Option<&str>, yanked: bool) {
        let file = File {
            name: wheel.file_name(),
            bytes: wheel.bytes(),
            metadata: Some(wheel.metadata_text()),
            requires_python: requires_python.map(str::to_owned),
            yanked,
        };
        self.push(&wheel.normalized_name(), file);
    }

    /// A wheel as it is.
    pub(crate) fn add_file(&self, path: &std::path::Path) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let package = name.split('-').next().unwrap().to_lowercase().replace(['_', '.'], "-");
        let bytes = std::fs::read(path).unwrap();
        let file = File { name, bytes, metadata: None, requires_python: None, yanked: false };
        self.push(&package, file);
    }

    /// A source distribution that nobody can build.
    pub(crate) fn add_source(&self, name: &str, version: &str) {
        self.add_source_with(name, version, false);
    }

    pub(crate) fn add_source_with(&self, name: &str, version: &str, yanked: bool) {
        let file = File {
            name: format!("{name}-{version}.tar.gz"),
            bytes: b"not an archive".to_vec(),
            metadata: None,
            requires_python: None,
            yanked,
        };
        self.push(name, file);
    }

    fn push(&self, name: &str, file: File) {
        self.state.lock().unwrap().files.entry(name.to_owned()).or_default().push(file);
    }

    pub(crate) fn behave(&self, manners: Manners) {
        self.state.lock().unwrap().manners = manners;
    }

    /// The requests since the last call: method, path, and `304` where that was the answer.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

/// A request's path and headers, names in lower case. As a proxy it is asked for whole addresses.
struct Request {
    path: String,
    headers: HashMap<String, String>,
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let asked = line.split(' ').nth(1)?;
    let path =
        asked.strip_prefix("http://").map_or(asked, |rest| &rest[rest.find('/').unwrap_or(0)..]);
    let path = path.to_owned();
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            return Some(Request { path, headers });
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
}

fn serve(stream: &TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader) {
        let (answer, keep) = answer(&request, &mut state.lock().unwrap());
        let pause_us = state.lock().unwrap().manners.pause_us;
        if send(stream, &answer, Duration::from_micros(pause_us)).is_err() || !keep {
            return;
        }
    }
}

/// Bytes that are sent between two pauses.
const PART_BYTES: usize = 8 << 10;

fn send(mut stream: &TcpStream, answer: &[u8], pause: Duration) -> std::io::Result<()> {
    for part in answer.chunks(PART_BYTES) {
        stream.write_all(part)?;
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
    }
    Ok(())
}

/// The bytes of the answer, and whether the connection stays open.
fn answer(request: &Request, state: &mut State) -> (Vec<u8>, bool) {
    state.log.push(request.path.clone());
    if request.path == "proxied.test:80" {
        // A tunnel that leads back here.
        return (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), true);
    }
    let wanted = state.manners.authorization;
    if wanted.is_some_and(|wanted| {
        request.headers.get("authorization").is_none_or(|given| given != wanted)
    }) {
        return (response("401 Unauthorized", &[], b""), true);
    }
    if let Some(name) = request.path.strip_prefix("/simple/") {
        return (page(request, name.trim_matches('/'), state), true);
    }
    let name = request.path.strip_prefix("/files/").unwrap_or_default().replace("%2B", "+");
    if let Some(wheel) = name.strip_suffix(".metadata") {
        let text = find(state, wheel).and_then(|file| file.metadata.clone());
        let served = text.filter(|_| state.manners.metadata_files);
        return (
            served.map_or_else(
                || response("404 Not Found", &[], b""),
                |text| response("200 OK", &[], text.as_bytes()),
            ),
            true,
        );
    }
    let Some(file) = find(state, &name) else { return (response("404 Not Found", &[], b""), true) };
    let mut bytes = file.bytes.clone();
    if state.manners.corrupt {
        let middle = bytes.len() / 3;
        bytes[middle] ^= 0x40;
    }
    content(request, &bytes, state.manners)
}

fn find<'s>(state: &'s State, name: &str) -> Option<&'s File> {
    state.files.values().flatten().find(|file| file.name == name)
}

fn content(request: &Request, bytes: &[u8], manners: Manners) -> (Vec<u8>, bool) {
    let etag = format!("ETag: \"{}\"", hex(bytes));
    let range = request.headers.get("range").filter(|_| !manners.no_ranges);
    let (start, end) = range.map_or((0, bytes.len()), |range| parse_range(range, bytes.len()));
    let place = format!("Content-Range: bytes {start}-{}/{}", end.saturating_sub(1), bytes.len());
    let mut answer = if range.is_some() {
        response("206 Partial Content", &[&etag, &place], &bytes[start..end])
    } else {
        response("200 OK", &[&etag], bytes)
    };
    let Some(most) = manners.break_after_bytes.filter(|most| end - start > *most) else {
        return (answer, true);
    };
    answer.truncate(answer.len() - (end - start) + most);
    (answer, manners.stall)
}

fn parse_range(range: &str, length: usize) -> (usize, usize) {
    let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
    match (start.parse::<usize>(), end.parse::<usize>()) {
        (Ok(start), Ok(end)) => (start, (end + 1).min(length)),
        (Ok(start), Err(_)) => (start, length),
        (Err(_), Ok(last)) => (length.saturating_sub(last), length),
        _ => (0, length),
    }
}

fn response(status: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        answer.push_str(header);
        answer.push_str("\r\n");
    }
    let mut answer = (answer + "\r\n").into_bytes();
    answer.extend(body);
    answer
}

fn page(request: &Request, package: &str, state: &mut State) -> Vec<u8> {
    let manners = state.manners;
    let Some(files) = state.files.get(package) else { return response("404 Not Found", &[], b"") };
    let body = if manners.html { html(files, manners) } else { json(files, manners) };
    let etag = format!("\"{}\"", hex(body.as_bytes()));
    if request.headers.get("if-none-match") == Some(&etag) {
        state.log.push("304".to_owned());
        return response("304 Not Modified", &[], b"");
    }
    let kind = if manners.html { "text/html" } else { "application/vnd.pypi.simple.v1+json" };
    let mut headers = vec![format!("Content-Type: {kind}"), format!("ETag: {etag}")];
    headers.extend(manners.max_age_s.map(|seconds| format!("Cache-Control: max-age={seconds}")));
    response("200 OK", &headers.iter().map(String::as_str).collect::<Vec<_>>(), body.as_bytes())
}

fn json(files: &[File], manners: Manners) -> String {
    let entries: Vec<_> = files
        .iter()
        .map(|file| {
            let hashes = if manners.no_digests {
                serde_json::json!({})
            } else {
                serde_json::json!({"sha256": hex(&file.bytes)})
            };
            serde_json::json!({
                "filename": file.name,
                "url": format!("/files/{}", file.name.replace('+', "%2B")),
                "hashes": hashes,
                "requires-python": file.requires_python,
                "yanked": file.yanked,
                "core-metadata": manners.metadata_files && file.metadata.is_some(),
            })
        })
        .collect();
    serde_json::json!({"meta": {"api-version": "1.1"}, "name": "x", "files": entries}).to_string()
}

fn html(files: &[File], manners: Manners) -> String {
    let mut page = "<!DOCTYPE html><html><body>\n".to_owned();
    for file in files {
        let digest = if manners.no_digests {
            String::new()
        } else {
            format!("#sha256={}", hex(&file.bytes))
        };
        let python = file.requires_python.as_ref().map(|text| {
            format!(" data-requires-python=\"{}\"", text.replace('>', "&gt;").replace('<', "&lt;"))
        });
        let yanked = if file.yanked { " data-yanked=\"\"" } else { "" };
        let href = format!("/files/{}{digest}", file.name.replace('+', "%2B"));
        let python = python.unwrap_or_default();
        page.extend(["<a href=\"", &href, "\"", &python, yanked, ">", &file.name, "</a><br/>\n"]);
    }
    page + "</body></html>"
}
