//! Takes host names and paths out of what other programs print, before it is kept.

/// Replaces what must not be published from another program's output.
///
/// Addresses (`scheme://...`) become `<url>`, names of hosts `<host>`; each of `paths`, longest first, becomes its name; of
/// any other absolute path only the last part is left.
///
/// # Examples
///
/// ```
/// let line = "fetched ftp://mirror.example/a into /tmp/x/cache/a, not /home/me/b";
/// let shown = bench_util::redact(line, &[("/tmp/x", "<work>")]);
/// assert_eq!(shown, "fetched <url> into <work>/cache/a, not <path>/b");
/// ```
pub fn redact(text: &str, paths: &[(&str, &str)]) -> String {
    let mut longest_first = paths.to_vec();
    longest_first.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    let mut text = without_addresses(text);
    for (path, name) in longest_first.into_iter().filter(|(path, _)| !path.is_empty()) {
        text = text.replace(path, name);
    }
    without_places(&text)
}

/// Endings of host names that tools print without a scheme.
const HOST_ENDINGS: [&str; 5] = [".io", ".org", ".com", ".net", ".dev"];

/// A word that starts with `/` and holds another one is a path; one that ends as hosts do, a host.
fn without_places(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for word in text.split_inclusive(ends_word) {
        match word.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) {
            // What follows a name that was put in before is relative to it, and stays.
            Some((folders, last)) if !folders.is_empty() && !kept.ends_with('>') => {
                kept.push_str("<path>/");
                kept.push_str(last);
            }
            _ => kept.push_str(&without_host(word)),
        }
    }
    kept
}

fn without_host(word: &str) -> String {
    let name = word.trim_end_matches(ends_word).trim_end_matches('.');
    let is_host =
        HOST_ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending));
    if is_host { word.replacen(name, "<host>", 1) } else { word.to_owned() }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`<>()[]{},;=".contains(c)
}

fn without_addresses(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        let start = rest[..at].trim_end_matches(is_scheme).len();
        kept.push_str(&rest[..start]);
        kept.push_str("<url>");
        let tail = &rest[at + 3..];
        rest = &tail[tail.find(ends_word).unwrap_or(tail.len())..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_goes_and_the_text_around_it_stays() {
        let text = "a (sparse+proto://h.example:1/x) and `two://h/` end://";
        assert_eq!(redact(text, &[]), "a (<url>) and `<url>` <url>");
    }

    #[test]
    fn of_a_path_only_the_last_part_is_left() {
        let text = "error: `/home/me/.cache/x.whl` (file=/a/b): 3/4 and /tmp";
        assert_eq!(redact(text, &[]), "error: `<path>/x.whl` (file=<path>/b): 3/4 and /tmp");
    }

    #[test]
    fn a_host_without_a_scheme_goes_too() {
        let text = "location searched: mirror.example.org index, lib.rs, a.io.";
        assert_eq!(redact(text, &[]), "location searched: <host> index, lib.rs, <host>.");
    }

    #[test]
    fn text_of_any_alphabet_survives() {
        assert_eq!(redact("größe → ok", &[("", "never")]), "größe → ok");
    }
}
