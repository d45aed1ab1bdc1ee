//! Rows 37-45 and 50-56 of the list of known faults.

use stream_extract::{Error, Policy};

use crate::attempt::{
    accept_zip, accept_zip_under, refuse_zip, refuse_zip_under, zip_seek, zip_stream,
};
use crate::raw_zip::{End, Raw, archive, archive_with, deflated, extra, stored, zip64};

fn refuse_one(change: impl FnOnce(&mut Raw)) -> Error {
    refuse_zip(&archive(&[deflated("a", b"some text").with(change)]), Error::is_corrupt)
}

#[test]
fn fault_37_the_two_headers_must_agree_on_the_name() {
    refuse_one(|raw| raw.central_name = Some(b"b".to_vec()));
}

#[test]
fn fault_37_the_two_headers_must_agree_on_the_kind() {
    let raw = stored("a/", b"").with(|raw| raw.central_name = Some(b"a".to_vec()));
    refuse_zip(&archive(&[raw]), Error::is_corrupt);
}

#[test]
fn fault_37_the_two_headers_must_agree_on_checksum_and_sizes() {
    let truth = deflated("a", b"some text").truth;
    for field in 0..3 {
        let mut lie = truth;
        lie[field] ^= 1;
        refuse_one(|raw| raw.central = Some(lie));
        refuse_zip(
            &archive(&[deflated("a", b"some text").with(|raw| raw.local = Some(lie))]),
            |error| error.is_corrupt() || error.is_truncated(),
        );
    }
}

#[test]
fn fault_37_the_two_headers_must_agree_on_the_method() {
    refuse_one(|raw| raw.central_method = Some(0));
    refuse_one(|raw| raw.central_method = Some(0x0108));
}

#[test]
fn fault_37_the_two_headers_must_agree_on_the_flags() {
    refuse_one(|raw| raw.central_flags = Some(1 << 11));
    let cleared =
        deflated("a", b"x").with_descriptor(true, false).with(|raw| raw.central_flags = Some(0));
    accept_zip(&archive(&[cleared]));
}

#[test]
fn fault_38_each_entry_has_both_headers() {
    let hidden = stored("b", b"x").with(|raw| raw.in_central = false);
    refuse_zip(&archive(&[stored("a", b"x"), hidden]), Error::is_corrupt);
    let ghost = stored("b", b"x").with(|raw| raw.in_local = false);
    refuse_zip(&archive(&[stored("a", b"x"), ghost]), Error::is_corrupt);
}

#[test]
fn fault_39_duplicates_are_refused_even_when_equal() {
    refuse_zip(&archive(&[stored("a", b"x"), stored("a", b"x")]), Error::is_conflict);
    refuse_zip(&archive(&[stored("a/", b""), stored("a/", b"")]), Error::is_conflict);
}

#[test]
fn fault_40_there_is_one_end_record_and_it_is_the_last() {
    let one = archive(&[stored("a", b"x")]);
    let two = archive(&[stored("b", b"y")]);
    refuse_zip(&[one.clone(), two.clone()].concat(), Error::is_corrupt);
    refuse_zip(&[one.clone(), one[one.len() - 22..].to_vec()].concat(), Error::is_corrupt);
    let end = End { comment: two, ..End::default() };
    refuse_zip(&archive_with(&[stored("a", b"x")], &end), Error::is_corrupt);
    let harmless = End { comment: b"made by hand, PK".to_vec(), ..End::default() };
    accept_zip(&archive_with(&[stored("a", b"x")], &harmless));
}

/// The count is right, and each header has a partner: the same one twice.
#[test]
fn fault_38_the_directory_may_not_list_one_file_twice_in_place_of_another() {
    let hidden = stored("hidden", b"y").with(|raw| raw.in_central = false);
    let twice = stored("a", b"x").with(|raw| {
        raw.in_local = false;
        raw.offset = Some(0);
    });
    let archive = archive(&[stored("a", b"x"), hidden, twice]);
    refuse_zip(&archive, |error| error.is_corrupt() || error.is_conflict());
}

#[test]
fn fault_42_every_byte_of_the_end_records_counts() {
    let wide = End { wide: true, ..End::default() };
    let archive = archive_with(&[stored("a", b"x")], &wide);
    let start = archive.len() - 22 - 20 - 56;
    let writer = start + 12..start + 16; // Versions: they change nothing.
    for at in (start..archive.len()).filter(|at| !writer.contains(at)) {
        let mut bad = archive.clone();
        bad[at] ^= 1;
        refuse_zip(&bad, |_| true);
    }
}

/// Where nothing looks that follows the offsets of the directory.
#[test]
fn fault_40_no_bytes_hide_between_the_records() {
    let entries = [stored("a", b"x"), stored("b", b"y")];
    let end_record = &archive(&entries)[2 * (32 + 47)..];
    let (second, directory) = (32, 2 * 32); // A local header, a name and a byte.
    for hidden in [&b"hidden"[..], b"PK\x07\x08", end_record, &[0; 7]] {
        let shifted = |at: usize| u32::try_from(at + hidden.len()).unwrap();
        let end = End { central_offset: Some(shifted(directory)), ..End::default() };
        let mut before_directory = archive_with(&entries, &end);
        before_directory.splice(directory..directory, hidden.iter().copied());
        refuse_zip(&before_directory, Error::is_corrupt);

        let mut moved = entries.clone();
        moved[1].offset = Some(shifted(second));
        let mut between = archive_with(&moved, &end);
        between.splice(second..second, hidden.iter().copied());
        refuse_zip(&between, Error::is_corrupt);
    }
}

#[test]
fn fault_41_the_end_record_counts_right() {
    let entries = [stored("a", b"x"), stored("b", b"y")];
    let wrong = [
        End { entries: Some(1), ..End::default() },
        End { entries: Some(3), ..End::default() },
        End { central_len: Some(0), ..End::default() },
        End { central_len: Some(1), ..End::default() },
        End { central_offset: Some(1), ..End::default() },
        End { central_offset: Some(0), ..End::default() },
    ];
    for end in wrong {
        refuse_zip(&archive_with(&entries, &end), Error::is_corrupt);
    }
}

#[test]
fn fault_42_zip64_end_records_tell_the_truth() {
    let entries = [stored("a", b"x")];
    let wide = End { wide: true, ..End::default() };
    accept_zip(&archive_with(&entries, &wide));
    let sentinels = End { entries: Some(0xffff), central_offset: Some(u32::MAX), ..wide.clone() };
    accept_zip(&archive_with(&entries, &sentinels));
    let wrong = [
        End { wide_entries: Some(2), ..wide.clone() },
        End { locator_offset: Some(0), ..wide.clone() },
        End { extensible: vec![0; 8], ..wide.clone() },
        End { entries: Some(2), ..wide },
        End { entries: Some(0xffff), ..End::default() },
        End { central_offset: Some(u32::MAX), ..End::default() },
    ];
    for end in wrong {
        refuse_zip(&archive_with(&entries, &end), |e| e.is_corrupt() || e.is_truncated());
    }
}

/// An entry whose sizes are in ZIP64 fields on both sides.
fn wide_entry() -> Raw {
    let raw = stored("a", b"text");
    let [crc32, packed, size] = raw.truth;
    let field = zip64(&[size.into(), packed.into()]);
    raw.with(|raw| {
        raw.local = Some([crc32, u32::MAX, u32::MAX]);
        raw.central = raw.local;
        raw.local_extra.clone_from(&field);
        raw.central_extra = field;
    })
}

#[test]
fn fault_42_zip64_fields_hold_exactly_what_their_headers_ask_for() {
    accept_zip(&archive(&[wide_entry()]));
    let refuse = |change: fn(&mut Raw)| {
        refuse_zip(&archive(&[wide_entry().with(change)]), |e| e.is_corrupt() || e.is_truncated());
    };
    refuse(|raw| raw.local_extra.clear());
    refuse(|raw| raw.central_extra.clear());
    refuse(|raw| raw.local_extra = zip64(&[4]));
    refuse(|raw| raw.central_extra = zip64(&[4, 4, 0]));
    refuse(|raw| raw.central_extra = zip64(&[4, 5]));
    refuse(|raw| raw.central = Some(raw.truth));
    refuse(|raw| raw.local_extra.extend(zip64(&[4, 4])));
}

/// protobuf's wheels are like that: a place that was reserved before the sizes were known.
#[test]
fn a_local_zip64_field_without_need_must_repeat_what_the_header_says() {
    let needless = |values: &[u64]| {
        let field = zip64(values);
        archive(&[stored("a", b"text").with(|raw| raw.local_extra = field)])
    };
    accept_zip(&needless(&[4, 4]));
    for values in [&[4, 5][..], &[5, 4], &[4], &[4, 4, 0], &[u64::MAX, u64::MAX]] {
        refuse_zip(&needless(values), Error::is_corrupt);
    }
    let central = stored("a", b"text").with(|raw| raw.central_extra = zip64(&[4, 4]));
    refuse_zip(&archive(&[central]), Error::is_corrupt);
}

#[test]
fn fault_43_nothing_may_stand_before_the_archive() {
    let zip = archive(&[stored("a", b"x")]);
    refuse_zip(&[b"#!/bin/sh\n".to_vec(), zip].concat(), Error::is_corrupt);
    let end = End { central_offset: Some(10 + 32), ..End::default() };
    let mut shifted = archive_with(&[stored("a", b"x").with(|raw| raw.offset = Some(10))], &end);
    shifted.splice(0..0, *b"0123456789");
    refuse_zip(&shifted, Error::is_corrupt);
}

#[test]
fn fault_44_only_zeros_may_stand_behind_the_archive() {
    let zip = archive(&[stored("a", b"x")]);
    let error = refuse_zip(&[zip.clone(), b"\0\0x".to_vec()].concat(), Error::is_corrupt);
    assert_eq!(error.offset(), Some(zip.len() as u64 + 2), "the text names the byte");
    accept_zip(&[zip.clone(), vec![0; 64 << 10]].concat());
    refuse_zip(&[zip, vec![0; (64 << 10) + 1]].concat(), |e| e.is_corrupt() || e.is_truncated());
}

#[test]
fn fault_45_a_unicode_path_field_may_not_rename() {
    let field = |name: &str| {
        let crc32 = crc32fast::hash(b"a").to_le_bytes();
        extra(0x7075, &[&[1], &crc32[..], name.as_bytes()].concat())
    };
    refuse_one(|raw| raw.local_extra = field("b"));
    refuse_one(|raw| raw.central_extra = field("b"));
    refuse_one(|raw| raw.central_extra = [field("a"), field("a")].concat());
    accept_zip(&archive(&[stored("a", b"x").with(|raw| raw.central_extra = field("a"))]));
}

#[test]
fn extra_fields_must_fit() {
    refuse_one(|raw| raw.local_extra = vec![0, 0, 0]);
    refuse_one(|raw| raw.central_extra = vec![9, 9, 5, 0, 1]);
    accept_zip(&archive(&[stored("a", b"x").with(|raw| raw.local_extra = extra(0xcafe, b"any"))]));
}

#[test]
fn fault_50_encrypted_entries_are_named_so() {
    for flag in [1, 1 << 6, 1 << 13, 1 << 5] {
        let raw = stored("a", b"x").with(|raw| raw.flags = flag);
        let error = refuse_zip(&archive(&[raw]), Error::is_unsupported);
        let word = if flag == 1 << 5 { "patch" } else { "encrypted" };
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn fault_51_other_methods_are_named() {
    for (method, name) in [
        (14, "LZMA"),
        (9, "deflate64"),
        (12, "bzip2"),
        (93, "Zstandard"),
        (99, "AES"),
        (7, "unknown"),
    ] {
        let raw = stored("a", b"x").with(|raw| raw.method = method);
        let error = refuse_zip(&archive(&[raw]), Error::is_unsupported);
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn fault_52_a_wrong_checksum_commits_nothing_and_shows_both_values() {
    let raw = deflated("pkg/osqp.so", b"text").with(|raw| {
        raw.truth[0] = 0xdead_beef;
    });
    let error = refuse_zip(&archive(&[raw]), Error::is_corrupt);
    let text = error.to_string();
    for part in
        ["checksum", "deadbeef", &format!("{:08x}", crc32fast::hash(b"text")), "pkg/osqp.so"]
    {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
}

#[test]
fn fault_52_data_is_as_long_as_promised() {
    for size in [8, 10] {
        refuse_one(|raw| raw.truth[2] = size);
    }
    refuse_zip(
        &archive(&[deflated("a", b"text").with(|raw| raw.data[0] = 0xff)]),
        Error::is_corrupt,
    );
}

#[test]
fn fault_53_a_truncated_archive_is_never_a_success() {
    let zip = archive(&[deflated("a", b"some text"), stored("b", b"x")]);
    for end in 0..zip.len() {
        let error = refuse_zip(&zip[..end], Error::is_truncated);
        assert!(error.to_string().contains("download it again"));
    }
}

#[test]
fn fault_54_nothing_hides_behind_the_end_of_the_deflate_stream() {
    let raw = deflated("a", b"text").with(|raw| {
        raw.data.extend(b"hidden");
        raw.truth[1] += 6;
    });
    refuse_zip(&archive(&[raw]), Error::is_corrupt);
}

#[test]
fn fault_55_all_four_shapes_of_descriptors_are_read_from_a_stream() {
    for (signed, wide) in [(false, false), (true, false), (false, true), (true, true)] {
        for content in [&b"some text"[..], b""] {
            let raw = deflated("a", content).with_descriptor(signed, wide);
            let zip = archive(&[raw, deflated("b", b"next")]);
            assert_eq!(accept_zip(&zip)["a"].0.as_deref(), Some(content));
            refuse_zip_under(&zip, &Policy::pypi(), Error::is_refused);
        }
    }
}

#[test]
fn fault_55_a_descriptor_that_lies_is_refused() {
    for byte in 0..16 {
        let raw = deflated("a", b"some text").with_descriptor(true, false);
        refuse_zip(&archive(&[raw.with(|raw| raw.descriptor[byte] ^= 1)]), Error::is_corrupt);
    }
}

#[test]
fn fault_55_a_content_like_a_signature_does_not_end_an_entry() {
    let content = [&b"PK\x07\x08"[..], b"PK\x03\x04", b"PK\x01\x02"].concat();
    let raw = deflated("a", &content).with_descriptor(false, false);
    assert_eq!(accept_zip(&archive(&[raw]))["a"].0.as_deref(), Some(&content[..]));
}

#[test]
fn fault_55_stored_with_a_descriptor_needs_a_seekable_archive() {
    let zip = archive(&[stored("a", b"PK\x07\x08 inside").with_descriptor(true, false)]);
    let error = zip_stream(&zip, Policy::portable()).unwrap_err();
    assert!(error.is_needs_seek(), "{error}");
    assert_eq!(zip_seek(&zip, Policy::portable()).unwrap().len(), 1);
}

#[test]
fn fault_55_a_header_may_tell_sizes_that_a_descriptor_repeats() {
    let raw = deflated("a", b"text");
    let truth = raw.truth;
    let told = raw.with_descriptor(true, false).with(|raw| raw.local = Some(truth));
    accept_zip(&archive(std::slice::from_ref(&told)));
    let lie = told.with(|raw| raw.local = Some([truth[0], truth[1], truth[2] + 1]));
    refuse_zip(&archive(&[lie]), Error::is_corrupt);
}

#[test]
fn fault_56_archives_in_several_parts_are_refused() {
    let raw = stored("a", b"x").with(|raw| raw.disk = 1);
    refuse_zip(&archive(&[raw]), Error::is_unsupported);
    let end = End { disk: 1, ..End::default() };
    refuse_zip(&archive_with(&[stored("a", b"x")], &end), Error::is_corrupt);
    let spanned = [b"PK\x07\x08".to_vec(), archive(&[stored("a", b"x")])].concat();
    refuse_zip(&spanned, Error::is_unsupported);
}

#[test]
fn an_empty_archive_is_accepted() {
    assert!(accept_zip(&archive(&[])).is_empty());
    assert!(accept_zip_under(&archive(&[]), &Policy::pypi()).is_empty());
}
