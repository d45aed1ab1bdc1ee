//! Peers that are libraries, each used as its documentation shows.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::Path;

use bench_extract::Result;
use rc_zip_sync::ReadZip as _;

use crate::cases::READ_BYTES;

pub(crate) fn zip(archive: &Path, target: &Path) -> Result<()> {
    let mut archive = zip::ZipArchive::new(BufReader::new(File::open(archive)?))?;
    archive.extract(target)?;
    Ok(())
}

/// On as many threads as `RAYON_NUM_THREADS` says.
pub(crate) fn zip_parallel(archive: &Path, target: &Path) -> Result<()> {
    let open = || Ok(BufReader::with_capacity(READ_BYTES, File::open(archive)?));
    zip::ZipArchive::new(open()?)?.par_extract_with_reader_factory(target, open)?;
    Ok(())
}

pub(crate) fn rc_zip(archive: &Path, target: &Path) -> Result<()> {
    let file = File::open(archive)?;
    let archive = file.read_zip()?;
    for entry in archive.entries() {
        let name = entry.sanitized_name().ok_or("an unsafe name")?;
        let path = target.join(name);
        if entry.name.ends_with('/') {
            fs::create_dir_all(path)?;
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut writer = BufWriter::new(File::create(path)?);
        io::copy(&mut entry.reader(), &mut writer)?;
    }
    Ok(())
}

pub(crate) fn tar_gz(archive: &Path, target: &Path) -> Result<()> {
    let reader = BufReader::with_capacity(READ_BYTES, File::open(archive)?);
    let mut archive = tar::Archive::new(flate2::bufread::GzDecoder::new(reader));
    archive.set_preserve_mtime(false);
    archive.unpack(target)?;
    Ok(())
}
