//! Rows 30-36 of the list of known faults.

use stream_extract::Error;

use crate::attempt::{accept_tar, refuse_tar};
use crate::raw_tar::{archive, entry, file, header, padded, pax};

#[test]
fn fault_30_sparse_files_are_refused() {
    refuse_tar(&archive(&[entry(b"a", b'S', b"")]), Error::is_unsupported);
    for pair in [("GNU.sparse.major", "1"), ("GNU.sparse.realsize", "99999999999")] {
        refuse_tar(&archive(&[pax(b'x', &[pair]), file("a", b"x")]), Error::is_unsupported);
        refuse_tar(&archive(&[pax(b'g', &[pair]), file("a", b"x")]), Error::is_unsupported);
    }
}

#[test]
fn fault_31_the_pax_size_always_wins() {
    // Read by the header's size of 0, the inner header would be an entry of its own.
    let inner = file("hidden", b"x");
    let size = inner.len().to_string();
    let outer = header(b"outer", b'0', 0, |_| ());
    let tree = accept_tar(&archive(&[pax(b'x', &[("size", &size)]), outer, inner.clone()]));
    assert_eq!(tree.len(), 1);
    assert_eq!(tree["outer"].0.as_deref(), Some(&inner[..]));
}

#[test]
fn fault_32_a_pax_header_applies_to_the_next_file_only() {
    let long = entry(b"././@LongLink", b'L', b"long-name\0");
    let tar =
        archive(&[pax(b'x', &[("size", "1")]), long, header(b"a", b'0', 0, |_| ()), padded(b"x")]);
    assert_eq!(accept_tar(&tar)["long-name"].0.as_deref(), Some(&b"x"[..]));
    let two = archive(&[pax(b'x', &[("path", "renamed")]), file("a", b"1"), file("b", b"2")]);
    assert_eq!(accept_tar(&two).into_keys().collect::<Vec<_>>(), ["b", "renamed"]);
    refuse_tar(&archive(&[pax(b'x', &[("path", "nobody")])]), Error::is_corrupt);
}

#[test]
fn fault_32_two_extensions_that_name_an_entry_must_agree() {
    let long = |name: &[u8]| entry(b"././@LongLink", b'L', name);
    let path = pax(b'x', &[("path", "one")]);
    refuse_tar(&archive(&[path.clone(), long(b"two\0"), file("a", b"")]), Error::is_corrupt);
    accept_tar(&archive(&[path, long(b"one\0"), file("a", b"")]));
}

#[test]
fn fault_33_a_malformed_pax_header_is_refused() {
    for record in [
        &b"5 a=b"[..],
        b"x a=b\n",
        b"99 a=b\n",
        b"6 ab\n\n",
        b"5 =b\n",
        b"0 a=b\n",
        b"12 size=-5\n",
        b"\xff",
    ] {
        refuse_tar(&archive(&[entry(b"p", b'x', record), file("a", b"x")]), Error::is_corrupt);
    }
}

#[test]
fn fault_34_extension_records_are_capped_before_they_are_read() {
    for (kind, max) in [(b'L', 128 << 10), (b'K', 128 << 10), (b'x', 256 << 10), (b'g', 1 << 20)] {
        // The record's bytes are not even there: the header alone is enough to refuse it.
        refuse_tar(&header(b"long", kind, max + 1, |_| ()), Error::is_limit);
        refuse_tar(&header(b"long", kind, max, |_| ()), Error::is_truncated);
    }
}

#[test]
fn fault_35_a_zero_byte_inside_a_name_is_refused() {
    let long = entry(b"././@LongLink", b'L', b"a\0b\0");
    refuse_tar(&archive(&[long, file("a", b"x")]), Error::is_corrupt);
    refuse_tar(&archive(&[pax(b'x', &[("path", "a\0b")]), file("a", b"x")]), Error::is_unsafe_path);
}

#[test]
fn fault_36_sizes_are_never_negative() {
    let negative = header(b"a", b'0', 0, |block| block[124..136].fill(0xff));
    refuse_tar(&archive(&[negative]), Error::is_corrupt);
    let signed = header(b"a", b'0', 0, |block| block[124..135].copy_from_slice(b"-0000000001"));
    refuse_tar(&archive(&[signed]), Error::is_corrupt);
    let huge = header(b"a", b'0', 0, |block| {
        block[124..136]
            .copy_from_slice(&[0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    });
    refuse_tar(&archive(&[huge]), Error::is_truncated);
}

#[test]
fn a_global_header_with_a_comment_is_ignored() {
    let comment = pax(b'g', &[("comment", "0123456789abcdef")]);
    assert_eq!(accept_tar(&archive(&[comment, file("a", b"x")])).len(), 1);
    for key in ["path", "linkpath", "size"] {
        refuse_tar(&archive(&[pax(b'g', &[(key, "1")]), file("a", b"x")]), Error::is_corrupt);
    }
}

#[test]
fn a_wrong_header_checksum_is_refused() {
    let mut tar = archive(&[file("a", b"x")]);
    tar[0] ^= 1;
    refuse_tar(&tar, Error::is_corrupt);
}

#[test]
fn one_folder_may_have_several_entries_in_a_tar() {
    let folder = entry(b"d/", b'5', b"");
    let root = entry(b"./", b'5', b"");
    let tree = accept_tar(&archive(&[root, folder.clone(), file("d/a", b"x"), folder]));
    assert_eq!(tree.len(), 2);
}

#[test]
fn only_zeros_may_stand_behind_a_tar() {
    let good = archive(&[file("a", b"x")]);
    accept_tar(&[&good[..], &[0; 700]].concat());
    refuse_tar(&[&good[..], b"x"].concat(), Error::is_corrupt);
    refuse_tar(&[&good[..], &[0; 700], b"x"].concat(), Error::is_corrupt);
    let mut second_block = good;
    *second_block.last_mut().unwrap() = 1;
    refuse_tar(&second_block, Error::is_corrupt);
}
