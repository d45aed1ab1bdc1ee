//! Credentials from a `.netrc` file, for servers whose address carries none, as pip takes them.
//!
//! Text in, entries out; which file is read is decided here too: `NETRC`, else `.netrc` or `_netrc`
//! in the home folder. A file that cannot be read, or that makes no sense, gives no credentials, as
//! with pip: whoever needed them is told by the server.
//!
//! # References
//!
//! `netrc(5)`; the `netrc` module of Python, whose quoting rules these are.

use std::path::PathBuf;

/// The entries of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Netrc {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    /// None for the entry that fits every host.
    host: Option<String>,
    login: String,
    password: String,
}

impl Netrc {
    /// The user's file; empty when there is none.
    pub(crate) fn of_user() -> Self {
        let text = files().into_iter().find_map(|file| std::fs::read_to_string(file).ok());
        text.and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// Reads a file; none when it makes no sense.
    fn parse(text: &str) -> Option<Self> {
        let mut words = Words { rest: text };
        let mut entries: Vec<Entry> = Vec::new();
        while let Some(word) = words.next() {
            match &*word {
                "machine" => entries.push(Entry { host: Some(words.next()?), ..Entry::default() }),
                "default" => entries.push(Entry::default()),
                "login" | "user" => entries.last_mut()?.login = words.next()?,
                "password" => entries.last_mut()?.password = words.next()?,
                "account" => drop(words.next()?),
                "macdef" => words.skip_macro(),
                _ => return None,
            }
        }
        Some(Self { entries })
    }

    /// User name and password for `host`.
    pub(crate) fn credentials(&self, host: &str) -> Option<(&str, &str)> {
        // As in Python, a later entry for a host replaces an earlier one, and `default` comes last.
        let named = self.entries.iter().rev().find(|entry| entry.host.as_deref() == Some(host));
        let entry =
            named.or_else(|| self.entries.iter().rev().find(|entry| entry.host.is_none()))?;
        Some((&entry.login, &entry.password))
    }
}

fn files() -> Vec<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(file) = variable("NETRC") {
        return vec![file];
    }
    let home = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    home.map(|home| vec![home.join(".netrc"), home.join("_netrc")]).unwrap_or_default()
}

/// Words between white space; quotes keep white space, a backslash keeps the next character, and `#`
/// at the start of a word starts a comment.
struct Words<'t> {
    rest: &'t str,
}

impl Words<'_> {
    fn next(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start();
        while self.rest.starts_with('#') {
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
        let mut characters = self.rest.chars();
        let quoted = self.rest.starts_with('"');
        if quoted {
            characters.next();
        }
        let mut word = String::new();
        loop {
            let before = characters.as_str();
            match characters.next() {
                Some('"') if quoted => break,
                Some('\\') => word.extend(characters.next()),
                Some(end) if !quoted && end.is_whitespace() => {
                    self.rest = before;
                    return Some(word);
                }
                Some(character) => word.push(character),
                None => break,
            }
        }
        let found = quoted || !word.is_empty();
        self.rest = characters.as_str();
        found.then_some(word)
    }

    /// A macro ends at the first empty line.
    fn skip_macro(&mut self) {
        self.rest = self.rest.split_once("\n\n").map_or("", |(_, rest)| rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\nmachine host.test login me password s3cret#x\n\
        machine other.test\n  login \"a b\"\n  account x\n  password back\\\\slash\n\
        macdef init\ncd /pub\nmachine not.test\n\n\
        default login anonymous password guest\n";

    #[test]
    fn a_host_has_its_entry_and_every_other_the_default() {
        let netrc = Netrc::parse(TEXT).unwrap();
        assert_eq!(netrc.credentials("host.test"), Some(("me", "s3cret#x")));
        assert_eq!(netrc.credentials("other.test"), Some(("a b", "back\\slash")));
        assert_eq!(netrc.credentials("not.test"), Some(("anonymous", "guest")));
        assert_eq!(Netrc::parse("machine a login b password c").unwrap().credentials("d"), None);
    }

    #[test]
    fn a_file_that_makes_no_sense_has_no_credentials() {
        for text in ["login me", "machine", "machine a secret b", "default login"] {
            assert_eq!(Netrc::parse(text), None, "{text}");
        }
        assert_eq!(Netrc::parse("# nothing\n"), Some(Netrc::default()));
    }
}
