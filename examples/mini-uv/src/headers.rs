//! Reads the `Key: value` files of a wheel: `METADATA` and `WHEEL`.
//!
//! They look like mail headers and are no mail: no encodings, no addresses. A value may continue on
//! indented lines, and the first empty line starts the description, which nobody here needs. Bytes
//! in, pairs out; what a key means is known to `metadata.rs`.

/// The headers of one file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(Vec<(String, String)>);

impl Headers {
    /// Reads up to the first empty line.
    pub(crate) fn parse(text: &str) -> Self {
        let mut headers = Vec::new();
        for line in text.lines().take_while(|line| !line.is_empty()) {
            push_line(&mut headers, line);
        }
        Self(headers)
    }

    /// The first value of `key`, whatever its case.
    pub(crate) fn first(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, v)| v.as_str())
    }

    /// Every value of `key`, in order.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, v)| v.as_str())
    }
}

fn push_line(headers: &mut Vec<(String, String)>, line: &str) {
    if line.starts_with([' ', '\t']) {
        if let Some((_, value)) = headers.last_mut() {
            value.push('\n');
            value.push_str(line.trim());
        }
    } else if let Some((key, value)) = line.split_once(':') {
        headers.push((key.trim().to_owned(), value.trim().to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_is_not_a_header() {
        let headers = Headers::parse("Name: a\nRequires-Dist: b\nrequires-dist: c\n\nName: z\n");
        assert_eq!(headers.first("name"), Some("a"));
        assert_eq!(headers.all("Requires-Dist").collect::<Vec<_>>(), ["b", "c"]);
    }

    #[test]
    fn indented_lines_continue_a_value() {
        let headers = Headers::parse("License: one\n  two\nName: a\r\n");
        assert_eq!(headers.first("License"), Some("one\ntwo"));
        assert_eq!(headers.first("Name"), Some("a"));
    }
}
