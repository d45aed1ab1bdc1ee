//! A tree as the archives that package managers read: `.whl` and `.crate`.

use std::fmt::Write as _;
use std::io::{self, Cursor, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{File, Tree};

impl Tree {
    /// Packs the tree as a pure wheel of `name` and `version`, with METADATA, WHEEL and RECORD.
    ///
    /// # Panics
    ///
    /// Never: writing to memory does not fail, and no file reaches the limits of a zip.
    pub fn to_wheel(&self, name: &str, version: &str) -> Vec<u8> {
        let info = format!("{name}-{version}.dist-info");
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        let wheel =
            "Wheel-Version: 1.0\nGenerator: bench-util\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        let mut files = self.files.clone();
        files.push(super::file(format!("{info}/METADATA"), metadata.into_bytes(), false));
        files.push(super::file(format!("{info}/WHEEL"), wheel.as_bytes().to_vec(), false));
        let record = record(&files, &format!("{info}/RECORD"));
        files.push(super::file(format!("{info}/RECORD"), record.into_bytes(), false));
        zipped(&files).expect("memory takes every byte")
    }

    /// Packs the tree as a `.crate`: a gzipped tar with everything below `name-version/`.
    ///
    /// # Panics
    ///
    /// Never: writing to memory does not fail, and paths are short.
    pub fn to_crate(&self, name: &str, version: &str) -> Vec<u8> {
        let top = format!("{name}-{version}");
        tarred(&self.files, &top).expect("memory takes every byte")
    }
}

fn zipped(files: &[File]) -> io::Result<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let mode = if file.executable { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default())
            .system(zip::System::Unix) // Or Windows would write archives without permissions.
            .unix_permissions(mode);
        zip.start_file(&*file.path, options)?;
        zip.write_all(&file.body)?;
    }
    Ok(zip.finish()?.into_inner())
}

fn tarred(files: &[File], top: &str) -> io::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for file in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(file.body.len() as u64);
        header.set_mode(if file.executable { 0o755 } else { 0o644 });
        tar.append_data(&mut header, format!("{top}/{}", file.path), file.body.as_slice())?;
    }
    tar.into_inner()?.finish()
}

/// One line per file; its own line has neither digest nor size. Writing to a `String` cannot fail.
fn record(files: &[File], own: &str) -> String {
    let mut text = String::new();
    for file in files {
        let digest = base64url(&Sha256::digest(&file.body));
        let _ = writeln!(text, "{},sha256={digest},{}", file.path, file.body.len());
    }
    text + own + ",,\n"
}

/// RFC 4648 section 5 without padding, as RECORD wants it.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - chunk.len()));
        for digit in 0..=chunk.len() {
            text.push(char::from(ALPHABET[bits >> (18 - 6 * digit) & 63]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn base64_follows_the_examples_of_the_rfc() {
        let encoded =
            ["", "f", "fo", "foo", "foob", "\u{7f}\u{7f}~"].map(|t| base64url(t.as_bytes()));
        assert_eq!(encoded, ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "f39-"]);
    }

    #[test]
    fn a_wheel_holds_the_tree_and_a_record_of_it() {
        let tree = Tree::package(1, "demo", 40);
        let wheel = tree.to_wheel("demo", "1.0");
        assert_eq!(wheel, tree.to_wheel("demo", "1.0"), "the same bytes each time");
        let mut zip = zip::ZipArchive::new(Cursor::new(wheel)).unwrap();
        assert_eq!(zip.len(), 43);
        for file in &tree.files {
            let mut body = Vec::new();
            let mut entry = zip.by_name(&file.path).unwrap();
            entry.read_to_end(&mut body).unwrap();
            assert_eq!(body, file.body);
            assert_eq!(entry.unix_mode().unwrap() & 0o111 != 0, file.executable);
        }
        let record = io::read_to_string(zip.by_name("demo-1.0.dist-info/RECORD").unwrap()).unwrap();
        assert_eq!(record.lines().count(), 43);
        assert!(record.ends_with("demo-1.0.dist-info/RECORD,,\n"));
    }

    #[test]
    fn archives_shrink_as_real_ones_do() {
        let tree = Tree::package(1, "demo", 300);
        let bytes = usize::try_from(tree.bytes()).unwrap();
        let percent = 100 * tree.to_wheel("demo", "1.0").len() / bytes;
        assert!((20..50).contains(&percent), "{percent} % of the size");
    }

    #[test]
    fn a_crate_holds_the_tree_below_its_name() {
        let tree = Tree::docs(1, 30);
        let bytes = tree.to_crate("demo", "1.0.0");
        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        for (entry, file) in tar.entries().unwrap().zip(&tree.files) {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            assert_eq!(path, format!("demo-1.0.0/{}", file.path));
            let mut body = Vec::new();
            entry.read_to_end(&mut body).unwrap();
            assert_eq!(body, file.body);
        }
    }
}
