//! Sizes at the edges: the buffer's, and the one where ZIP64 starts.

use std::io::{self, BufReader, Read as _};

use stream_extract::{Extractor, Scratch, VerifySink};

use crate::attempt::accept_zip;
use crate::made;
use crate::raw_zip::{End, archive, archive_with, deflated, stored, zip64};

#[test]
fn files_around_the_size_of_the_buffer_are_whole_or_in_pieces() {
    for size in [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073] {
        let content = made::noise(size);
        let entries = [
            stored("stored", &content),
            deflated("deflated", &content),
            deflated("described", &content).with_descriptor(true, false),
            deflated("wide", &content).with_descriptor(false, true),
        ];
        let tree = accept_zip(&archive(&entries));
        assert!(tree.values().all(|(found, _)| found.as_deref() == Some(&content[..])), "{size}");
    }
}

/// CRC-32 of `1 << exponent` zero bytes, by doubling.
fn crc32_of_zeros(exponent: u32) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[0]);
    for _ in 0..exponent {
        let half = hasher.clone();
        hasher.combine(&half);
    }
    hasher.finalize()
}

#[test]
fn a_member_of_four_gibibytes_is_read_without_being_stored() {
    const SIZE: u64 = 1 << 32;
    let sentinels = [crc32_of_zeros(32), u32::MAX, u32::MAX];
    let entry = stored("sparse", b"").with(|raw| {
        raw.truth = sentinels;
        raw.local_extra = zip64(&[SIZE, SIZE]);
        raw.central_extra = zip64(&[SIZE, SIZE]);
    });
    let header_len = 30 + "sparse".len() + entry.local_extra.len();
    let end = End { wide: true, central_offset: Some(u32::MAX), shift: SIZE, ..End::default() };
    let records = archive_with(&[entry], &end);
    let (head, tail) = records.split_at(header_len);
    let reader = head.chain(io::repeat(0).take(SIZE)).chain(tail);
    let reader = BufReader::with_capacity(1 << 20, reader);
    let extractor = Extractor::new().blake3(false);
    let report = extractor.zip_stream(reader, &mut Scratch::new(), VerifySink::new()).unwrap();
    assert_eq!(report.summary.bytes, SIZE);
}
