//! A sparse registry on the loopback interface, and a way to make it misbehave.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How the next answers to a path go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// 503, this often.
    Unavailable(u32),
    /// The connection breaks off in the middle of the body, this often.
    Truncated(u32),
    /// The body is another one.
    Corrupt,
    /// It takes a while.
    Slow,
    /// 451.
    Withheld,
    /// 302 to the same path under `/moved`.
    Redirect,
}

#[derive(Default)]
struct State {
    documents: HashMap<String, Vec<u8>>,
    faults: HashMap<String, Fault>,
    /// Method-less request lines with the answer's status, in order.
    log: Vec<(String, u16)>,
}

/// Serves until the process ends.
#[derive(Clone)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { state: Arc::default(), port };
        let config = format!("{{\"dl\":\"http://127.0.0.1:{port}/dl\"}}");
        server.put("/config.json", config.into_bytes());
        let accepting = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let server = accepting.clone();
                thread::spawn(move || server.serve(&stream.unwrap()));
            }
        });
        server
    }

    pub(crate) fn put(&self, path: &str, body: Vec<u8>) {
        self.state.lock().unwrap().documents.insert(path.to_owned(), body);
    }

    /// Takes up a crate's lines and archives from a home in cargo's layout.
    pub(crate) fn put_file(&self, path: &str, file: &Path) {
        self.put(path, fs::read(file).unwrap());
    }

    pub(crate) fn fault(&self, path: &str, fault: Fault) {
        self.state.lock().unwrap().faults.insert(path.to_owned(), fault);
    }

    /// What was asked since the last time, and how it was answered.
    pub(crate) fn requests(&self) -> Vec<(String, u16)> {
        std::mem::take(&mut self.state.lock().unwrap().log)
    }

    /// Cargo's configuration that puts this registry in the default one's place.
    pub(crate) fn config(&self) -> String {
        format!(
            "[source.crates-io]\nreplace-with = \"loopback\"\n\
             [source.loopback]\nregistry = \"{}\"\n[net]\nretry = 2\n",
            self.url()
        )
    }

    pub(crate) fn url(&self) -> String {
        format!("sparse+http://127.0.0.1:{}/", self.port)
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        loop {
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                if line.trim_end().is_empty() {
                    break;
                }
                lines.push(line.trim_end().to_lowercase());
            }
            let path = lines[0].split(' ').nth(1).unwrap().to_owned();
            if !self.answer(&path, &lines, stream) {
                return;
            }
        }
    }

    /// Answers one request; false when the connection is to be closed.
    fn answer(&self, path: &str, lines: &[String], mut stream: &TcpStream) -> bool {
        let mut state = self.state.lock().unwrap();
        let fault = state.faults.get(path).copied();
        let body = state.documents.get(path.trim_start_matches("/moved")).cloned();
        let etag = body.as_ref().map(|body| format!("\"{}\"", crate::home::checksum(body)));
        let known = lines.iter().any(|line| {
            etag.as_ref().is_some_and(|etag| *line == format!("if-none-match: {etag}"))
        });
        let from = lines.iter().find_map(|line| line.strip_prefix("range: bytes="));
        let from = from.and_then(|range| range.trim_end_matches('-').parse::<usize>().ok());
        let (status, mut body) = match (fault, body) {
            (Some(Fault::Unavailable(left)), _) if left > 0 => {
                state.faults.insert(path.to_owned(), Fault::Unavailable(left - 1));
                (503, Vec::new())
            }
            (Some(Fault::Withheld), _) => (451, Vec::new()),
            (Some(Fault::Redirect), _) => (302, Vec::new()),
            (_, None) => (404, Vec::new()),
            (_, Some(_)) if known => (304, Vec::new()),
            (_, Some(body)) => match from {
                Some(from) if from >= body.len() => (416, Vec::new()),
                Some(from) => (206, body[from..].to_vec()),
                None => (200, body),
            },
        };
        state.log.push((path.to_owned(), status));
        let mut length = body.len();
        match fault {
            Some(Fault::Truncated(left)) if left > 0 => {
                state.faults.insert(path.to_owned(), Fault::Truncated(left - 1));
                body.truncate(length / 2);
            }
            Some(Fault::Corrupt) => body = b"something else".to_vec(),
            _ => {}
        }
        drop(state);
        if matches!(fault, Some(Fault::Corrupt)) {
            length = body.len();
        }
        if matches!(fault, Some(Fault::Slow)) {
            thread::sleep(Duration::from_millis(300));
        }
        let etag = etag.filter(|_| status == 200).map(|etag| format!("etag: {etag}\r\n"));
        let location = (status == 302).then(|| format!("location: /moved{path}\r\n"));
        let extra = etag.unwrap_or_default() + &location.unwrap_or_default();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{extra}\r\n");
        let sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        let whole = body.len() == length;
        if !whole {
            drop(stream.shutdown(std::net::Shutdown::Both));
        }
        sent.is_ok() && whole
    }
}
