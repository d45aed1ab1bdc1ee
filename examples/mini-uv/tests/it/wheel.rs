//! Makes wheels, right ones and wrong ones. Nothing here comes from the tool that is tested.

use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A wheel in the making.
#[derive(Clone)]
pub(crate) struct Wheel {
    name: String,
    version: String,
    tag: String,
    pure: bool,
    metadata: String,
    standard: String,
    files: Vec<(String, Vec<u8>, u32)>,
    record: Option<String>,
}

impl Wheel {
    pub(crate) fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            tag: "py3-none-any".to_owned(),
            pure: true,
            metadata: String::new(),
            standard: "1.0".to_owned(),
            files: Vec::new(),
            record: None,
        }
    }

    /// A package `name` whose `VERSION` is its version.
    pub(crate) fn module(name: &str, version: &str) -> Self {
        let path = format!("{}/__init__.py", name.replace('-', "_"));
        Self::new(name, version).file(&path, format!("VERSION = '{version}'\n"))
    }

    pub(crate) fn file(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.file_with_mode(path, bytes, 0o644)
    }

    pub(crate) fn file_with_mode(
        mut self,
        path: &str,
        bytes: impl Into<Vec<u8>>,
        mode: u32,
    ) -> Self {
        self.files.push((path.to_owned(), bytes.into(), mode));
        self
    }

    pub(crate) fn in_dist_info(self, name: &str, text: &str) -> Self {
        let path = format!("{}/{name}", self.dist_info());
        self.file(&path, text)
    }

    pub(crate) fn in_data(self, name: &str, text: impl Into<Vec<u8>>) -> Self {
        let path = format!("{}.data/{name}", self.stem());
        self.file(&path, text)
    }

    pub(crate) fn requires(mut self, requirement: &str) -> Self {
        self.metadata.extend(["Requires-Dist: ", requirement, "\n"]);
        self
    }

    pub(crate) fn header(mut self, line: &str) -> Self {
        self.metadata.push_str(line);
        self.metadata.push('\n');
        self
    }

    pub(crate) fn tag(mut self, tag: &str) -> Self {
        tag.clone_into(&mut self.tag);
        self
    }

    pub(crate) fn wheel_version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.standard);
        self
    }

    /// Writes this RECORD instead of a right one.
    pub(crate) fn record(mut self, text: &str) -> Self {
        self.record = Some(text.to_owned());
        self
    }

    /// The text of METADATA.
    pub(crate) fn metadata_text(&self) -> String {
        format!(
            "Metadata-Version: 2.1\nName: {}\nVersion: {}\n{}\n",
            self.name, self.version, self.metadata
        )
    }

    pub(crate) fn normalized_name(&self) -> String {
        self.name.to_lowercase().replace(['_', '.'], "-")
    }

    fn stem(&self) -> String {
        format!("{}-{}", self.name.replace('-', "_"), self.version)
    }

    pub(crate) fn dist_info(&self) -> String {
        format!("{}.dist-info", self.stem())
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}.whl", self.stem(), self.tag)
    }

    /// All entries, RECORD last, as builders write them.
    fn entries(&self) -> Vec<(String, Vec<u8>, u32)> {
        let dist_info = self.dist_info();
        let mut entries = self.files.clone();
        let has = |entries: &[(String, Vec<u8>, u32)], path: &str| {
            entries.iter().any(|entry| entry.0 == path)
        };
        let metadata = format!("{dist_info}/METADATA");
        if !has(&entries, &metadata) {
            let text = self.metadata_text();
            entries.push((metadata, text.into(), 0o644));
        }
        let text = format!(
            "Wheel-Version: {}\nGenerator: test\nRoot-Is-Purelib: {}\nTag: {}\n",
            self.standard, self.pure, self.tag
        );
        entries.push((format!("{dist_info}/WHEEL"), text.into(), 0o644));
        let record = format!("{dist_info}/RECORD");
        let text = self.record.clone().unwrap_or_else(|| record_of(&entries, &record));
        entries.push((record, text.into(), 0o644));
        entries
    }

    /// The archive's bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (path, bytes, mode) in self.entries() {
            let options = SimpleFileOptions::default()
                .compression_method(CompressionMethod::Deflated)
                .unix_permissions(mode);
            zip.start_file(path, options).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// Writes the wheel into `dir` and returns its path.
    pub(crate) fn write(&self, dir: &Path) -> PathBuf {
        std::fs::create_dir_all(dir).unwrap();
        let path = dir.join(self.file_name());
        std::fs::write(&path, self.bytes()).unwrap();
        path
    }
}

fn record_of(entries: &[(String, Vec<u8>, u32)], record: &str) -> String {
    let mut text = String::new();
    for (path, bytes, _) in entries {
        text.extend([path, ",sha256=", &digest(bytes), ",", &bytes.len().to_string(), "\n"]);
    }
    text + record + ",,\n"
}

/// SHA-256 as RECORD writes it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digest = Sha256::digest(bytes);
    let bit =
        |at: usize| digest.get(at / 8).map_or(0, |byte| usize::from(byte >> (7 - at % 8) & 1));
    let letter = |at: usize| LETTERS[(0..6).fold(0, |index, next| index * 2 + bit(at * 6 + next))];
    (0..43).map(|at| char::from(letter(at))).collect()
}

/// SHA-256 as requirement files write it.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap();
    Sha256::digest(bytes).iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
