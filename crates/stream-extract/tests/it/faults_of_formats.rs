//! Bombs and limits: rows 26-29, 59 and 62 of the list of known faults.

use proptest::prelude::*;
use stream_extract::{Error, Extractor, Limits, Policy, Scratch, VerifySink};

use crate::attempt::{accept_zip, refuse_zip, tar, zip_seek, zip_stream};
use crate::made;
use crate::raw_zip::{archive, deflate, deflated, stored};

fn limited(zip: &[u8], limits: Limits) -> Result<(), Error> {
    let seek = Extractor::new().limits(limits.clone());
    let cursor = std::io::Cursor::new(zip);
    let sought = seek.zip_seek(cursor, &mut Scratch::new(), VerifySink::new());
    let mut scratches = [Scratch::new(), Scratch::new()];
    let parallel = Extractor::new().limits(limits.clone());
    let parallel = parallel.zip_parallel(zip, &mut scratches, VerifySink::new());
    let stream = Extractor::new().limits(limits);
    let streamed = stream.zip_stream(zip, &mut Scratch::new(), VerifySink::new());
    assert_eq!(streamed.is_ok(), sought.is_ok());
    assert_eq!(streamed.is_ok(), parallel.is_ok());
    streamed.map(drop)
}

#[test]
fn fault_26_overlapping_entries_are_refused() {
    // The inner local header is content of the outer entry, and the directory lists both.
    let inner = archive(&[stored("inner", b"x")]);
    let inner = &inner[..30 + "inner".len() + b"x".len()];
    let outer = stored("outer", inner);
    let offset = u32::try_from(30 + "outer".len()).unwrap();
    let ghost = stored("inner", b"x").with(|raw| {
        raw.in_local = false;
        raw.offset = Some(offset);
    });
    refuse_zip(&archive(&[outer, ghost]), Error::is_corrupt);
    let twice = stored("b", b"x").with(|raw| {
        raw.in_local = false;
        raw.offset = Some(0);
    });
    refuse_zip(&archive(&[stored("a", b"x"), twice]), Error::is_corrupt);
}

#[test]
fn fault_27_archives_in_archives_stay_files() {
    let inner = archive(&[stored("a", b"x")]);
    let tree = accept_zip(&archive(&[deflated("inner.zip", &inner)]));
    assert_eq!(tree["inner.zip"].0.as_deref(), Some(&inner[..]));
}

#[test]
fn fault_28_output_is_counted_while_it_is_written() {
    let zip = archive(&[deflated("a", &vec![0; 1 << 20]), deflated("b", &vec![0; 1 << 20])]);
    limited(&zip, Limits::default().total_bytes(2 << 20)).unwrap();
    let error = limited(&zip, Limits::default().total_bytes((2 << 20) - 1)).unwrap_err();
    assert!(error.is_limit() && error.entry_name() == Some("b"), "{error}");
    assert!(error.to_string().contains("2097151"), "the text names the limit: {error}");
    limited(&zip, Limits::default().entry_bytes(1 << 20)).unwrap();
    assert!(limited(&zip, Limits::default().entry_bytes((1 << 20) - 1)).unwrap_err().is_limit());
    assert!(limited(&zip, Limits::default().ratio(20, 1 << 10)).unwrap_err().is_limit());
}

#[test]
fn fault_28_a_crate_may_be_twenty_times_its_size() {
    let tar_gz = made::tar_gz(&[("p-1.0.0/zeros", &vec![0; 4 << 20], false)]);
    let limits = Limits::crate_file().ratio(20, 1 << 20);
    let extractor = Extractor::new().policy(Policy::crate_()).limits(limits);
    let error = extractor
        .crate_(&tar_gz[..], "p-1.0.0", &mut Scratch::new(), VerifySink::new())
        .unwrap_err();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn a_crate_stays_below_its_root() {
    for (name, fine) in
        [("p-1.0.0/a", true), ("p-1.0.1/a", false), ("a", false), ("p-1.0.0", false)]
    {
        let tar_gz = made::tar_gz(&[("p-1.0.0/", b"", false), (name, b"x", false)]);
        let extractor = Extractor::new().policy(Policy::crate_()).limits(Limits::crate_file());
        let result =
            extractor.crate_(&tar_gz[..], "p-1.0.0", &mut Scratch::new(), VerifySink::new());
        assert_eq!(result.is_ok(), fine, "{name}: {result:?}");
    }
}

#[test]
fn fault_29_a_declared_size_allocates_nothing() {
    // 4 GiB are promised; what is there is a few bytes, and the answer comes at once.
    let raw = stored("a", b"x").with(|raw| raw.truth = [0, u32::MAX - 1, u32::MAX - 1]);
    refuse_zip(&archive(&[raw]), |error| error.is_truncated() || error.is_limit());
}

#[test]
fn fault_62_the_number_of_entries_is_limited() {
    let entries: Vec<_> = (0..100).map(|i| stored(format!("{i}"), b"")).collect();
    let zip = archive(&entries);
    limited(&zip, Limits::default().entries(100)).unwrap();
    let error = limited(&zip, Limits::default().entries(99)).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn fault_59_random_deflate_data_never_panics(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        let raw = deflated("a", b"").with(|raw| {
            raw.truth[1] = u32::try_from(data.len()).unwrap();
            raw.data = data;
        });
        let zip = archive(&[raw]);
        let stream = zip_stream(&zip, Policy::portable());
        prop_assert_eq!(stream.ok(), zip_seek(&zip, Policy::portable()).ok());
    }

    #[test]
    fn random_bytes_never_panic(data in proptest::collection::vec(any::<u8>(), 0..2000)) {
        zip_stream(&data, Policy::portable()).unwrap_err();
        zip_seek(&data, Policy::portable()).unwrap_err();
        tar(&data, Policy::portable()).unwrap_err();
    }

    #[test]
    fn whatever_was_deflated_comes_out(content in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let raw = deflated("a", &content).with(|raw| raw.data = deflate(&content));
        let tree = zip_stream(&archive(&[raw]), Policy::portable()).unwrap();
        prop_assert_eq!(tree["a"].0.as_ref(), Some(&content));
    }
}
