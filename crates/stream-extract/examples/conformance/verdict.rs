//! What one archive got, as it travels from the jailed process to the one that prints: lines of a word
//! and a text.

use std::path::Path;

pub(crate) const ACCEPT: &str = "accept";

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// One per column.
    pub(crate) words: Vec<String>,
    pub(crate) errors: Vec<String>,
    pub(crate) faults: Vec<String>,
    pub(crate) memory_kib: u64,
}

impl Verdict {
    /// Reads what `to_lines` wrote; whatever else a process printed is a fault.
    pub(crate) fn from_lines(text: &str) -> Self {
        let mut verdict = Self::default();
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("word", word) => verdict.words.push(word.to_owned()),
                ("error", error) => verdict.errors.push(error.to_owned()),
                ("fault", fault) => verdict.faults.push(fault.to_owned()),
                ("memory", kib) => verdict.memory_kib = kib.parse().unwrap_or(u64::MAX),
                _ => verdict.faults.push(format!("printed `{line}`")),
            }
        }
        verdict
    }

    pub(crate) fn to_lines(&self) -> String {
        let kinds = [("word", &self.words), ("error", &self.errors), ("fault", &self.faults)];
        let mut lines = format!("memory {}\n", self.memory_kib);
        for (kind, text) in
            kinds.iter().flat_map(|(kind, texts)| texts.iter().map(move |t| (kind, t)))
        {
            lines.extend([kind, " ", &text.escape_debug().to_string(), "\n"]);
        }
        lines
    }

    /// Another verdict than that of the Python package index, whose own set is laid out in `accept` and
    /// `reject`. Two archives lie about sizes in ways that the index does not look at, and data
    /// descriptors are legal everywhere but there.
    pub(crate) fn against_the_index(&self, file: &Path) -> Option<String> {
        let name = file.file_name()?.to_str()?;
        let accepted = |column: usize| self.words.get(column).is_some_and(|word| word == ACCEPT);
        match file.parent()?.file_name()?.to_str()? {
            "accept" if accepted(0) == name.starts_with("short_usize") => {
                Some("the package index accepts archives like this".to_owned())
            }
            "reject" if accepted(2) => Some("the package index refuses it".to_owned()),
            "reject" if accepted(0) && !LEGAL_DESCRIPTORS.contains(&name) => {
                Some("only legal data descriptors may pass".to_owned())
            }
            _ => None,
        }
    }
}

const LEGAL_DESCRIPTORS: [&str; 2] = ["data_descriptor.zip", "data_descriptor_zip64.zip"];
