//! Archives made by independent writers.

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;

/// As on Unix, wherever this runs: the crate writes no permissions on Windows otherwise.
fn options(executable: bool) -> SimpleFileOptions {
    let mode = if executable { 0o755 } else { 0o644 };
    SimpleFileOptions::default().system(zip::System::Unix).unix_permissions(mode)
}

/// A zip by the `zip` crate: `(name, content, executable)`; names that end in `/` are folders.
pub(crate) fn zip(entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for &(name, content, executable) in entries {
        let options = options(executable);
        if name.ends_with('/') {
            writer.add_directory(name, options).unwrap();
        } else {
            writer.start_file(name, options).unwrap();
            writer.write_all(content).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// As `zip`, unless the writer refuses the names.
pub(crate) fn try_zip(entries: &[(&str, &[u8], bool)]) -> Option<Vec<u8>> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for &(name, content, executable) in entries {
        writer.start_file(name, options(executable)).ok()?;
        writer.write_all(content).ok()?;
    }
    writer.finish().ok().map(Cursor::into_inner)
}

/// Bytes that differ from position to position.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..len).map(step).collect()
}

/// A gzipped tar by the `tar` crate.
pub(crate) fn tar_gz(entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let mut builder = tar::Builder::new(encoder);
    for &(name, content, executable) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(if executable { 0o755 } else { 0o644 });
        let folder = name.ends_with('/');
        let kind = if folder { tar::EntryType::Directory } else { tar::EntryType::Regular };
        header.set_entry_type(kind);
        builder.append_data(&mut header, name, content).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}
