//! What the machine itself takes: the same bytes without a store around them, nothing found,
//! nothing checked. Where a goal is missed, these cases show how much of it no store could save.

use super::touch;
use crate::data::Crate;
use crate::stores::Outcome;
use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// As much is written at once as ours does.
const PIECE_LEN: usize = crate::stores::BATCH_BYTES;

pub const WRITTEN: &str = "floor: the bytes, one file";
pub const WRITTEN_ONE_SYNC: &str = "floor: the bytes, one file, one sync";
pub const WRITTEN_TWO_SYNCS: &str = "floor: the bytes, one file, two syncs";

/// Parts of one file whose places are known beforehand.
pub struct KnownPlaces {
    path: PathBuf,
    places: Vec<Range<u64>>,
}

impl KnownPlaces {
    pub const NAME: &'static str = "floor: one file, places known, unchecked";
    pub const NAME_COLD: &'static str = "one file, places known, read in its order, no advice";

    /// Writes all of `crates` into one file and remembers where `part` of each of `wanted` is.
    pub fn of(
        folder: &Path,
        crates: &[Crate],
        wanted: &[usize],
        part: fn(&Crate) -> Range<usize>,
    ) -> Outcome<Self> {
        let path = folder.join("all");
        append(&path, crates, 0)?;
        let mut starts = Vec::new();
        let mut end = 0;
        for one in crates {
            starts.push(end);
            end += u64::try_from(one.blob.len())?;
        }
        let place = |index: &usize| -> Outcome<Range<u64>> {
            let range = part(&crates[*index]);
            let start = starts[*index];
            Ok(start + u64::try_from(range.start)?..start + u64::try_from(range.end)?)
        };
        Ok(Self { path, places: wanted.iter().map(place).collect::<Outcome<_>>()? })
    }

    /// The same in the order of the file, for a disk that nothing was read from yet.
    pub fn in_file_order(mut self) -> Self {
        self.places.sort_unstable_by_key(|place| place.start);
        self
    }

    /// A positioned read into the same buffer for each.
    pub fn read(&self) -> Outcome<()> {
        let file = File::open(&self.path)?;
        let mut buffer = Vec::new();
        for place in &self.places {
            let len = usize::try_from(place.end - place.start)?;
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
            file.read_exact_at(&mut buffer[..len], place.start)?;
            touch(&buffer[..len]);
        }
        Ok(())
    }
}

/// All of a crate's file.
pub fn whole(one: &Crate) -> Range<usize> {
    0..one.blob.len()
}

/// The JSON line of its newest version: the last but for a NUL.
pub fn newest(one: &Crate) -> Range<usize> {
    let end = one.blob.len().saturating_sub(1);
    let start = one.blob[..end].iter().rposition(|byte| *byte == 0).map_or(0, |nul| nul + 1);
    start..end
}

/// Appends the crates' bytes to one file in as few writes as ours makes, then syncs so many times.
pub fn append(path: &Path, crates: &[Crate], syncs: usize) -> Outcome<()> {
    fs::create_dir_all(path.parent().ok_or("no parent")?)?;
    let mut file = File::options().create(true).append(true).open(path)?;
    let mut piece = Vec::new();
    for one in crates {
        piece.extend_from_slice(&one.blob);
        if piece.len() >= PIECE_LEN {
            file.write_all(&piece)?;
            piece.clear();
        }
    }
    for sync in 0..syncs.max(1) {
        // What a second sync waits for: a few bytes more.
        file.write_all(if sync == 0 { &piece } else { &[0; 4096] })?;
        if syncs > 0 {
            file.sync_data()?;
        }
    }
    Ok(())
}
