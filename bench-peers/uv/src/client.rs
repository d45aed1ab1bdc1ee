//! The least of a client that gets a file from the benchmark's own server, or from the disk.
//!
//! The whole file goes into a buffer that the caller brings, so that only the first file of a thread
//! costs fresh memory.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The bytes of `source`, a path or an `http:` address, in what was `buffer`.
pub(crate) fn fetch(source: &str, mut buffer: Vec<u8>) -> Result<Vec<u8>> {
    buffer.clear();
    let Some((host, path)) = source.strip_prefix("http://").and_then(|rest| rest.split_once('/'))
    else {
        std::fs::File::open(source)?.read_to_end(&mut buffer)?;
        return Ok(buffer);
    };
    let mut stream = TcpStream::connect(host)?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n")?;
    let mut reader = BufReader::new(stream);
    let length = read_headers(&mut reader)?;
    buffer.reserve(length);
    reader.take(length as u64).read_to_end(&mut buffer)?;
    if buffer.len() < length {
        return Err("the server sent less than it said".into());
    }
    Ok(buffer)
}

/// The length of the body.
fn read_headers(reader: &mut impl BufRead) -> Result<usize> {
    let mut length = None;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = Some(value.parse()?);
            }
            Some(_) => {}
            None if line.starts_with("HTTP/1.1 200") => {}
            None => return length.ok_or_else(|| "no length".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_found_among_other_headers() {
        let length = |text: &str| read_headers(&mut text.as_bytes()).ok();
        assert_eq!(length("HTTP/1.1 200 OK\r\nA: b\r\ncontent-length: 7\r\n\r\nbody"), Some(7));
        assert_eq!(length("HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n"), None);
    }
}
